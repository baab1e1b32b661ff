"""Clients that are slow, many, or talk nonsense: others notice nothing. The table of malformed requests
is in test_malformed_requests.py."""

import time

import pytest

from harness import Deployment
from harness.build import patience
from harness.http_client import RawConnection, curl
from harness.processes import wait_until

PAGE = b"page\n"


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment(content={"/index.html": PAGE}, sketcher_changes={
            "limits": {"connections_max": 50},
            "timeouts": {"header": "500ms", "body": "500ms", "idle": "1s"}}) as deployment:
        curl(deployment.url + "/")
        yield deployment


BAD_REQUESTS = {
    "garbage": (b"\x00\x01\x02 nonsense\r\n\r\n", 400),
    "slow-header": (b"GET / HTTP/1.1\r\nHost: a", 408),
    "slow-body": (b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf", 408),
}


@pytest.mark.parametrize("name", sorted(BAD_REQUESTS))
def test_bad_request_is_refused_and_closed(deployment, name):
    request, status = BAD_REQUESTS[name]
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(request)
        answer = connection.answer()
        assert answer.status == status
        assert answer.field("connection") == "close"
        assert answer.field("prophecy-reason")
        assert connection.ended()
    assert curl(deployment.url + "/").body == PAGE


def test_a_body_that_drips_is_not_waited_for(deployment):
    """Each byte comes in time, and the whole would take minutes."""
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n")
        begun = time.monotonic()
        while not connection.readable(0.1):
            connection.send(b"a")
            assert time.monotonic() - begun < 10 * patience()
        assert connection.answer().status == 408
        assert connection.ended()


def test_a_slow_body_that_gets_on_is_taken(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"PUT /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 10000\r\n\r\n")
        for _ in range(2):
            time.sleep(0.3)
            connection.send(b"a" * 5000)
        assert connection.answer().status == 201


def test_requests_before_a_bad_one_are_answered(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + b"\x01\r\n\r\n")
        for _ in range(3):
            assert connection.answer().body == PAGE
        assert connection.answer().status == 400
        assert connection.ended()


def test_nothing_bad_reaches_the_origins(deployment):
    for origin in deployment.origins:
        assert origin.read("/x") is None


def test_idle_connection_is_closed(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        assert connection.get("/").body == PAGE
        assert connection.ended()


def test_connections_beyond_the_limit_harm_nobody(deployment):
    limit = deployment.sketcher.settings["limits"]["connections_max"]
    # Connections of tests before this one may be on their way out.
    wait_until(lambda: open_connections(deployment) == 0, 10, "earlier connections to end")
    served = [RawConnection(deployment.sketcher.port) for _ in range(limit)]
    beyond = [RawConnection(deployment.sketcher.port) for _ in range(30)]
    try:
        for connection in served:
            assert connection.get("/").body == PAGE
        assert open_connections(deployment) <= limit
    finally:
        for connection in served:
            connection.close()
    with beyond[-1] as connection:
        assert connection.get("/").body == PAGE
    for connection in beyond:
        connection.close()
    assert curl(deployment.url + "/").body == PAGE


def open_connections(deployment):
    return sum(worker["connections"] for worker in deployment.sketcher.status()["workers"])
