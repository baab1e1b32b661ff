"""Time-outs of clients and of origins that have no place elsewhere: each comes when it is due, is counted,
and frees what was held."""

import contextlib
import os
import socket
import ssl
import struct
import time

import pytest

from harness import Deployment
from harness.build import patience
from harness.certificates import Authority
from harness.http2_client import (ACK, DATA, END_HEADERS, END_STREAM, HEADERS, NO_ERROR, PREFACE,
                                  SETTINGS, WIDE, WINDOW_UPDATE, Http2Client, frame,
                                  request_fields, status_of)
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
        "key_file": None, "health": {"quarantine": False, "failures_max": 100000}}


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


def test_a_client_that_takes_some_of_it_now_and_then(deployment):
    """It gets on, so it is waited for, longer than one that does not."""
    before = timeouts(deployment)
    received = bytearray()
    with socket.create_connection(("127.0.0.1", deployment.sketcher.port), 20) as connection:
        connection.sendall(REQUEST)
        begun = time.monotonic()
        pauses = 0
        while data := connection.recv(256 << 10):
            received += data
            if len(received) > pauses * MIB:
                pauses += 1
                time.sleep(0.25)
        assert time.monotonic() - begun > 2 * TIME_S
    assert received.partition(b"\r\n\r\n")[2] == LARGE
    assert timeouts(deployment) == before


def body_of(answer, version):
    if version != "http2":
        return answer.partition(b"\r\n\r\n")[2]
    body = b""
    while answer:
        size = int.from_bytes(answer[:3], "big")
        if answer[3] == DATA:
            body += answer[9:9 + size]
        answer = answer[9 + size:]
    return body


@pytest.mark.parametrize("version", ["http1", "last", "http2"])
def test_a_client_that_reads_slowly_all_along(deployment, version):
    """A socket with much to send says that it has room again when a third of that has gone: later than a
    client has time to take something. The last answer of a connection is on its way for as long as it
    takes, though the client says something meanwhile, which would have a closed socket reset."""
    before = timeouts(deployment)
    wide_open = frame(WINDOW_UPDATE, 0, 0, (1 << 30).to_bytes(4, "big"))
    some = REQUEST.replace(b"/large", b"/some")
    asking = {"http1": some.replace(b"Connection: close\r\n", b""),
              "last": some,
              "http2": PREFACE + frame(SETTINGS, 0, 0, WIDE) + wide_open + frame(
                  HEADERS, END_STREAM | END_HEADERS, 1, request_fields("/some"))}[version]
    received = bytearray()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)
        connection.settimeout(20 * patience())
        connection.connect(("127.0.0.1", deployment.sketcher.port))
        connection.sendall(asking)
        while LARGE[SOME - 16:SOME] not in received[-64 << 10:]:
            piece = connection.recv(32 << 10)
            assert piece, len(received)
            received += piece
            if version == "last" and len(received) < SOME - MIB:  # all of it is not on its way yet
                connection.sendall(b"x")
            time.sleep(0.08)
    assert body_of(bytes(received), version) == LARGE[:SOME]
    assert timeouts(deployment) == before


def test_windows_that_open_by_a_byte_are_no_progress(deployment):
    """While the kernel holds the same bytes for a client all along."""
    before = timeouts(deployment)
    more = b"".join(frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", 1)) for stream in (0, 1))
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 10)
        connection.connect(("127.0.0.1", deployment.sketcher.port))
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0, b"") + frame(
            HEADERS, END_STREAM | END_HEADERS, 1, request_fields("/large")))

        def opened():
            connection.sendall(more)
            return timeouts(deployment) == before + 1
        wait_until(opened, 10, "the end of the client's time")


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


def test_fields_over_http2_that_stop_coming_while_answers_are_taken(deployment):
    """They have their time, whatever the client takes meanwhile of what the socket is full of."""
    before = timeouts(deployment)
    with Http2Client(deployment.sketcher.port, WIDE) as client:
        client.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))

        def take(size):
            while size > 0:
                got = client.read_frame()
                if got is None:
                    return False
                size -= len(got[3])
            return True

        for _ in range(6):
            client.request("/large")
        assert take(MIB)
        begun = time.monotonic()
        client.send(frame(HEADERS, END_STREAM, client.next_stream, request_fields()))
        while take(MIB):
            assert time.monotonic() - begun < TIME_S + LATE_S * patience(), "they are waited for"
            time.sleep(0.25)
        assert time.monotonic() - begun > TIME_S - EARLY_S
    assert timeouts(deployment) > before
    assert curl(deployment.url + "/").body == PAGE


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
