"""Connections share a worker: one that is busy leaves the others their turns, and one that waits
holds little."""

import contextlib
import os
import signal
import socket
import struct

import pytest

from harness import Deployment
from harness.build import instrumented
from harness.http2_client import NO_TABLE, Http2Client
from harness.http_client import RawConnection, curl
from harness.processes import read_memory

CONTENT = {"/small": b"small", "/large": bytes(300 << 10)}
VOTE = {"kind": "vote", "file": None, "client_id": None, "key_file": None,
        "canonical": {"whole_answer": "64KiB", "answer_block": "16KiB"}}
REFUSED = b"TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n"
KIB = 1 << 10


@pytest.fixture(name="deployment")
def _deployment():
    with Deployment(content=CONTENT, agents=False,
                    sketcher_changes={"group": VOTE}) as deployment:
        for path in CONTENT:
            for _ in range(2):
                assert curl(deployment.url + path).body == CONTENT[path]
        yield deployment


SO_TIMESTAMPNS = 35  # asm-generic/socket.h; the module socket has no name for it


def connection_with_times(port):
    """A connection whose kernel notes when bytes arrive, however late they are read."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=20)
    connection.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    return connection


def await_times(connection):
    """The kernel begins to note times a while after it was asked to."""
    ancillary = []
    while not ancillary:
        connection.sendall(REFUSED)
        piece, ancillary, _, _ = connection.recvmsg(4096, socket.CMSG_SPACE(16))
        assert piece


def arrivals(connection, count):
    """When each of so many answers without content had come, in nanoseconds; of those that were read
    at once, the time of the last."""
    times, data = [], b""
    while len(times) < count:
        piece, [(_, _, stamp)], _, _ = connection.recvmsg(4096, socket.CMSG_SPACE(16))
        assert piece, f"{len(times)} of {count} answers"
        seconds, nanoseconds = struct.unpack("@qq", stamp)
        data += piece
        whole = data.count(b"HTTP/1.1 501 ")
        times += [seconds * 10**9 + nanoseconds] * (whole - len(times))
    return times


def test_pipelined_requests_take_turns_with_those_of_others(deployment):
    """A thousand that the worker answers at once, and behind them one: that is answered before half of
    them are."""
    [worker] = deployment.sketcher.workers()
    port = deployment.sketcher.port
    count = 1000
    with (contextlib.closing(connection_with_times(port)) as one,
          contextlib.closing(connection_with_times(port)) as many):
        for connection in (many, one):
            await_times(connection)
        # All of them are there before the worker reads the first.
        os.kill(worker, signal.SIGSTOP)
        try:
            many.sendall(REFUSED * count)
            one.sendall(REFUSED)
        finally:
            os.kill(worker, signal.SIGCONT)
        [answered] = arrivals(one, 1)
        assert answered < arrivals(many, count)[count // 2]


def ask_one(port, path, fields=b""):
    connection = RawConnection(port)
    connection.send(b"GET %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n" % (path, fields))
    assert connection.answer().status in (200, 206)
    return connection


def ask_for_something_long(port):
    """A target, and a cookie, that are as long as they may be; then something short."""
    connection = ask_one(port, b"/small?" + b"x" * 8000)
    connection.send(b"GET /small HTTP/1.1\r\nHost: localhost\r\nCookie: %b\r\n\r\n" % (b"x" * 3700))
    assert connection.answer().status == 200
    return connection


def ask_for_a_part(port):
    return ask_one(port, b"/large", b"Accept: %b\r\nRange: bytes=0-0\r\n" % (b"x," * 4000))


def ask_many_at_a_time(port):
    connection = Http2Client(port, NO_TABLE)
    for path, more in (("/small", (("cookie", "x" * 3700),)), ("/small?" + "x" * 3700, ())):
        streams = [connection.request(path, more=more) for _ in range(16)]
        assert set(connection.answers(streams).values()) == {(200, b"small")}
    return connection


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
@pytest.mark.parametrize("ask, bound", [(ask_for_something_long, 8 * KIB),
                                        (ask_for_a_part, 8 * KIB),
                                        (ask_many_at_a_time, 60 * KIB)])
def test_who_waits_holds_little_whatever_he_asked_for(deployment, ask, bound):
    [worker] = deployment.sketcher.workers()
    port = deployment.sketcher.port
    count = 200
    with contextlib.ExitStack() as connections:
        for _ in range(20):  # what the worker has at most, at any time
            connections.enter_context(ask(port))
        before = read_memory(worker, "VmRSS")
        for _ in range(count):
            connections.enter_context(ask(port))
        assert (read_memory(worker, "VmRSS") - before) / count < bound
