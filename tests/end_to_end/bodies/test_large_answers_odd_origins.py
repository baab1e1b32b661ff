"""Answers in blocks from an origin that frames them otherwise than Apache, or wrongly. Clients get the
right bytes from it, or from another one."""

import random
import re
import threading
import time

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import wait_until
from harness.scripted_origin import ScriptedOrigin

BLOCK = 64 << 10
BODY = random.Random(3).randbytes(40 * BLOCK + 77)
ODD = 3
CANONICAL = {"whole_answer": "1MiB", "answer_block": "64KiB"}
CHANGES = {"group": {"kind": "vote", "file": None, "client_id": None, "key_file": None,
                     "canonical": CANONICAL},
           "timeouts": {"answer": "1s"}}
TIMES = 24  # an origin of four is drawn in so many reads, but for one time in a thousand


class Oddity:
    """How the origin answers: `frame` yields an answer's bytes from the body that was asked for."""

    def __init__(self, like, frame):
        self._fields = b"".join(b"%s: %s\r\n" % (name.encode(), value.encode())
                                for name, value in like.fields
                                if name in ("content-type", "last-modified"))
        self._frame = frame
        self.asked = 0

    def answer(self, head):
        self.asked += 1
        found = re.search(rb"(?im)^range: bytes=(\d+)-(\d+)\r?$", head + b"\r\n")
        span = (int(found[1]), int(found[2])) if found else None
        return self._frame(self._fields, span)


def whole(fields, more=b"", body=BODY, length=None):
    return [b"HTTP/1.1 200 OK\r\n%b%bContent-Length: %d\r\n\r\n" % (fields, more, length or len(body)),
            body]


def part(fields, span, content_range=None, body=None):
    first, last = span
    stated = content_range or b"bytes %d-%d/%d" % (first, last, len(BODY))
    body = BODY[first:last + 1] if body is None else body
    return [b"HTTP/1.1 206 Partial Content\r\n%bContent-Range: %b\r\nContent-Length: %d\r\n\r\n"
            % (fields, stated, len(body)), body]


def chunked(fields, _span):
    yield b"HTTP/1.1 200 OK\r\n%bTransfer-Encoding: chunked\r\n\r\n" % fields
    for at in range(0, len(BODY), 30000):
        piece = BODY[at:at + 30000]
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def until_it_hangs(fields, span):
    yield whole(fields)[0] if span is None else part(fields, span)[0]
    yield (BODY if span is None else BODY[span[0]:span[1] + 1])[:3 * BLOCK + 5]
    # What is missing never comes: the next request on this connection is not awaited.


# Those in the first table are right in what they say.
RIGHT = {
    "chunked, and ranges ignored": chunked,
    "ranges ignored": lambda fields, span: whole(fields),
    "ranges": lambda fields, span: whole(fields) if span is None else part(fields, span),
}
WRONG = {
    "another part than the one it names":
        lambda fields, span: whole(fields) if span is None
        else part(fields, span, body=BODY[:span[1] - span[0] + 1]),
    "another place": lambda fields, span: whole(fields) if span is None
                     else part(fields, span, b"bytes 0-%d/%d" % (span[1] - span[0], len(BODY))),
    "another length in all": lambda fields, span: whole(fields) if span is None
                             else part(fields, span, b"bytes %d-%d/%d" % (*span, len(BODY) + 1)),
    "a longer body": lambda fields, span: whole(fields, body=BODY + b"more"),
    "a shorter body": lambda fields, span: whole(fields, body=BODY[:-1]),
    "an end too soon": until_it_hangs,
    "another field": lambda fields, span: whole(fields, b"Set-Cookie: a=b\r\n"),
    "not found": lambda fields, span: [b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"],
    "something that is not HTTP": lambda fields, span: [b"SSH-2.0-odd\r\n" * 100],
}


def read_all(deployment):
    for number in range(TIMES):
        answer = curl(deployment.url + "/large")
        assert (answer.status, answer.body) == (200, BODY)
        first = random.Random(number).randrange(len(BODY) - 1000)
        answer = curl(deployment.url + "/large", "--range", f"{first}-{first + 3 * BLOCK}")
        assert (answer.status, answer.body) == (206, BODY[first:first + 3 * BLOCK + 1])


@pytest.mark.parametrize("name", [*RIGHT, *WRONG])
def test_clients_get_what_was_agreed_on(name):
    with Deployment(content={"/large": BODY}, agents=False, sketcher_changes=CHANGES) as deployment:
        like = curl(deployment.url + "/large")
        assert like.body == BODY
        deployment.origins[ODD].stop()
        oddity = Oddity(like, {**RIGHT, **WRONG}[name])
        server = ScriptedOrigin(deployment.origins[ODD].port, oddity.answer)
        try:
            read_all(deployment)
            assert oddity.asked > 0
            counters = deployment.sketcher.counters()
            if name in RIGHT:
                assert counters["replicated"] == 1
                assert deployment.sketcher.divergences() == []
            assert deployment.sketcher.status()["large"]["broken"] == 0
        finally:
            server.close()


def test_a_vote_that_drips_is_not_awaited():
    """The others decide; this one would take 20 seconds to be longer than their answer."""
    open_votes = []

    def drip(_head):
        vote = threading.current_thread()
        open_votes.append(vote)
        try:
            yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            while True:
                yield b"%x\r\n%b\r\n" % (BLOCK, bytes(BLOCK))
                time.sleep(0.5)
        finally:
            open_votes.remove(vote)

    with Deployment(content={"/large": BODY}, agents=False, sketcher_changes=CHANGES) as deployment:
        deployment.origins[ODD].stop()
        server = ScriptedOrigin(deployment.origins[ODD].port, drip)
        try:
            answer = curl(deployment.url + "/large")
            assert (answer.status, answer.body) == (200, BODY)
            wait_until(lambda: not open_votes, 6, "the end of the vote")
        finally:
            server.close()
