"""Answers that may have no end, on a route that is declared for them: Server-Sent Events and long polls of real
Apaches, read by curl over HTTP/1.1 and HTTP/2."""

import subprocess
import time
from contextlib import closing

import pytest

from harness import Deployment
from harness.apache import load_module
from harness.build import patience
from harness.http_client import RawConnection, curl
from harness.ports import PortReservation
from harness.processes import read_memory, wait_until
from harness.programs import run_program
from harness.replicas import ctl, ctl_json
from harness.scripted_origin import ScriptedOrigin

PAGE = b"<p>The page.</p>\n"
VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None, "key_file": None}
PAUSE_S = 0.3
SCRIPTS = {
    # As many events as the query says, or as there is time for.
    "/live/events": f"""#!/bin/sh
printf 'Content-Type: text/event-stream\\r\\n\\r\\n'
i=0
while [ $i -lt "${{QUERY_STRING:-1000000}}" ]; do
  printf 'data: %s\\n\\n' $i
  i=$((i + 1))
  sleep {PAUSE_S}
done
""",
    "/live/poll": """#!/bin/sh
sleep 2
printf 'Content-Type: application/json\\r\\nContent-Length: 13\\r\\n\\r\\n{"news": [1]}'
""",
    "/live/flood": """#!/bin/sh
printf 'Content-Type: application/octet-stream\\r\\n\\r\\n'
exec cat /dev/zero
""",
}
APACHE = load_module("cgi") + """
<Location /live>
  Dav Off
  SetHandler cgi-script
  Options +ExecCGI
</Location>
"""
ROUTES = [{"name": "site"}, {"name": "live", "path_prefix": "/live", "mode": "stream"}]
# Each is less than the events take.
TIMEOUTS = {"answer": "1s", "total": "1s", "stream": "4s"}
CURLS = [["--http1.1"], ["--http2-prior-knowledge"]]


@pytest.fixture(scope="module", name="site")
def _site():
    with closing(PortReservation(1)) as ports:
        changes = {"sketcher": {"metrics": f"127.0.0.1:{ports.ports[0]}"}, "group": VOTE, "route": ROUTES,
                   "listener": {"protocols": ["http/1.1", "h2"]}, "timeouts": TIMEOUTS, "origins": {"streams_max": 2},
                   "log": {"level": "debug"}}
        deployment = Deployment(agents=False, start=False, content={"/index.html": PAGE, **SCRIPTS},
                                apache_additions=dict.fromkeys(range(4), APACHE), sketcher_changes=changes)
        for origin in deployment.origins:
            for path in SCRIPTS:
                (origin.htdocs / path[1:]).chmod(0o755)
        with deployment:
            deployment.start()
            yield deployment


class Events:
    """What curl reads of a stream, line by line."""

    def __init__(self, url, *options):
        self._curl = subprocess.Popen(["curl", "--silent", "--no-buffer", "--noproxy", "*", *options, url],
                                      stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)

    def next(self):
        while line := self._curl.stdout.readline():
            if line.strip():
                return line.strip().decode()
        return None

    def end(self):
        """curl's status at the end of the stream."""
        self._curl.stdout.read()
        return self._curl.wait(30 * patience())

    def leave(self):
        self._curl.kill()
        self._curl.wait()
        self._curl.stdout.close()


def open_streams(site):
    return sum(worker["streams"] for worker in site.sketcher.status()["workers"])


@pytest.mark.parametrize("protocol", CURLS, ids=["http1", "http2"])
def test_events_come_as_they_are_made_and_end_with_the_origin(site, protocol):
    before = site.sketcher.counters()
    events = Events(site.url + "/live/events?6", *protocol)
    came = []
    for number in range(6):
        assert events.next() == f"data: {number}"
        came.append(time.monotonic())
    assert events.next() is None
    assert events.end() == 0
    # Not all at once, and beyond every time that other answers have.
    assert came[-1] - came[0] > 4 * PAUSE_S
    after = site.sketcher.counters()
    assert after["streams"] - before["streams"] == 1
    assert after["unverified"] - before["unverified"] == 1
    assert after["stream_bytes_out"] - before["stream_bytes_out"] == len("data: 0\n\n") * 6
    wait_until(lambda: open_streams(site) == 0, 10, "the end of the stream")
    assert "stream-closed route=live" in site.sketcher.child.log()


@pytest.mark.parametrize("protocol", CURLS, ids=["http1", "http2"])
def test_a_long_poll_is_answered_when_there_is_news(site, protocol):
    result = subprocess.run(["curl", "--silent", "--include", "--noproxy", "*", *protocol, site.url + "/live/poll"],
                            capture_output=True, text=True, check=True, timeout=30 * patience())
    head, _, body = result.stdout.replace("\r\n", "\n").partition("\n\n")
    assert " 200" in head.splitlines()[0]
    # Apache does not take a script's word for the length: it tells it where all has come at once.
    framing = [line for line in head.splitlines() if line.startswith(("content-length:", "transfer-encoding:"))]
    assert framing in ([], ["content-length: 13"], ["transfer-encoding: chunked"])
    assert framing != [] or "http2" in str(protocol)
    assert body == '{"news": [1]}'


@pytest.mark.parametrize("protocol", CURLS, ids=["http1", "http2"])
def test_a_client_that_leaves_ends_its_stream_at_the_origin(site, protocol):
    events = Events(site.url + "/live/events", *protocol)
    assert events.next() == "data: 0"
    assert open_streams(site) == 1
    events.leave()
    wait_until(lambda: open_streams(site) == 0, 10, "the end of the stream")


def test_http10_gets_a_stream_until_the_connection_ends(site):
    with RawConnection(site.sketcher.port) as connection:
        connection.send(b"GET /live/events?2 HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
        answer = connection.rest()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in head.lower() and b"connection: close" in head
    assert body == b"data: 0\n\ndata: 1\n\n"


def test_a_connection_goes_on_after_a_stream(site):
    with RawConnection(site.sketcher.port) as connection:
        connection.send(b"GET /live/events?2 HTTP/1.1\r\nHost: localhost\r\n\r\n"
                        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        first, _, second = connection.rest().partition(b"\r\n0\r\n\r\n")
    assert b"\r\ntransfer-encoding: chunked\r\n" in first and first.endswith(b"\r\n9\r\ndata: 1\n\n")
    assert second.startswith(b"HTTP/1.1 200 ") and second.endswith(PAGE)


def test_a_client_that_takes_nothing_costs_little_memory(site):
    [pid] = site.sketcher.workers()
    before = read_memory(pid, "VmRSS")
    with RawConnection(site.sketcher.port) as connection:
        connection.send(b"GET /live/flood HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: open_streams(site) == 1, 10, "the stream")
        time.sleep(2)
        assert read_memory(pid, "VmRSS") - before < 2 << 20
        assert site.sketcher.status()["workers"][0]["untaken_bytes"] < 1 << 20
    wait_until(lambda: open_streams(site) == 0, 10, "the end of the stream")


def test_streams_have_connections_of_their_own_and_a_bound(site):
    streams = []
    try:
        # Two for each origin: whichever is drawn first, one with a place is found.
        for _ in range(8):
            streams.append(Events(site.url + "/live/events", "--fail"))
            assert streams[-1].next() == "data: 0"
        beyond = curl(site.url + "/live/events")
        assert (beyond.status, beyond.field("prophecy-reason")) == (503, "origin-unavailable")
        assert curl(site.url + "/").body == PAGE  # others have theirs
    finally:
        for events in streams:
            events.leave()
    wait_until(lambda: open_streams(site) == 0, 10, "the end of the streams")


def test_other_routes_verify_as_before_and_do_not_stream(site):
    assert curl(site.url + "/").field("etag")
    assert curl(site.url + "/live/events?1").field("etag") is None
    refused = run_program("prophecyctl", "route", "--admin", site.sketcher.admin, "site", "stream")
    assert refused.returncode != 0 and "only a route whose configuration has mode" in refused.stderr
    ctl("route", "--admin", site.sketcher.admin, "live", "maintenance")
    assert curl(site.url + "/live/events?1").status == 503
    ctl("route", "--admin", site.sketcher.admin, "live", "stream")
    assert curl(site.url + "/live/events?1").status == 200


def test_an_origin_that_says_nothing_is_given_up(site):
    """After `stream` in [timeouts], in the midst of its answer and before it."""
    for origin in site.origins:
        origin.pause()
    try:
        begun = time.monotonic()
        answer = curl(site.url + "/live/events")
        assert (answer.status, answer.field("prophecy-reason")) == (504, "origin-too-slow")
        assert 3.5 < time.monotonic() - begun < 15 * patience()
    finally:
        for origin in site.origins:
            origin.resume()
    events = Events(site.url + "/live/events")
    assert events.next() == "data: 0"
    for origin in site.origins:
        origin.pause()
    try:
        assert events.end() == 18  # curl: only a part of the body
    finally:
        for origin in site.origins:
            origin.resume()


def test_a_stream_ends_at_the_end_of_a_drain(site):
    streams = {replica: Events(site.url + "/live/events") for replica in range(6)}
    try:
        for events in streams.values():
            assert events.next() == "data: 0"
        ctl("origin", "drain", "--admin", site.sketcher.admin, "default/1", "--within", "2", "--reason", "new kernel")
        listed = ctl_json("origin", "list", "--admin", site.sketcher.admin, "--json")
        assert listed[1]["state"] == "drain" and 0 < listed[1]["drain_seconds_left"] <= 2
        wait_until(lambda: ctl_json("origin", "list", "--admin", site.sketcher.admin, "--json")[1]["state"] == "maint",
                   15, "the end of the drain")
        wait_until(lambda: site.sketcher.status()["origins"][1]["under_way"] == 0, 15, "the cut")
        assert open_streams(site) >= 3
    finally:
        for events in streams.values():
            events.leave()
        ctl("origin", "set", "--admin", site.sketcher.admin, "default/1", "ready")
    wait_until(lambda: open_streams(site) == 0, 10, "the end of the streams")


def test_a_stream_that_another_origin_can_bring_is_asked_there():
    with Deployment(agents=False, sketcher_changes={"group": VOTE, "route": [{"mode": "stream"}]}) as deployment:
        deployment.origins[0].kill()
        deployment.origins[1].kill()
        statuses = [curl(deployment.url + "/").status for _ in range(30)]
        # Two are down where one may be: some reads find both.
        assert statuses.count(200) > 15


def test_trailers_of_an_origin_are_left_out():
    def answer(_head):
        yield b"HTTP/1.1 200 OK\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n"
        yield b"0\r\nX-Sum: 1\r\n\r\n"

    with Deployment(agents=False, start=False,
                    sketcher_changes={"group": VOTE, "route": [{"mode": "stream"}]}) as deployment:
        origins = [ScriptedOrigin(origin.port, answer) for origin in deployment.origins]
        deployment.sketcher.start()
        try:
            with RawConnection(deployment.sketcher.port) as connection:
                connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                text = connection.rest()
            assert text.endswith(b"\r\n\r\n3\r\none\r\n0\r\n\r\n")
            assert b"x-sum" not in text.lower()
        finally:
            for origin in origins:
                origin.close()


@pytest.mark.parametrize("route", [{"reads": "replicated"}, {"blacklist": ["/live"]}], ids=["reads", "blacklist"])
def test_a_route_whose_reads_the_group_answers_may_not_stream(route):
    with Deployment(agents=False, start=False,
                    sketcher_changes={"group": VOTE, "route": [{"mode": "stream", **route}]}) as deployment:
        result = run_program("prophecy-sketcher", "--check", "--config", deployment.sketcher.configuration)
        assert result.returncode != 0
        assert 'expected no "stream" where the group is to answer reads' in result.stderr
