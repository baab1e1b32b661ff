"""Members that number answers by themselves, since their group has no order, or there are several groups, hand
over what they remember all the same: a new owner starts warm, and what was written before still counts."""

import pytest

from harness.http_client import curl as plain_curl
from harness.ring import LivingRing

PAGES = [f"/{folder}/p{number}" for folder in ("plain", "agreed") for number in range(12)]
WRITTEN = PAGES[::4]


def curl(member, page, *options):
    return plain_curl(member.url + page, "-H", "Host: localhost", *options)


def without_order(ring):
    for member in ring.members.values():
        origin = member.settings["group"][0]["origin"]
        member.settings["group"] = [{"name": "plain", "kind": "vote", "faults": 1, "writes": "all", "origin": origin}]
        member.write_configuration()


def two_groups(ring):
    for member in ring.members.values():
        group = member.settings["group"][0]
        plain = {"name": "plain", "kind": "vote", "faults": 1, "writes": "all", "origin": group["origin"]}
        member.settings["group"] = [plain, {**group, "name": "agreed"}]
        member.settings["route"] = [
            {"name": "plain", "path_prefix": "/plain", "group": "plain", "slow_path_per_client_second": 0},
            {"name": "agreed", "group": "agreed", "reads": "delay-once", "slow_path_per_client_second": 0}]
        member.write_configuration()


@pytest.fixture(name="ring", params=[without_order, two_groups], ids=["without order", "two groups"])
def make_ring(request):
    with LivingRing(members=["a", "b", "c"], lease="1s", content=dict.fromkeys(PAGES, "initial"),
                    agents=request.param is two_groups, start=False) as ring:
        request.param(ring)
        ring.start()
        yield ring


def replicated(ring):
    return sum(member.counters()["replicated"] for member in ring.members.values())


def check_contents(ring, names):
    for name in names:
        for page in PAGES:
            assert curl(ring.members[name], page).body == (b"written" if page in WRITTEN else b"initial"), page


def test_a_new_owner_starts_warm(ring):
    for _ in range(2):
        for page in PAGES:
            assert curl(ring.members["a"], page).status == 200
    for page in WRITTEN:
        assert curl(ring.members["a"], page, "-X", "PUT", "--data-binary", "written").status < 300
    for _ in range(2):
        check_contents(ring, "abc")
    before = replicated(ring)
    check_contents(ring, "abc")
    assert replicated(ring) == before
    ring.drain("b")
    ring.wait_settled(["a", "b", "c"], owners=["a", "c"])
    check_contents(ring, "abc")
    assert replicated(ring) == before
    # And back; what is written now is newer than what comes.
    ring.rejoin("b")
    ring.wait_settled(["a", "b", "c"])
    check_contents(ring, "abc")
    assert replicated(ring) == before
    for page in PAGES[1::4]:
        assert curl(ring.members["c"], page, "-X", "PUT", "--data-binary", "newer").status < 300
        assert {curl(ring.members[name], page).body for name in "abc"} == {b"newer"}
