"""Time and random names that all origins agree on: from the fields that an agent adds to each
ordered request, in place of the clock and the generator that Django uses."""

import hmac
import random
import secrets
import time
from datetime import datetime, timezone as zones

from asgiref.local import Local
from django.conf import settings
from django.core import signing
from django.http import HttpResponseForbidden
from django.utils import crypto, timezone
from django.utils.dateparse import parse_datetime

current = Local()


class AgreedInput:
    """For the time of a request. SECRET_KEY is the same everywhere: the seed alone names no session."""

    def __init__(self, get_response):
        self.get_response = get_response
        timezone.now = lambda: getattr(current, "time", None) or datetime.now(zones.utc)
        signing.time = Clock()
        crypto.secrets = Secrets()

    def __call__(self, request):
        seed = request.headers.get("Prophecy-Seed", secrets.token_hex())
        current.time = parse_datetime(request.headers.get("Prophecy-Time", ""))
        current.draw = random.Random(hmac.digest(settings.SECRET_KEY.encode(), seed.encode(), "sha256"))
        return self.get_response(request)


class Clock:
    """For django.core.signing, which puts the time into what is kept of a session."""

    def time(self):
        return current.time.timestamp() if getattr(current, "time", None) else time.time()


class Secrets:
    """For django.utils.crypto, whose get_random_string() makes session keys and names of files."""

    def __getattr__(self, name):
        return getattr(secrets, name)

    def choice(self, characters):
        return getattr(current, "draw", secrets).choice(characters)


class SameOrigin:
    """In place of CsrfViewMiddleware, which puts other random tokens into each form of each page."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        origin = request.headers.get("Origin")
        if request.method == "POST" and origin not in (None, f"http://{request.get_host()}",
                                                       f"https://{request.get_host()}"):
            return HttpResponseForbidden("another site's form")
        return self.get_response(request)
