"""What a member's history table has kept is of its own partitions. Where others owned some of them meanwhile, it
counts no more: an origin that lags would have clients get what is older than a write that was answered."""

import json

import pytest

from harness.http_client import curl as plain_curl
from harness.ring import LivingRing, RingDeployment

PAGES = [f"/p{number}" for number in range(12)]
OPTIONS = {"content": dict.fromkeys(PAGES, "first"),
           "sketcher_changes": {"table": {"size": "8MiB", "file": "history.table"}, "log": {"format": "json"}}}


def curl(member, page, *options):
    return plain_curl(member.url + page, "-H", "Host: localhost", *options)


def read_all(member):
    return {curl(member, page).body for page in PAGES}


def write_all(member):
    for page in PAGES:
        assert curl(member, page, "-X", "PUT", "--data-binary", "second").status in (200, 201, 204)


def stop_all(ring):
    for member in ring.members.values():
        member.stop()


def emptied(member):
    lines = (member.folder / "sketcher.log").read_text().splitlines()
    return [event["reason"] for event in map(json.loads, lines) if event["event"] == "table-emptied"]


def let_one_origin_lag(ring):
    for page in PAGES:
        ring.origins[0].write(page, b"first")


def leave(member):
    ring = member.settings.pop("ring")
    member.write_configuration()
    return ring


def test_a_list_that_has_changed_begins_cold():
    with RingDeployment(start=False, **OPTIONS) as ring:
        ring.origins.start()
        ring.agents.start()
        a, b = ring.members["a"], ring.members["b"]
        listed = leave(a)
        a.start()
        assert read_all(a) == {b"first"}
        a.stop()
        a.settings["ring"] = listed
        a.write_configuration()
        for member in (a, b):
            member.start()
        write_all(a)
        assert read_all(b) == {b"second"}
        # As it was, it begins warm.
        stop_all(ring)
        for member in (a, b):
            member.start()
        assert read_all(a) == {b"second"}
        assert sum(member.counters()["replicated"] for member in (a, b)) == 0
        assert (emptied(a), emptied(b)) == (["another ownership of keys"], [])
        stop_all(ring)
        leave(a)
        let_one_origin_lag(ring)
        a.start()
        for _ in range(5):
            assert read_all(a) == {b"second"}
        assert emptied(a) == ["another ownership of keys"] * 2


@pytest.mark.parametrize("is_killed", [False, True])
def test_who_leaves_a_living_ring_begins_cold(is_killed):
    """b takes all from a. If a was killed, it has not erased what b took."""
    with LivingRing(members=["a", "b"], lease="1s", **OPTIONS) as ring:
        a, b = ring.members["a"], ring.members["b"]
        assert read_all(a) == {b"first"}
        a.kill() if is_killed else a.stop()
        ring.wait_settled(["b"])
        write_all(b)
        b.stop()
        let_one_origin_lag(ring)
        leave(a)
        a.start()
        for _ in range(5):
            assert read_all(a) == {b"second"}
        assert emptied(a) == ["another ownership of keys"]
