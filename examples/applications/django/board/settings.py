"""The project's settings; DATA is the folder of notes.db and uploads/, SECRET the same everywhere."""

import os
from pathlib import Path

DATA = Path(os.environ["DATA"])
SECRET_KEY = os.environ["SECRET"]
DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "board.urls"
WSGI_APPLICATION = "board.wsgi.application"
USE_TZ = True
TIME_ZONE = "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = ["django.contrib.sessions", "board"]
MIDDLEWARE = [
    "board.agreed.AgreedInput",
    "board.agreed.SameOrigin",
    "django.contrib.sessions.middleware.SessionMiddleware",
]
SESSION_EXPIRE_AT_BROWSER_CLOSE = True  # else the cookie names a time of this clock
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
}]
DATABASES = {"default": {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": DATA / "notes.db",
    "OPTIONS": {"timeout": 5},
}}
MEDIA_ROOT = DATA
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"django": {"handlers": ["console"]}},
}
