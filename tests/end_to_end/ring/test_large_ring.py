"""The whole of it: ZooKeeper, three sketchers that take requests and four that own the history, four Apaches with
agents; and one history of readers and writers, through all that can befall a member. It is delay-once
linearizable (docs/consistency.md), and no request fails but writes that a member had when it was killed,
stopped or cut off."""

import time

import pytest

from harness.apart import MachineApart
from harness.build import patience
from harness.cables import why_impossible
from harness.processes import wait_until
from harness.recording_clients import checked_clients
from harness.ring import LivingRing

INITIAL = "initial"
PAGES = [f"/p{number}" for number in range(24)]
LEASE_S = 1
FRONTS = ["f1", "f2", "f3"]
OWNERS = ["o1", "o2", "o3", "o4"]
ROLES = {**dict.fromkeys(FRONTS, "request"), **dict.fromkeys(OWNERS, "response")}
PAUSE_S = 2.5


class Story:
    """What befalls the ring, and the times in which writes may fail for it."""

    def __init__(self, ring):
        self.ring = ring
        self.windows = []

    def settle(self, owners):
        self.ring.wait_settled([*FRONTS, *owners], owners=owners, timeout_s=90)
        time.sleep(PAUSE_S)

    def harm(self, what, seconds):
        """Writes that begin from now on, for so long, may be lost with the member."""
        begin = time.monotonic()
        self.windows.append((what, begin - 4, begin + seconds * patience()))

    def excuses(self, failure):
        kind, _, _, _, begin, _ = failure
        return kind == "publish" and any(first <= begin <= last for _, first, last in self.windows)


def partitions(ring, name):
    return next(each["partitions"] for each in ring.ring("f1")["members"] if each["name"] == name)


def join_and_drain(story):
    ring = story.ring
    ring.members["o4"].start()
    story.settle(OWNERS)
    assert partitions(ring, "o4") > 900
    ring.drain("o1")
    story.settle(["o2", "o3", "o4"])
    assert partitions(ring, "o1") == 0
    ring.rejoin("o1")
    story.settle(OWNERS)


def kill(story):
    story.harm("killed", 1)
    story.ring.members["o2"].kill()
    story.settle(["o1", "o3", "o4"])
    story.ring.members["o2"].start()
    story.settle(OWNERS)


def stop(story):
    """For longer than its lease: it goes on with answers that it may not give any more."""
    child = story.ring.members["o3"].child
    story.harm("stopped", 3 * LEASE_S + 1)
    child.freeze()
    time.sleep(3 * LEASE_S)
    child.thaw()
    story.settle(OWNERS)


def cut_off(story, machine):
    """Nobody is told. It has a lease when it is cut off, and none when it is back."""
    story.harm("cut off", 2 * LEASE_S + 2)
    machine.cut()
    story.settle(["o1", "o2", "o3"])
    assert story.ring.ring("o4")["lease_ms_left"] == 0
    machine.mend()
    story.settle(OWNERS)


def exchange(story, name, program):
    member = story.ring.members[name]
    member.stop()
    member.program = program
    member.start()
    story.settle(OWNERS)


def restart_zookeeper(story):
    story.ring.zookeeper.kill()
    time.sleep(2 * LEASE_S)
    assert story.ring.ring("o1")["lease_ms_left"] == 0
    story.ring.zookeeper.start()
    story.settle(OWNERS)


@pytest.mark.long
@pytest.mark.skipif(why_impossible() is not None, reason=str(why_impossible()))
def test_a_large_ring(tmp_path):
    with LivingRing(members=[*FRONTS, *OWNERS], present=[*FRONTS, "o1", "o2", "o3"], roles=ROLES, start=False,
                    lease=f"{LEASE_S}s", content={page: INITIAL for page in PAGES},
                    ring_changes={"owner_wait": "20s"}, sketcher_changes={"group": {"deadline": "3s"}}) as ring:
        story = Story(ring)
        theirs = [*ring.member_ports["o4"], ring.hand_over_ports["o4"]]
        ours = [ring.zookeeper.port, *(origin.port for origin in ring.origins),
                *(agent.agent_port for agent in ring.agents),
                *(port for name in [*FRONTS, *OWNERS[:3]]
                  for port in (*ring.member_ports[name], ring.hand_over_ports[name]))]
        with MachineApart(ours, theirs) as machine:
            ring.members["o4"].wrapper = machine.on()
            ring.zookeeper.start()
            ring.origins.start()
            ring.agents.start()
            for name in ring.present:
                ring.members[name].start()
            ring.wait_settled(ring.present, owners=OWNERS[:3])
            with checked_clients([ring.members[name].port for name in FRONTS], PAGES, INITIAL, tmp_path / "history",
                                 clients=6, pause_s=0.02) as clients:
                time.sleep(PAUSE_S)
                join_and_drain(story)
                kill(story)
                stop(story)
                cut_off(story, machine)
                exchange(story, "o1", "prophecy-sketcher-next")
                exchange(story, "o1", "prophecy-sketcher")
                restart_zookeeper(story)
            print(f"{clients.operations()} operations, {len(clients.failures)} failed")
            assert [failure for failure in clients.failures if not story.excuses(failure)] == []
            assert clients.operations() > 2000
            for name in OWNERS:
                wait_until(lambda name=name: ring.ring(name)["problems"] == [], 10, "the end of what was reported")
            # Agents have seen each view that was written in, and no older one since.
            newest = ring.ring("f1")["view"]
            assert {agent.status()["progress"]["epoch"] for agent in ring.agents} <= set(range(1, newest + 1))
            for name in OWNERS:
                ring.members[name].wrapper = []
