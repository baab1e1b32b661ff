"""Clients that are slow or talk nonsense: others notice nothing. The table of malformed requests is in
test_malformed_requests.py; which slowness is too slow, in tests/unit/sketcher/http1_session_test.cpp."""

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl

PAGE = b"page\n"


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment(content={"/index.html": PAGE}, sketcher_changes={
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
