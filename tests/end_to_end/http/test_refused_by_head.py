"""Requests whose head alone is reason to refuse them: nobody is asked for the body, and none is kept."""

import http.client
import time

import pytest

from harness import Deployment
from harness.http2_client import (CANCEL, DATA, END_STREAM, HEADERS, NO_ERROR, NO_TABLE, RST_STREAM,
                                  Http2Client, frame, status_of)
from harness.http_client import RawConnection, curl

VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
ROUTES = [{"name": "secret", "hosts": ["secret.test"], "client_certificate": "required"},
          {"name": "known", "hosts": ["known.test"]}]
BODY = b"Expect: 100-continue\r\nContent-Length: 5000000\r\n\r\n"
REFUSED = [("unknown host", b"POST / HTTP/1.1\r\nHost: nobody.test\r\n", 421),
           ("no certificate", b"POST / HTTP/1.1\r\nHost: secret.test\r\n", 403),
           ("writes refused", b"POST / HTTP/1.1\r\nHost: known.test\r\n", 405),
           ("TRACE", b"TRACE / HTTP/1.1\r\nHost: known.test\r\n", 501),
           ("a read with a body", b"GET / HTTP/1.1\r\nHost: known.test\r\n", 400),
           ("no authority", b"POST / HTTP/1.1\r\nHost: a b\r\n", 400),
           ("a loop", b"PUT / HTTP/1.1\r\nHost: known.test\r\nVia: 1.1 prophecy\r\n", 508),
           ("an entity tag", b'PUT / HTTP/1.1\r\nHost: known.test\r\nIf-Match: "1"\r\n', 501)]


@pytest.fixture(name="deployment", scope="module")
def _deployment():
    with Deployment(agents=False, content={"/index.html": b"x"},
                    sketcher_changes={"group": VOTE, "route": ROUTES}) as deployment:
        yield deployment


@pytest.mark.parametrize("what,head,status", REFUSED, ids=[each[0] for each in REFUSED])
def test_nobody_is_asked_for_the_body(deployment, what, head, status):
    before = deployment.sketcher.status()
    connection = RawConnection(deployment.sketcher.port)
    connection.send(head + BODY)
    assert connection.answer().status == status, what
    assert connection.ended()
    after = deployment.sketcher.status()
    counted = "failed" if status == 405 else "refused"
    assert after["requests"][counted] == before["requests"][counted] + 1
    if status == 405:
        assert after["requests"]["writes"] == before["requests"]["writes"] + 1
        name = "writes-refused"
        assert after["replicated_failures"][name] == before["replicated_failures"][name] + 1


@pytest.mark.parametrize("head,status", [
    (b"POST / HTTP/1.1\r\nHost: known.test\r\nContent-Length: 5000000\r\n\r\n", 405),
    (b"GET / HTTP/1.1\r\nHost: known.test\r\nContent-Length: 5000000\r\n\r\n", 400),
    # Only its first chunk tells that it has a body.
    (b"GET / HTTP/1.1\r\nHost: known.test\r\nTransfer-Encoding: chunked\r\n\r\n4c4b40\r\n", 400)])
def test_what_is_sent_all_the_same_is_not_kept(deployment, head, status):
    """And answered when it is whole: many clients do not listen before."""
    before = deployment.sketcher.status()["requests"]["refused"]
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(head)
        for _ in range(5):
            connection.send(b"x" * 980_000)
            assert deployment.sketcher.status()["spool"]["bytes"] == 0
        assert not connection.readable(0.2)
        connection.send(b"x" * 100_000 + (b"\r\n0\r\n\r\n" if b"chunked" in head else b""))
        assert connection.answer().status == status
        assert connection.ended()
    if status != 405:
        assert deployment.sketcher.status()["requests"]["refused"] == before + 1


def post(deployment, host, body, length):
    """By a client that listens when it has sent all."""
    connection = http.client.HTTPConnection("127.0.0.1", deployment.sketcher.port, timeout=30)
    try:
        connection.request("POST", "/", body, {"Host": host, "Content-Length": str(length)})
        return connection.getresponse().status
    finally:
        connection.close()


def slowly(pieces):
    for _ in range(pieces):
        time.sleep(0.1)
        yield b"x" * 10_000


def test_who_sends_before_he_listens_hears_of_it(deployment):
    for host, status in (("nobody.test", 421), ("known.test", 405)):
        assert post(deployment, host, b"x" * 5_000_000, 5_000_000) == status
        assert post(deployment, host, slowly(25), 250_000) == status


def test_nor_is_he_cut_off_behind_an_answer_that_comes_at_once(deployment):
    """The connection ends with it; what is said meanwhile is discarded for a while."""
    for body in (b"x" * 5_000_000, slowly(25)):
        assert post(deployment, "known.test", body, 20 << 30) == 413


@pytest.mark.parametrize("expects", [True, False])
def test_curl_hears_of_it(deployment, expects):
    body = deployment.folder / "body"
    body.write_bytes(b"x" * 3_000_000)
    for host, status in (("nobody.test", 421), ("secret.test", 403), ("known.test", 405)):
        answer = curl(deployment.url + "/", "-H", f"Host: {host}", "--data-binary", f"@{body}",
                      "-H", "Expect: 100-continue" if expects else "Expect:")
        assert answer.status == status


def test_over_http2(deployment):
    body = deployment.folder / "body"
    body.write_bytes(b"x" * 3_000_000)
    before = deployment.sketcher.counters()
    for host, status in (("nobody.test", 421), ("secret.test", 403), ("known.test", 405)):
        answer = curl(deployment.url + "/", "--http2-prior-knowledge", "-H", f"Host: {host}",
                      "--data-binary", f"@{body}")
        assert answer.status == status
        assert deployment.sketcher.status()["spool"]["bytes"] == 0
    after = deployment.sketcher.counters()
    assert after["refused"] - before["refused"] == 2
    assert after["failed"] - before["failed"] == 1
    with Http2Client(deployment.sketcher.port) as client:
        # Without a byte of the body.
        stream = client.request(end=False, method="POST", authority="known.test",
                                more=[("expect", "100-continue"), ("content-length", "5000")])
        assert status_of(client.wait_for(HEADERS, stream)[3]) == 405
        assert client.reset_code(stream) == NO_ERROR
        # Nor is what takes the stream's place refused for it; be it that its client left meanwhile.
        assert client.body(client.request(authority="known.test")) == b"x"
        stream = client.request(end=False, method="POST", authority="known.test")
        client.send(frame(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big")))
        assert client.body(client.request(authority="known.test")) == b"x"
    answer = curl(deployment.url + "/", "--http2-prior-knowledge", "-H", "Host: known.test")
    assert (answer.status, answer.body) == (200, b"x")


def refusals(deployment):
    return deployment.sketcher.status()["requests"]["refused"]


def test_over_http2_a_read_may_say_that_it_has_a_body(deployment):
    before = refusals(deployment)
    with Http2Client(deployment.sketcher.port, NO_TABLE) as client:
        stream = client.request(end=False, authority="known.test",
                                more=[("expect", "100-continue"), ("content-length", "5000")])
        assert status_of(client.wait_for(HEADERS, stream)[3]) == 400
        # Or show it.
        stream = client.request(end=False, authority="known.test")
        client.send(frame(DATA, 0, stream, b"x" * 5000))
        client.send(frame(DATA, END_STREAM, stream, b"x"))
        assert status_of(client.wait_for(HEADERS, stream)[3]) == 400
    assert refusals(deployment) == before + 2


def test_what_is_wrong_with_its_body_as_well_is_not_counted():
    with Deployment(agents=False, content={"/index.html": b"x"},
                    sketcher_changes={"group": VOTE, "route": ROUTES,
                                      "timeouts": {"body": "1s"}}) as deployment:
        before = refusals(deployment)
        with Http2Client(deployment.sketcher.port) as client:
            stream = client.request(end=False, method="POST", authority="nobody.test")
            assert status_of(client.wait_for(HEADERS, stream)[3]) == 421
        assert refusals(deployment) == before + 1
        with RawConnection(deployment.sketcher.port) as connection:
            connection.send(b"POST / HTTP/1.1\r\nHost: nobody.test\r\nContent-Length: 9\r\n\r\n1")
            assert connection.answer().status == 421
        assert refusals(deployment) == before + 2
        with RawConnection(deployment.sketcher.port) as connection:
            connection.send(b"POST / HTTP/1.1\r\nHost: nobody.test\r\n"
                            b"Transfer-Encoding: chunked\r\n\r\nno chunk\r\n")
            assert connection.answer().status == 421
        assert refusals(deployment) == before + 3
