"""Time-outs of clients and of origins that have no place elsewhere: each comes when it is due, is counted,
and frees what was held."""

import contextlib
import os
import socket
import ssl
import time

import pytest

from harness import Deployment
from harness.build import patience
from harness.certificates import Authority
from harness.health import ALWAYS_DRAWN
from harness.http2_client import (ACK, DATA, END_HEADERS, HEADERS, NO_ERROR, SETTINGS,
                                  WINDOW_UPDATE, Http2Client, frame, request_fields, status_of)
from harness.http_client import RawConnection, curl
from harness.ports import PortReservation
from harness.processes import wait_until

MIB = 1 << 20
PAGE = b"page\n"
LARGE = os.urandom(12 * MIB)  # more than sockets take
SOME = 5 * MIB
TIME_S = 1.0
CONNECT_S = 0.5
# What it may be early, by a clock's step, and late, on a busy machine.
EARLY_S, LATE_S = 0.1, 5
VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None,
        "key_file": None, "health": ALWAYS_DRAWN}


@pytest.fixture(scope="module", name="deployment")
def _deployment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    authority = Authority(folder)
    times = {"header": "1s", "send": "1s", "body": "1s", "idle": "30s",
             "connect": f"{int(CONNECT_S * 1000)}ms"}
    with contextlib.closing(PortReservation(1)) as ports, \
            Deployment(agents=False, start=False, content={"/index.html": PAGE, "/large": LARGE, "/some": LARGE[:SOME]},
                       sketcher_changes={"group": VOTE, "timeouts": times}) as deployment:
        [deployment.tls_port] = ports.ports
        deployment.authority = authority.certificate
        deployment.sketcher.settings["listener"].append({
            "address": f"127.0.0.1:{deployment.tls_port}",
            "tls": {"certificates": [authority.issue("localhost", ["localhost"])]}})
        deployment.sketcher.write_configuration()
        deployment.start()
        yield deployment


def timeouts(deployment):
    return deployment.sketcher.counters()["client_timeouts"]


def is_due(begun, seconds):
    assert seconds - EARLY_S < time.monotonic() - begun < seconds + LATE_S * patience()


@pytest.mark.parametrize("hello", ["none", "half"])
def test_a_handshake_that_does_not_come(deployment, hello):
    before = timeouts(deployment)
    sent, incoming = ssl.MemoryBIO(), ssl.MemoryBIO()
    handshake = ssl.create_default_context().wrap_bio(incoming, sent, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        handshake.do_handshake()
    hello_bytes = sent.read()
    begun = time.monotonic()
    with RawConnection(deployment.tls_port) as connection:
        if hello == "half":
            connection.send(hello_bytes[:len(hello_bytes) // 2])
        assert connection.ended()
    is_due(begun, TIME_S)
    assert timeouts(deployment) == before + 1


def test_a_handshake_that_drips(deployment):
    """It is the whole that has to come in time, and not each byte."""
    sent = ssl.MemoryBIO()
    handshake = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent,
                                                      server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        handshake.do_handshake()
    begun = time.monotonic()
    with RawConnection(deployment.tls_port) as connection:
        for byte in sent.read():
            if connection.readable(0.05):
                break
            with contextlib.suppress(ConnectionError):
                connection.send(bytes([byte]))
        assert connection.ended()
    is_due(begun, TIME_S)


@pytest.mark.parametrize("through", ["plain", "tls"])
def test_a_new_connection_without_a_byte(deployment, through):
    context = ssl.create_default_context(cafile=deployment.authority)
    begun = time.monotonic()
    with RawConnection(deployment.sketcher.port if through == "plain" else deployment.tls_port,
                       context=context if through == "tls" else None) as connection:
        assert connection.ended()
    is_due(begun, TIME_S)
    assert curl(deployment.url + "/").body == PAGE


REQUEST = b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def untaken(deployment):
    [worker] = deployment.sketcher.status()["workers"]
    return worker["untaken_bytes"]


def test_a_client_that_takes_nothing(deployment):
    before = timeouts(deployment)
    curl(deployment.url + "/large")
    with socket.create_connection(("127.0.0.1", deployment.sketcher.port), 20) as connection:
        connection.sendall(REQUEST)
        wait_until(lambda: untaken(deployment) > 0, 20, "something to be untaken")
        begun = time.monotonic()
        wait_until(lambda: timeouts(deployment) == before + 1, 10, "the end of the client's time")
        is_due(begun, TIME_S)
        assert untaken(deployment) == 0
        received = b""
        with contextlib.suppress(ConnectionResetError):
            while data := connection.recv(MIB):
                received += data
        assert len(received) < len(LARGE)
    assert curl(deployment.url + "/").body == PAGE


def test_a_client_that_reads_slowly_all_along(deployment):
    """A socket with much to send says that it has room again when a third of that has gone: later than a
    client has time to take something. The last answer of a connection is on its way for as long as it
    takes, though the client says something meanwhile, which would have a closed socket reset.
    (The sessions' unit tests have the same in virtual time, over HTTP/1 and HTTP/2.)"""
    before = timeouts(deployment)
    received = bytearray()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        connection.settimeout(20 * patience())
        connection.connect(("127.0.0.1", deployment.sketcher.port))
        connection.sendall(REQUEST.replace(b"/large", b"/some"))
        while LARGE[SOME - 16:SOME] not in received[-64 << 10:]:
            piece = connection.recv(32 << 10)
            assert piece, len(received)
            received += piece
            if len(received) < SOME - MIB:  # all of it is not on its way yet
                connection.sendall(b"x")
            time.sleep(0.08)
    assert received.partition(b"\r\n\r\n")[2] == LARGE[:SOME]
    assert timeouts(deployment) == before


@contextlib.contextmanager
def swallowing(port):
    """In place of an origin: a listener with a full queue, whose system drops what knocks."""
    waiting = []
    with socket.create_server(("127.0.0.1", port), backlog=0):
        try:
            for _ in range(16):
                waiting.append(socket.socket())
                waiting[-1].settimeout(0.3)
                waiting[-1].connect(("127.0.0.1", port))
            pytest.fail("the queue has no end")
        except TimeoutError:
            yield
        finally:
            for knocking in waiting:
                knocking.close()


def test_an_origin_that_does_not_take_the_connection(deployment):
    """Nothing refuses it either: another one is asked when its time is over."""
    victim = deployment.origins[2]
    victim.stop()

    def failures():
        origin = deployment.sketcher.status()["origins"][2]
        return origin["fast_failures"]["not-sent"], origin["vote_failures"]["not-sent"]

    try:
        with swallowing(victim.port):
            before = failures()
            assert curl(deployment.url + "/?new").body == PAGE  # a vote of all: it needs two of them
            slowest = 0
            deadline = time.monotonic() + 30 * patience()
            while failures()[0] < before[0] + 3:
                assert time.monotonic() < deadline, "it was never drawn"
                begun = time.monotonic()
                assert curl(deployment.url + "/").body == PAGE
                slowest = max(slowest, time.monotonic() - begun)
            assert CONNECT_S - EARLY_S < slowest < CONNECT_S + LATE_S * patience()
            wait_until(lambda: failures()[1] > before[1], 10, "its vote to be counted")
    finally:
        victim.start()
    assert deployment.sketcher.counters()["failed"] == 0


def test_a_body_over_http2_that_stops_coming_leaves_no_file(deployment):
    def spooled():
        return deployment.sketcher.status()["spool"]["bytes"]

    piece = bytes(16 << 10)
    before = timeouts(deployment)
    with Http2Client(deployment.sketcher.port) as client:
        stream, client.next_stream = 1, 3
        client.wait_for(SETTINGS)
        client.send(frame(SETTINGS, ACK, 0) + frame(HEADERS, END_HEADERS, stream, request_fields(
            "/stopped", "PUT", more=[("content-length", str(4 * MIB))])))
        window, sent = 15 * len(piece), 0
        while sent < MIB:
            while window < len(piece):
                window += int.from_bytes(client.wait_for(WINDOW_UPDATE, stream)[3], "big")
            client.send(frame(DATA, 0, stream, piece))
            window, sent = window - len(piece), sent + len(piece)
        wait_until(lambda: spooled() >= MIB // 2, 5, "a file")
        begun = time.monotonic()
        assert status_of(client.wait_for(HEADERS, stream)[3]) == 408
        assert time.monotonic() - begun < TIME_S + LATE_S * patience()
        assert spooled() == 0
        assert client.reset_code(stream) == NO_ERROR
        assert client.body(client.request("/")) == PAGE
    assert timeouts(deployment) == before + 1
    assert all(origin.read("/stopped") is None for origin in deployment.origins)
