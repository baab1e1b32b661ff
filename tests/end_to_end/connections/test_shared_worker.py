"""Connections share a worker: one that is busy leaves the others their turns, and one that waits
holds little."""

import contextlib
import os
import signal
import socket

import pytest

from harness import Deployment
from harness.build import instrumented
from harness.http2_client import NO_TABLE, Http2Client
from harness.http_client import RawConnection, curl
from harness.processes import read_memory, wait_until

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


def test_pipelined_requests_take_turns_with_those_of_others(deployment):
    """A thousand that the worker answers at once, and behind them one: that is answered before all
    of them are. (Stopped then, unless the test itself has to wait for its turn.)"""
    [worker] = deployment.sketcher.workers()
    port = deployment.sketcher.port
    count = 1000

    def refused():
        return deployment.sketcher.counters()["refused"]

    def is_answered_in_between():
        before = refused()
        with (RawConnection(port) as one,
              socket.create_connection(("127.0.0.1", port)) as many):
            many.sendall(REFUSED)
            one.send(REFUSED)
            assert one.answer().status == 501
            wait_until(lambda: refused() == before + 2, 20, "both to be refused")
            os.kill(worker, signal.SIGSTOP)
            try:
                many.sendall(REFUSED * count)
                one.send(REFUSED)
                os.kill(worker, signal.SIGCONT)
                assert one.answer().status == 501
                os.kill(worker, signal.SIGSTOP)
                in_between = refused() - before - 3
            finally:
                os.kill(worker, signal.SIGCONT)
            wait_until(lambda: refused() == before + 3 + count, 20, "all of them to be answered")
        return in_between < count / 2

    assert any(is_answered_in_between() for _ in range(60))


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
