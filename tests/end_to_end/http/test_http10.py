"""HTTP/1.0, from clients that keep their connections and such that do not, and from Apaches that answer in
it."""

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl

PAGE = b"<p>A page.</p>\n"
LARGE = bytes(range(256)) * 4096
OLD = "SetEnvIf Request_URI . downgrade-1.0 force-response-1.0\n"
OLDER = OLD + "SetEnvIf Request_URI . nokeepalive\n"
CONTENT = {"/index.html": PAGE, "/static/page": PAGE, "/static/large": LARGE}


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment(content=CONTENT) as deployment:
        yield deployment


def request(path, *fields, method="GET", body=b""):
    return "".join([f"{method} {path} HTTP/1.0\r\nHost: localhost\r\n",
                    *(f"{field}\r\n" for field in fields), "\r\n"]).encode() + body


def test_a_connection_that_is_kept(deployment):
    """It has to be asked for, and is confirmed (RFC 9112, C.2.2)."""
    with RawConnection(deployment.sketcher.port) as connection:
        for path, body in [("/", PAGE), ("/static/large", LARGE), ("/static/page", PAGE)] * 2:
            connection.send(request(path, "Connection: Keep-Alive"))
            answer = connection.answer()
            assert (answer.status, answer.body) == (200, body)
            assert answer.field("connection").lower() == "keep-alive"
            assert answer.field("transfer-encoding") is None
        connection.send(request("/static/page", "Connection: keep-alive", method="HEAD"))
        assert connection.answer(to_head=True).field("content-length") == str(len(PAGE))
        connection.send(request("/kept", "Connection: keep-alive", "Content-Length: 4",
                                method="PUT", body=b"kept"))
        assert connection.answer().status == 201
        # Once it is not asked for, that was the last one.
        connection.send(request("/static/page"))
        answer = connection.answer()
        assert (answer.body, answer.field("connection")) == (PAGE, "close")
        assert connection.ended()
    deployment.wait_for_write("/kept", b"kept")


@pytest.mark.parametrize("fields", [[], ["Connection: close"], ["Keep-Alive: timeout=5"],
                                    ["Connection: close, keep-alive"]])
def test_a_connection_that_is_not(deployment, fields):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(request("/static/page", *fields) + request("/static/large"))
        answer = connection.answer()
        assert (answer.body, answer.field("connection")) == (PAGE, "close")
        assert connection.ended(), "the second was pipelined behind the end"


def test_with_curl(deployment):
    for _ in range(2):
        assert curl(deployment.url + "/static/large", "--http1.0").body == LARGE
    answer = curl(deployment.url + "/static/page", "--http1.0", "--range", "3-5")
    assert (answer.status, answer.body) == (206, PAGE[3:6])


@pytest.mark.parametrize("additions", [dict.fromkeys(range(4), OLD), dict.fromkeys(range(4), OLDER),
                                       {1: OLD, 3: OLDER}],
                         ids=["all-keep-alive", "all-closing", "two-of-four"])
def test_origins_that_answer_in_it(additions):
    """What version an answer has is no part of it: they agree with those that speak 1.1."""
    with Deployment(content=CONTENT, apache_additions=additions) as deployment:
        for number in additions:
            with RawConnection(deployment.origins[number].port) as straight:
                straight.send(b"GET /static/page HTTP/1.1\r\nHost: localhost\r\n"
                              b"Connection: close\r\n\r\n")
                assert straight.rest().startswith(b"HTTP/1.0 200"), "Apache does not answer in 1.0"
        with RawConnection(deployment.sketcher.port) as connection:
            for _ in range(10):
                assert connection.get("/static/page").body == PAGE
                assert connection.get("/static/large").body == LARGE
        assert curl(deployment.url + "/new", "--upload-file",
                    deployment.origins[0].htdocs / "static/page").status == 201
        deployment.wait_for_write("/new", PAGE)
        assert curl(deployment.url + "/new", "--request", "DELETE").status == 204
        counters = deployment.sketcher.counters()
        assert (counters["fast"], counters["failed"]) == (18, 0)
        assert deployment.sketcher.divergences() == []
        failures = [origin["fast_failures"] for origin in deployment.sketcher.status()["origins"]]
        assert not any(sum(each.values()) for each in failures)
