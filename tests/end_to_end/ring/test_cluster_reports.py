"""The status and the metrics of all members of a ring, from any of them, each member's and added up."""

import json
import re
import time

import pytest

from harness.http_client import curl as plain_curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.replicas import ctl, ctl_json
from harness.ring import LivingRing, RingDeployment

NAMES = ["a", "b", "c"]
PAGES = [f"/p{number}" for number in range(24)]
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")


def curl(member, path):
    return plain_curl(member.url + path, "-H", "Host: localhost")


def samples(page):
    """{name: {labels: value}}."""
    found = {}
    for line in page.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.fullmatch(line).groups()
            found.setdefault(name, {})[labels or ""] = float(value)
    return found


def own_metrics(ring, name):
    return samples(ctl("metrics", "--admin", ring.members[name].admin))


def cluster(ring, command, name, *options):
    return run_program("prophecyctl", command, "--cluster", "--admin", ring.members[name].admin, *options)


@pytest.fixture(scope="module", name="ring")
def _ring():
    with LivingRing(members=NAMES, content=dict.fromkeys(PAGES, b"text"), workers=2) as ring:
        for page in PAGES:
            for name in NAMES:
                assert curl(ring.members[name], page).status == 200
        yield ring


def test_the_status_of_all_members_is_added_up(ring):
    own = {name: ring.members[name].status() for name in NAMES}
    for name in NAMES:
        status = ctl_json("status", "--cluster", "--json", "--admin", ring.members[name].admin)
        assert [each["name"] for each in status["members"]] == NAMES
        assert all(each["problem"] is None and each["state"] == "member" for each in status["members"])
        assert sum(each["partitions"] for each in status["members"]) == 4096
        assert [each["reads"] for each in status["members"]] == [own[each]["requests"]["reads"] for each in NAMES]
        # What clients have asked for: what was forwarded counts at both members.
        total = status["total"]["requests"]
        assert total["reads"] - total["forwarded"] == len(NAMES) * len(PAGES)
        assert total["forwarded"] > 0
        for count in ("reads", "fast", "replicated", "failed"):
            assert total[count] == sum(own[each]["requests"][count] for each in NAMES)
        assert status["total"]["history"]["entries"] == sum(own[each]["history"]["entries"] for each in NAMES)
        assert [each["name"] for each in status["routes"]] == [each["name"] for each in own["a"]["routes"]]
        assert len(status["origins"]) == 4
        assert {each["state"] for each in status["origins"]} == {"ready"}
        assert sum(each["fast_answers"] for each in status["origins"]) == sum(
            each["fast_answers"] for member in own.values() for each in member["origins"])
        assert sorted(status["statuses"]) == NAMES
        assert status["statuses"]["b"]["workers"][0]["pid"] == own["b"]["workers"][0]["pid"]
    text = ctl("status", "--cluster", "--admin", ring.members["b"].admin)
    for part in ("\nmembers\n", "\nroutes\n", "\norigins\n", "requests: reads"):
        assert part in text


def test_the_metrics_of_all_members_are_added_up(ring):
    before = {name: own_metrics(ring, name) for name in NAMES}
    result = cluster(ring, "metrics", "c")
    after = {name: own_metrics(ring, name) for name in NAMES}
    assert (result.returncode, result.stderr) == (0, "")
    total = samples(result.stdout)
    assert set(total) == set().union(*before.values())
    for name, series in total.items():
        if name.endswith("_total"):
            # (Members go on counting their leases, checks and pages meanwhile.)
            least, most = (sum(sum(own[each][name].values()) for each in NAMES) for own in (before, after))
            assert least - 1e-6 <= sum(series.values()) <= most + 1e-6, name
            assert not any("worker=" in labels for labels in series)
        else:
            assert set(series) == {f'of_member="{member}"' + (f",{labels}" if labels else "")
                                   for member in NAMES for labels in before[member][name]}, name
    received = total["prophecy_requests_received_total"]
    reads = sum(value for labels, value in received.items() if 'kind="read"' in labels)
    forwarded = sum(value for labels, value in total["prophecy_requests_total"].items() if 'path="forwarded"' in labels)
    assert reads - forwarded == len(NAMES) * len(PAGES)
    assert result.stdout.count("# TYPE prophecy_requests_total counter") == 1


def test_a_member_that_says_nothing_is_named_and_holds_nobody_up(ring):
    ring.members["c"].child.freeze()
    try:
        # Its lease ends, but the view has it until its session is over.
        begin = time.monotonic()
        result = cluster(ring, "status", "a", "--json")
        took = time.monotonic() - begin
    finally:
        ring.members["c"].child.thaw()
    status = json.loads(result.stdout)
    others = {each["name"]: each for each in status["members"] if each["name"] != "c"}
    assert all(each["problem"] is None and each["reads"] > 0 for each in others.values())
    assert took < 6
    assert result.returncode == 1
    assert "member c is left out: no answer within 3 s" in result.stderr
    assert [each["problem"] for each in status["members"] if each["name"] == "c"] == ["no answer within 3 s"]
    ring.wait_settled(NAMES)


def test_a_member_that_has_died_is_named(ring):
    ring.members["b"].kill()
    try:
        result = cluster(ring, "metrics", "a")
        assert result.returncode == 1
        assert "member b is left out: it cannot be reached" in result.stderr
        assert 'of_member="c"' in result.stdout and 'of_member="b"' not in result.stdout
        ring.wait_settled(["a", "c"])
        assert cluster(ring, "metrics", "a").returncode == 0
    finally:
        ring.members["b"].start()
        ring.wait_settled(NAMES)
    wait_until(lambda: cluster(ring, "status", "b").returncode == 0, 10, "all members answer")


def test_without_zookeeper_each_member_has_its_own():
    vote = {"name": "site", "kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None,
            "key_file": None}
    with RingDeployment(members=["a", "b"], agents=False, sketcher_changes={"group": vote}) as ring:
        result = cluster(ring, "status", "a")
        assert result.returncode == 1
        assert "no member of a ring with ZooKeeper" in result.stderr
        assert "prophecy_requests_total" in own_metrics(ring, "b")
