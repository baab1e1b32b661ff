"""Sketchers that find each other in ZooKeeper, in front of four Apaches with agents: members join, drain, die,
and are stopped, while clients at all of them read and write. What clients see is delay-once linearizable
(docs/consistency.md), and no request fails but those that a dead member had, or that waited for one."""

import os
import re
import signal
import threading
import time

import pytest

from harness.build import patience
from harness.http_client import curl as plain_curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.recording_clients import checked_clients
from harness.ring import LivingRing

INITIAL = "initial"
PAGES = [f"/p{number}" for number in range(12)]
LEASE_S = 1


def curl(url, *options, **arguments):
    return plain_curl(url, "-H", "Host: localhost", *options, **arguments)


@pytest.fixture(name="ring", scope="module")
def make_ring():
    with LivingRing(members=["a", "b", "c", "d"], present=["a", "b", "c"], lease=f"{LEASE_S}s",
                    content={page: INITIAL for page in PAGES}, ring_changes={"owner_wait": "15s"},
                    sketcher_changes={"group": {"deadline": "3s"}}) as ring:
        yield ring


def owners(ring, name="a"):
    return {each["name"]: each["partitions"] for each in ring.ring(name)["members"]}


def clients_of(ring, names, tmp_path):
    return checked_clients([ring.members[name].port for name in names], PAGES, INITIAL, tmp_path / "history")


@pytest.fixture(name="pages", autouse=True)
def begin_anew(ring):
    """Each history begins with the same contents."""
    for page in PAGES:
        assert curl(ring.members["a"].url + page, "-X", "PUT", "--data-binary", INITIAL).status in (200, 201, 204)


def test_members_share_the_history(ring):
    counts = owners(ring)
    assert sorted(counts) == ["a", "b", "c"] and sum(counts.values()) == 4096
    assert min(counts.values()) > 1200
    for page in PAGES:
        for name in ring.present:
            assert curl(ring.members[name].url + page).body == INITIAL.encode()
    fast = sum(ring.members[name].counters()["fast"] for name in ring.present)
    assert fast >= len(PAGES)
    shown = run_program("prophecyctl", "ring", "--admin", ring.members["a"].admin)
    assert shown.returncode == 0 and re.match(r"a: member, view \d+, lease for \d+ of 1000 ms\n", shown.stdout)


def test_a_member_joins_and_drains_without_a_failed_request(ring, tmp_path):
    with clients_of(ring, ["a", "b", "c"], tmp_path) as clients:
        time.sleep(0.6)
        ring.members["d"].start()
        ring.wait_settled(["a", "b", "c", "d"])
        assert owners(ring)["d"] > 900
        time.sleep(0.6)
        ring.drain("b")
        ring.wait_settled(["a", "b", "c", "d"], owners=["a", "c", "d"])
        assert owners(ring)["b"] == 0
        time.sleep(0.6)
        ring.rejoin("b")
        ring.wait_settled(["a", "b", "c", "d"])
        time.sleep(0.6)
        # It leaves when it is told to stop.
        ring.members["d"].stop()
        ring.wait_settled(["a", "b", "c"])
        time.sleep(0.6)
    assert clients.failures == []


def test_entries_are_handed_over(ring):
    """A new owner begins warm."""
    for _ in range(2):
        for page in PAGES:
            assert curl(ring.members["a"].url + page).status == 200
    before = {name: ring.members[name].counters()["replicated"] for name in ("a", "b", "c")}
    ring.drain("b")
    ring.wait_settled(["a", "b", "c"], owners=["a", "c"])
    for page in PAGES:
        assert curl(ring.members["b"].url + page).status == 200
    after = {name: ring.members[name].counters()["replicated"] for name in ("a", "b", "c")}
    assert after == before
    ring.rejoin("b")
    ring.wait_settled(["a", "b", "c"])


def floors_raised(ring, name):
    return sum(member["floors_raised"] for member in ring.members[name].status()["ring"]["members"])


def test_a_write_that_moves_keeps_its_answer(ring):
    """Its answer waits until the new owner has raised the floor, and it is not sent again."""
    owned = []
    for page in (f"/moved-{number}" for number in range(100)):  # each is b's by a chance of a third
        before = ring.members["b"].counters()["writes"]
        assert curl(ring.members["a"].url + page, "-X", "PUT", "--data-binary", "mine").status in (200, 201, 204)
        if ring.members["b"].counters()["writes"] > before:
            owned.append(page)
        if len(owned) == 4:
            break
    assert len(owned) == 4
    raised_before = floors_raised(ring, "b")  # drains of earlier tests may have moved writes, too
    for agent in ring.agents:
        agent.child.signal(signal.SIGSTOP)
    results = []
    writers = [threading.Thread(target=lambda page=page: results.append(
        curl(ring.members["a"].url + page, "-X", "PUT", "--data-binary", "moved").status)) for page in owned]
    for writer in writers:
        writer.start()
    time.sleep(0.3)
    ring.drain_at_once("b")
    wait_until(lambda: owners(ring)["b"] == 0 and ring.ring("b")["adopted_view"] == ring.ring("a")["view"], 5,
               "the move")
    for agent in ring.agents:
        agent.child.signal(signal.SIGCONT)
    for writer in writers:
        writer.join()
    assert set(results) <= {200, 201, 204}
    for page in owned:
        for name in ("a", "b", "c"):
            assert curl(ring.members[name].url + page).body == b"moved"
    assert floors_raised(ring, "b") - raised_before == len(owned)
    ring.wait_settled(["a", "b", "c"], owners=["a", "c"])
    ring.rejoin("b")
    ring.wait_settled(["a", "b", "c"])


def test_a_killed_member(ring, tmp_path):
    """What it owned waits until its lease is over. Its clients' requests are lost with it, and those that it was
    carrying out for others."""
    with clients_of(ring, ["a", "b"], tmp_path) as clients:
        time.sleep(0.6)
        killed = time.monotonic()
        ring.members["c"].kill()
        ring.wait_settled(["a", "b"])
        settled = time.monotonic()
        time.sleep(0.6)
    ring.members["c"].start()
    ring.wait_settled(["a", "b", "c"])
    assert settled - killed < (LEASE_S + 2) * patience()
    for kind, _, _, problem, begin, _ in clients.failures:
        assert kind == "publish" and problem == "502 uncertain-write" and abs(begin - killed) < 1 * patience()


def test_a_member_stopped_beyond_its_lease(ring, tmp_path):
    """It goes on as it was stopped, with answers that it may not give any more."""
    with clients_of(ring, ["a", "b", "c"], tmp_path) as clients:
        time.sleep(0.6)
        stopped = time.monotonic()
        ring.members["c"].child.freeze()
        time.sleep(2.5 * LEASE_S)
        ring.members["c"].child.thaw()
        ring.wait_settled(["a", "b", "c"])
        time.sleep(0.6)
    # Writes that it had when it was stopped are answered late, or by nobody in time.
    for kind, port, _, problem, begin, _ in clients.failures:
        was_there = port == ring.members["c"].port or kind == "publish"
        assert was_there and begin - stopped < 2.5 * LEASE_S + 1, (kind, port, problem, begin - stopped)


def test_zookeeper_restarts(ring, tmp_path):
    """For less than a lease nobody notices; beyond that requests wait, and then go on."""
    with clients_of(ring, ["a", "b", "c"], tmp_path) as clients:
        time.sleep(0.5)
        ring.zookeeper.kill()
        time.sleep(2 * LEASE_S)
        assert ring.ring("a")["lease_ms_left"] == 0
        ring.zookeeper.start()
        ring.wait_settled(["a", "b", "c"])
        time.sleep(0.6)
    assert clients.failures == []


def test_the_rings_process_is_replaced(ring, tmp_path):
    with clients_of(ring, ["a", "b", "c"], tmp_path) as clients:
        time.sleep(0.5)
        log = ring.members["b"].child.log()
        pid = int(re.findall(r"ring-started.*?pid=(\d+)", log)[-1])
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: ring.members["b"].child.log().count("ring-started") > log.count("ring-started"), 10,
                   "another process of the ring")
        ring.wait_settled(["a", "b", "c"])
        time.sleep(0.6)
    assert clients.failures == []
