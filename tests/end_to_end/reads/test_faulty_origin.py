"""One origin of four lies, dies or hangs: clients never notice, the operator does."""

import sys

import pytest

from harness import Deployment
from harness.build import ROOT
from harness.http_client import curl
from harness.ports import accepts_connections
from harness.processes import Child, wait_until
from harness.sketcher import json_lines

PAGE = b"<p>The right page.</p>\n"
PLANTED = "planted-by-the-origin"


@pytest.fixture(name="deployment")
def _deployment():
    with Deployment(content={"/index.html": PAGE}) as deployment:
        yield deployment


def read_often(deployment, times=60, path="/", body=PAGE):
    for _ in range(times):
        answer = curl(deployment.url + path)
        assert (answer.status, answer.body) == (200, body)


def test_defaced_origin(deployment):
    read_often(deployment, 2)
    deployment.origins[2].write("/index.html", PAGE.replace(b"right", b"wrong"))
    read_often(deployment)
    events = wait_until(deployment.sketcher.divergences, 10, "a reported divergence")
    assert {event["replica"] for event in events} == {2}
    event = next(event for event in events if event["kind"] == "fast_read")
    assert event["request"]["method"] == "GET"
    assert event["request"]["target"] == "/"
    body = [part for part in event["differs"] if part["part"] == "body"]
    assert body == [{"part": "body", "offset": PAGE.index(b"right")}]
    assert event["answer"]["digest"] != event["agreed"]["digest"]
    assert {line["replica"] for line in json_lines(deployment.sketcher.divergence_log)} == {2}


def test_origin_that_adds_a_covered_header(deployment):
    read_often(deployment, 2)
    origin = deployment.origins[1]
    origin.stop()
    origin.additions = f'Header always set Set-Cookie "session={PLANTED}"'
    origin.start()
    for _ in range(60):
        answer = curl(deployment.url + "/")
        assert (answer.status, answer.body) == (200, PAGE)
        assert answer.field("set-cookie") is None
    events = wait_until(deployment.sketcher.divergences, 10, "a reported divergence")
    assert {event["replica"] for event in events} == {1}
    assert {"part": "header", "name": "set-cookie"} in [part for event in events
                                                         for part in event["differs"]]


def test_apache_that_plants_bytes_in_uncovered_headers():
    names = ["X-Powered-By", "X-Generator", "Via", "Age", "Keep-Alive", "Server-Timing",
             "X-Served-By", "Proxy-Authenticate", "Accept-Ranges", "ETag"]
    additions = "\n".join(f'Header always set {name} "{PLANTED}"' for name in names)
    with Deployment(content={"/index.html": PAGE}, apache_additions={2: additions}) as deployment:
        before = deployment.sketcher.counters()
        for _ in range(60):
            answer = curl(deployment.url + "/")
            assert (answer.status, answer.body) == (200, PAGE)
            assert PLANTED not in str(answer)
        # It is asked like the others, since what it says under cover is right.
        after = deployment.sketcher.counters()
        assert after["fast"] - before["fast"] == 59
        assert deployment.sketcher.divergences() == []


@pytest.mark.parametrize("place", ["reason", "server", "date", "interim", "chunk-extension",
                                   "trailer", "connection-nominated", "hop-by-hop"])
def test_origin_that_plants_bytes_where_apache_would_not(deployment, place):
    read_often(deployment, 2)
    apache = deployment.origins[3]
    apache.kill()
    count = deployment.folder / "count"
    evil = Child("evil-origin", [sys.executable, "-m", "harness.evil_origin", "--port",
                                 apache.port, "--page", apache.htdocs / "index.html",
                                 "--plant", PLANTED, "--place", place, "--count", count],
                 deployment.folder / "evil.log", {"PYTHONPATH": str(ROOT)})
    try:
        evil.wait_ready(lambda: accepts_connections(apache.port))
        for _ in range(60):
            answer = curl(deployment.url + "/")
            assert (answer.status, answer.body) == (200, PAGE)
            assert PLANTED not in str(answer)
        assert count.stat().st_size > 0, "the evil origin was never asked"
        assert evil.running(), evil.log()
    finally:
        evil.kill()


def test_killed_origin(deployment):
    read_often(deployment, 2)
    deployment.origins[3].kill()
    read_often(deployment, 40)
    assert curl(deployment.url + "/new.txt", "-X", "PUT", "--data-binary", "new").status == 201
    # A replica that is late with a write answers reads as before it, and is reported for that.
    deployment.wait_for_write("/new.txt", b"new", range(3))
    read_often(deployment, 20, "/new.txt", b"new")
    events = deployment.sketcher.divergences()
    assert {event["replica"] for event in events} <= {3}, events


def test_hanging_origin():
    with Deployment(content={"/index.html": PAGE},
                    sketcher_changes={"timeouts": {"answer": "300ms"}}) as deployment:
        read_often(deployment, 2)
        deployment.origins[1].pause()
        try:
            read_often(deployment, 20)
        finally:
            deployment.origins[1].resume()
        read_often(deployment, 10)
