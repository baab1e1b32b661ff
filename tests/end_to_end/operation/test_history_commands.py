"""prophecyctl history: what a sketcher remembers, shown and changed while clients read."""

import time

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl
from harness.programs import run_program
from harness.replicas import ctl, ctl_json

CONTENT = {"/a": b"a", "/b": b"b", "/c": b"c"}


@pytest.fixture(name="deployment")
def _deployment():
    with Deployment(content=CONTENT) as deployment:
        yield deployment


def history(deployment, *arguments):
    return ctl_json("history", *arguments, "--admin", deployment.sketcher.admin, "--json")


def get(deployment, path, *options):
    [found] = history(deployment, "get", f"http://localhost{path}", *options)
    return found


def ended(deployment, path, times=1, **options):
    """Reads, and tells how the requests ended."""
    before = deployment.sketcher.counters()
    with RawConnection(deployment.sketcher.port) as client:
        for _ in range(times):
            assert client.get(path, **options).status == 200
    after = deployment.sketcher.counters()
    return {name: after[name] - before[name] for name in ("fast", "replicated", "unverified")
            if after[name] != before[name]}


def test_get_tells_what_is_known_of_a_request(deployment):
    fresh = get(deployment, "/a")
    assert (fresh["entry"], fresh["activity"], fresh["refused"]) == (None, None, None)
    assert (fresh["route"], fresh["group"], fresh["mode"]) == ("default", "default", "enforce")
    assert ended(deployment, "/a", 10) == {"replicated": 1, "fast": 9}
    time.sleep(2.5)
    known = get(deployment, "/a")
    assert known["key"] == fresh["key"]
    entry, activity = known["entry"], known["activity"]
    assert entry["mark"] == "none" and len(entry["answer"]) == 40 and entry["sigma"] > 0
    assert 0.4 < entry["at_least_seconds_old"] <= entry["at_most_seconds_old"] < 60
    assert entry["at_most_seconds_old"] >= 2.4
    assert (activity["hits"], activity["group_reads"], activity["transitions"]) == (9, 1, 0)
    # Other requests for the same page.
    assert get(deployment, "/a", "--head")["entry"] is None
    assert get(deployment, "/a", "-H", "Accept-Language: de")["key"] != known["key"]
    assert get(deployment, "/a", "-H", "X-Forwarded-For: 192.0.2.1")["key"] == known["key"]
    assert get(deployment, "/a?b")["entry"] is None
    # For people.
    text = ctl("history", "get", "http://localhost/a", "http://localhost/nothing", "--admin",
               deployment.sketcher.admin)
    assert "hits" in text and "none: the next read asks the group" in text


def test_get_tells_of_the_kill_switch(deployment):
    assert get(deployment, "/a")["bypass"] is False
    ctl("bypass", "on", "--admin", deployment.sketcher.admin)
    found = get(deployment, "/a")
    assert (found["mode"], found["bypass"]) == ("enforce", True)


def test_get_tells_what_a_write_has_made_out_of_date(deployment):
    ended(deployment, "/a")
    assert get(deployment, "/a")["out_of_date"] is False
    with RawConnection(deployment.sketcher.port) as client:
        assert client.ask("PUT", "/a", b"new").status == 204
        assert get(deployment, "/a")["out_of_date"] is True
        assert client.get("/a").body == b"new"
    assert get(deployment, "/a")["out_of_date"] is False
    assert get(deployment, "/b")["out_of_date"] is False


@pytest.mark.parametrize("path, options, status", [
    ("/a#b", (), 400),
    ("/a", ("-H", "Accept : x"), 400),
    ("/a", ("-H", "Transfer-Encoding: gzip"), 501),
    ("/" + "a" * 9000, (), 414),
])
def test_get_tells_why_a_request_is_refused(deployment, path, options, status):
    refused = get(deployment, path, *options)["refused"]
    assert refused["status"] == status and refused["reason"]


def test_marks_and_forgetting(deployment):
    ended(deployment, "/a")
    deployment.origins[1].write("/a", b"a lie")
    [marked] = history(deployment, "whitelist", "http://localhost/a")
    assert marked["entry"] == {"mark": "whitelisted"}
    assert ended(deployment, "/a", 30) == {"unverified": 30}
    history(deployment, "blacklist", "http://localhost/a", "http://localhost/b")
    assert ended(deployment, "/a", 5) == {"replicated": 5}
    assert ended(deployment, "/b", 5) == {"replicated": 5}
    result = run_program("prophecyctl", "history", "forget", "http://localhost/a", "--admin",
                         deployment.sketcher.admin)
    assert result.returncode == 1 and "carries a mark" in result.stderr
    deployment.origins[1].write("/a", b"a")
    for path in ("/a", "/b"):
        [unmarked] = history(deployment, "unmark", f"http://localhost{path}")
        assert unmarked["entry"] is None
        assert ended(deployment, path, 5) == {"replicated": 1, "fast": 4}
    [forgotten] = history(deployment, "forget", "http://localhost/a")
    assert forgotten["entry"] is None
    assert ended(deployment, "/a", 5) == {"replicated": 1, "fast": 4}
    log = deployment.sketcher.child.log()
    assert log.count("history-marked") == 5 and log.count("history-forgotten") == 1
    # A refused request has no entry to mark.
    result = run_program("prophecyctl", "history", "whitelist", "http://localhost/a#b", "--admin",
                         deployment.sketcher.admin)
    assert result.returncode == 1 and "such a request is refused" in result.stderr


def test_top_and_stats():
    with Deployment(content=CONTENT, sketcher_changes={"sketcher": {"workers": 2}}) as deployment:
        for version in range(6):
            for path in ("/a", "/b", "/c"):
                ended(deployment, path, 4)
            for origin in deployment.origins:
                origin.write("/a", f"a{version}".encode())
                if version % 2:
                    origin.write("/b", f"b{version}".encode())
        top = history(deployment, "top")
        assert [request["url"] for request in top] == ["localhost/a", "localhost/b"]
        assert [request["transitions"] for request in top] == [5, 2]
        [first] = history(deployment, "top", "--count", "1")
        assert (first["url"], first["transitions"]) == ("localhost/a", 5)
        assert {request["blacklisted_by"] for request in top} == {0}
        told = history(deployment, "stats")
        [route] = told["routes"]
        assert (route["reads"], route["transitions"]) == (72, 7)
        assert route["hits"] == 72 - 3 - 7
        assert route["hit_ratio"] == pytest.approx(62 / 72)
        assert route["transition_ratio"] == pytest.approx(7 / 72)
        assert told["table"]["entries"] == 3
        assert told["table"]["load"] == pytest.approx(3 / told["table"]["capacity"])
        assert told["activity"]["records"] >= 3
        assert (told["table"]["floors"], told["table"]["floors_raised"]) == (1 << 16, 0)
        assert curl(deployment.url + "/a", "-X", "PUT", "--data-binary", "x").status == 204
        assert history(deployment, "stats")["table"]["floors_raised"] == 1 / (1 << 16)
        for command in ("top", "stats"):
            assert ctl("history", command, "--admin", deployment.sketcher.admin)


@pytest.mark.parametrize("arguments", [
    ("history", "get", "http://localhost/\udcff"),
    ("history", "blacklist", "http://localhost/a", "-H", "Accept: \udcff"),
    ("history", "get", "http://localhost/a", "--client", "\udcff"),
    ("route", "\udcff", "off"),
    ("origin", "set", "default/1", "drain", "--reason", "\udcff"),
])
def test_what_is_no_utf8(deployment, arguments):
    result = run_program("prophecyctl", *arguments, "--admin", deployment.sketcher.admin)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "prophecyctl: expected arguments in UTF-8\n"


@pytest.mark.parametrize("arguments, told", [
    (("get", "/a"), "expected a URL"),
    (("get", "ftp://localhost/a"), "expected a URL"),
    (("get", "http://localhost/a", "--client", "me"), "expected the client to be an IP address"),
])
def test_what_is_no_request(deployment, arguments, told):
    result = run_program("prophecyctl", "history", *arguments, "--admin", deployment.sketcher.admin)
    assert (result.returncode, result.stdout) == (1, "")
    assert told in result.stderr
