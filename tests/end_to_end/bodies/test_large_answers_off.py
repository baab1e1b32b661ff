"""Large answers on routes that are off: passed on as they come from one origin, in little memory."""

import contextlib
import random
import struct
import subprocess
import time

import pytest

from harness import Deployment
from harness.build import instrumented, patience
from harness.http2_client import (CANCEL, END_HEADERS, END_STREAM, HEADERS, RST_STREAM,
                                  WINDOW_UPDATE, Http2Client, frame, request_fields)
from harness.http_client import RawConnection, curl
from harness.processes import read_memory, wait_until
from harness.scripted_origin import ScriptedOrigin

KIB = 1 << 10
MIB = 1 << 20
SIZE = 20 * MIB + 123
BODY = random.Random(1).randbytes(SIZE)
LARGER = 4 * BODY  # than all that lies in sockets on the way
VERSIONS = ("--http1.1", "--http2-prior-knowledge")
CHANGES = {"group": {"kind": "vote", "file": None, "client_id": None, "key_file": None},
           "route": [{"mode": "off"}], "limits": {"answer": "1MiB"}}


@pytest.fixture(name="deployment")
def _deployment():
    content = {"/large": BODY, "/larger": LARGER, "/small": b"small"}
    with Deployment(content=content, agents=False, sketcher_changes=CHANGES) as deployment:
        yield deployment


def large(deployment):
    return deployment.sketcher.status()["large"]


@pytest.mark.parametrize("version", VERSIONS)
def test_they_pass_whole_and_in_part(deployment, version):
    url = deployment.url + "/large"
    whole = curl(url, version)
    assert (whole.status, whole.body) == (200, BODY)
    assert whole.field("content-length") == str(SIZE)
    for first, last in ((0, 0), (MIB - 1, MIB), (5 * MIB + 7, 9 * MIB), (SIZE - 5, SIZE - 1)):
        answer = curl(url, version, "--range", f"{first}-{last}")
        assert (answer.status, answer.body) == (206, BODY[first:last + 1])
    assert curl(url, version, "--range", f"{SIZE}-").status == 416
    head = curl(url, version, "--head")
    assert (head.status, head.field("content-length")) == (200, str(SIZE))
    counters = deployment.sketcher.counters()
    assert counters["unverified"] == 7
    assert counters["replicated"] == counters["failed"] == counters["abandoned"] == 0
    assert large(deployment)["completed"] in (5, 6)  # that which has no part may be over before


def test_a_kept_alive_connection_goes_on_behind_it(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        for _ in range(3):
            assert connection.get("/large").body == BODY
            assert connection.get("/small").body == b"small"


@pytest.mark.parametrize("version,seen", zip(VERSIONS, (18, 92)))
def test_an_end_too_soon_is_seen(deployment, version, seen):
    """curl: a partial file, or a stream that was not closed cleanly."""
    file = deployment.folder / "got"
    with subprocess.Popen(["curl", "--silent", "--noproxy", "*", version, "--limit-rate", "1M",
                           "--max-time", str(60 * patience()), "--output", file,
                           deployment.url + "/larger"], stdin=subprocess.DEVNULL) as download:
        wait_until(lambda: file.exists() and file.stat().st_size > 0, 20, "the beginning")
        for origin in deployment.origins:
            origin.kill()
        assert download.wait() == seen
    got = file.read_bytes()
    assert len(got) < len(LARGER) and LARGER.startswith(got)
    assert large(deployment)["broken"] == 1


def test_who_takes_requests_back_at_once_holds_no_origin_connection(deployment):
    """The answer's head comes when its stream is closed already."""
    count = 40
    wide = struct.pack(">HI", 4, (1 << 31) - 1)
    with Http2Client(deployment.sketcher.port, wide) as client:
        client.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))
        for _ in range(count):
            stream, client.next_stream = client.next_stream, client.next_stream + 2
            client.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, request_fields("/large"))
                        + frame(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big")))
        wait_until(lambda: deployment.sketcher.counters()["abandoned"] == count, 20,
                   "the end of what nobody waits for")
        assert client.body(client.request("/large")) == BODY
    assert large(deployment)["begun"] == 1


@contextlib.contextmanager
def scripted(deployment, answer):
    """Other origins in place of the deployment's own."""
    for origin in deployment.origins:
        origin.stop()
    servers = [ScriptedOrigin(origin.port, answer) for origin in deployment.origins]
    try:
        yield
    finally:
        for server in servers:
            server.close()


def failures(deployment, kind):
    return sum(origin["fast_failures"][kind] for origin in deployment.sketcher.status()["origins"])


@pytest.mark.parametrize("framing", ["chunked", "until-close"])
def test_without_a_length_they_are_held_and_bounded(deployment, framing):
    """To the byte, and whoever sends more is blamed."""
    def answer(head):
        body = BODY[:int(head.split(b" ")[1].removeprefix(b"/"))]
        if framing == "until-close":
            yield b"HTTP/1.1 200 OK\r\n\r\n" + body
            raise OSError  # ends the connection
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for at in range(0, len(body), 50000):
            piece = body[at:at + 50000]
            yield b"%x\r\n%b\r\n" % (len(piece), piece)
        yield b"0\r\n\r\n"

    with scripted(deployment, answer):
        for size in (200 * KIB, MIB):
            answer = curl(f"{deployment.url}/{size}")
            assert (answer.status, answer.body) == (200, BODY[:size])
        for blamed, size in enumerate((MIB + 1, 3 * MIB), 1):
            answer = curl(f"{deployment.url}/{size}")
            assert (answer.status, answer.field("prophecy-reason")) == (502, "answer-too-large")
            assert failures(deployment, "too-large") == blamed


def test_one_that_cannot_be_handed_on_is_had_from_another_origin(deployment):
    """As a small one is; here the head alone tells."""
    asked = []

    def answer(_):
        asked.append(None)
        odd = b"Connection: set-cookie\r\n" if len(asked) == 1 else b""
        yield b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (odd, len(BODY))
        yield BODY

    with scripted(deployment, answer):
        answer = curl(deployment.url + "/some")
        assert (answer.status, answer.body) == (200, BODY)
    assert (len(asked), failures(deployment, "malformed")) == (2, 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_no_read_is_answered_whole(deployment, version):
    """An origin that takes OPTIONS for GET: ranges and conditions are of reads alone."""
    def answer(_):
        yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY)
        yield BODY

    with scripted(deployment, answer):
        for condition in ("Range: bytes=0-9", "Range: bytes=999999999-", "If-None-Match: *"):
            answer = curl(deployment.url + "/some", version, "-X", "OPTIONS", "-H", condition)
            assert (answer.status, answer.body) == (200, BODY)


def test_who_is_quicker_and_refused_does_not_take_the_slower_along():
    asked = []

    def answer(head):
        if b" /some " in head:
            asked.append(None)
        if len(asked) == 1:
            time.sleep(patience())
        odd = b"Connection: set-cookie\r\n" if len(asked) == 2 else b""
        yield b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (odd, len(BODY))
        yield BODY

    changes = {**CHANGES, "route": [{"mode": "off", "hedge": True}]}
    with Deployment(content={"/small": b"small"}, agents=False,
                    sketcher_changes=changes) as deployment:
        with RawConnection(deployment.sketcher.port) as connection:
            for _ in range(400):  # from which the delay of a hedge is known
                assert connection.get("/small").body == b"small"
        before = deployment.sketcher.counters()["hedged"]
        with scripted(deployment, answer):
            read = curl(deployment.url + "/some")
            assert (read.status, read.body) == (200, BODY)
        assert (len(asked), failures(deployment, "malformed")) == (3, 1)
        # Whichever of the two it reached first: on a slow machine, the one that was asked second.
        assert deployment.sketcher.counters()["hedged"] == before + 1


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
def test_slow_clients_hold_little_memory(deployment):
    worker, = deployment.sketcher.workers()
    before = read_memory(worker, "VmRSS")
    connections = []
    try:
        for _ in range(20):
            connections.append(RawConnection(deployment.sketcher.port, 60))
            connections[-1].send(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: large(deployment)["begun"] == 20, 20, "the beginnings of the answers")
        assert read_memory(worker, "VmHWM") - before < 20 * MIB
        for connection in connections[:2]:
            assert connection.answer().body == BODY
    finally:
        for connection in connections:
            connection.close()
