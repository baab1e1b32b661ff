"""A ring whose members are exchanged for the next build, one after the other, and back, while clients read and
write. The next build speaks one step more of the members' protocol (dht/core/steps.hpp)."""

import re
import time

from harness.http_client import curl as plain_curl
from harness.ring import LivingRing
from harness.recording_clients import checked_clients

INITIAL = "initial"
PAGES = [f"/p{number}" for number in range(12)]
NAMES = ["a", "b", "c"]
OLD, NEXT = "prophecy-sketcher", "prophecy-sketcher-next"


def curl(member, path, *options):
    return plain_curl(member.url + path, "-H", "Host: localhost", *options)


def begin_anew(ring):
    for page in PAGES:
        assert curl(ring.members["a"], page, "-X", "PUT", "--data-binary", INITIAL).status in (200, 201, 204)


def exchange(ring, name, program, tmp_path):
    """Clients at the other members notice nothing."""
    begin_anew(ring)
    others = [ring.members[other].port for other in NAMES if other != name]
    with checked_clients(others, PAGES, INITIAL, tmp_path / "history", clients=3) as clients:
        time.sleep(0.4)
        ring.members[name].stop()
        ring.members[name].program = program
        ring.members[name].start()
        ring.wait_settled(NAMES)
        time.sleep(0.4)
    assert clients.failures == []


def test_members_are_exchanged_for_the_next_build_and_back(tmp_path):
    with LivingRing(members=NAMES, content={page: INITIAL for page in PAGES}, ring_changes={"owner_wait": "15s"},
                    sketcher_changes={"group": {"deadline": "3s"}}) as ring:
        assert {ring.ring(name)["step"] for name in NAMES} == {1}
        for count, name in enumerate(NAMES, 1):
            exchange(ring, name, NEXT, tmp_path)
            # As long as one member speaks the first step alone, that is what all go by.
            steps = {each["name"]: each["newest_step"] for each in ring.ring("a")["members"]}
            assert sorted(steps.values()) == [1] * (3 - count) + [2] * count
            assert {ring.ring(each)["step"] for each in NAMES} == {2 if count == 3 else 1}
        for name in NAMES:
            exchange(ring, name, OLD, tmp_path)
            assert {ring.ring(each)["step"] for each in NAMES} == {1}
        for page in PAGES:
            for name in NAMES:
                assert curl(ring.members[name], page).status == 200
        assert all(ring.members[name].counters()["fast"] > 0 for name in NAMES)
        # Nobody was refused for the steps that it speaks.
        for name in NAMES:
            assert not re.search("ring-problem.*steps", ring.members[name].child.log())
        # The newer ones leave, and the last one goes on by itself.
        ring.members["a"].stop()
        ring.members["a"].program = NEXT
        ring.members["a"].start()
        ring.wait_settled(NAMES)
        for name in ("b", "c"):
            ring.members[name].kill()
        ring.wait_settled(["a"])
        assert ring.ring("a")["step"] == 2
        ring.members["a"].kill()
        ring.members["b"].start()
        ring.wait_settled(["b"])
        assert ring.ring("b")["step"] == 1
        assert curl(ring.members["b"], PAGES[0]).status == 200
