"""Requests to agents name the ring's view: agents refuse writes of older views, and what becomes of these."""

import os
import re
import signal
import threading
import time

from harness.http_client import curl as plain_curl
from harness.processes import wait_until
from harness.ring import LivingRing

PAGES = [f"/p{number}" for number in range(60)]


def curl(member, path, *options):
    return plain_curl(member.url + path, "-H", "Host: localhost", *options)


def write(member, path, body):
    return curl(member, path, "-X", "PUT", "--data-binary", body)


def make_ring(**options):
    return LivingRing(content={page: "initial" for page in PAGES}, **options)


def epochs(ring):
    return {agent.status()["progress"]["epoch"] for agent in ring.agents}


def refused_by_epoch(ring):
    return max(agent.status()["executor"]["refused_by_epoch"] for agent in ring.agents)


def ring_process(member):
    return int(re.findall(r"ring-started.*?pid=(\d+)", member.child.log())[-1])


def test_a_write_of_an_older_view_is_refused_and_goes_to_the_owner_of_then():
    """b's ring process stands still, within its lease, while c joins: b's workers go by the old view."""
    with make_ring(members=["a", "b", "c"], present=["a", "b"], lease="30s",
                   ring_changes={"owner_wait": "25s"}) as ring:
        a, b = ring.members["a"], ring.members["b"]
        for page in PAGES:
            assert write(a, page, "first").status < 300
        view = ring.ring("a")["view"]
        wait_until(lambda: epochs(ring) == {view}, 10, "the view at the agents")
        owned = []  # by b
        for page in PAGES:
            before = b.counters()["replicated"]
            assert write(b, page, "first").status < 300
            owned += [page] if b.counters()["replicated"] > before else []
        assert len(owned) > 10

        process = ring_process(b)
        os.kill(process, signal.SIGSTOP)
        try:
            ring.members["c"].start()
            wait_until(lambda: ring.ring("a")["adopted_view"] > view, 20, "the next view")
            # What a owns, it goes on with; the agents know its view then. (What c gets may wait for b.)
            others = [threading.Thread(target=write, args=(a, page, "second")) for page in PAGES if page not in owned]
            for other in others:
                other.start()
            wait_until(lambda: min(epochs(ring)) > view, 20, "a write of the next view")
            results = {}

            def write_all():
                for page in owned:
                    results[page] = write(b, page, "third").status

            writer = threading.Thread(target=write_all)
            writer.start()
            wait_until(lambda: refused_by_epoch(ring) > 0, 10, "a refusal")
            time.sleep(1)
            # Once for the write, not with each look.
            assert refused_by_epoch(ring) == 1 and results == {}
        finally:
            os.kill(process, signal.SIGCONT)
        for thread in (writer, *others):
            thread.join()
        assert set(results.values()) <= {200, 201, 204}
        ring.wait_settled(["a", "b", "c"])
        for page in owned:
            for name in ("a", "b", "c"):
                assert curl(ring.members[name], page).body == b"third"


def test_views_that_begin_anew():
    """Without their nodes in ZooKeeper, agents refuse writes until the ring begins beyond what they have seen."""
    with make_ring(members=["a", "b"], lease="1s", ring_changes={"owner_wait": "1s", "first_view": 7}) as ring:
        a = ring.members["a"]
        assert ring.ring("a")["view"] >= 7
        assert write(a, "/p1", "first").status < 300
        newest = ring.ring("a")["view"]
        for name in ring.names:
            ring.members[name].kill()
            ring.members[name].settings["ring"].update(root="/another", first_view=1)
            ring.members[name].write_configuration()
        for name in ring.names:
            ring.members[name].start()
        # Nobody takes a partition: another ring may be the right one.
        wait_until(lambda: re.search("ring-view-refused.*view-too-old", a.child.log()), 20, "the refusal of a barrier")
        assert ring.ring("a")["view"] < newest
        for refused in (write(a, "/p1", "second"), curl(a, "/p1")):
            assert (refused.status, refused.field("prophecy-reason")) == (503, "owner-unavailable")
        for name in ring.names:
            ring.members[name].kill()
            ring.members[name].settings["ring"].update(root="/third", first_view=newest + 1)
            ring.members[name].write_configuration()
        for name in ring.names:
            ring.members[name].start()
        ring.wait_settled(["a", "b"])
        assert ring.ring("a")["view"] > newest
        assert write(a, "/p1", "second").status < 300
        for name in ring.names:
            assert curl(ring.members[name], "/p1").body == b"second"
        # Too far ahead is no way to lock the others out.
        for name in ring.names:
            ring.members[name].kill()
            ring.members[name].settings["ring"].update(root="/fourth", first_view=2 ** 40)
            ring.members[name].write_configuration()
        a.start()
        wait_until(lambda: re.search("ring-view-refused.*view-too-new", a.child.log()), 20, "the refusal of a barrier")
        assert write(a, "/p1", "third").status == 503
        assert max(epochs(ring)) < 2 ** 20
        assert all(agent.status()["core"]["epochs_too_far"] > 0 for agent in ring.agents)


def test_of_several_groups_each_with_agents_orders_a_barrier():
    """Nobody sends a request: the view gets to the agents by the barriers of who takes partitions alone."""
    with make_ring(members=["a", "b"], present=["a"], lease="1s", start=False) as ring:
        for member in ring.members.values():
            group = member.settings["group"][0]
            plain = {"name": "plain", "kind": "vote", "faults": 1, "origin": group["origin"]}
            member.settings["group"] = [plain, {**group, "name": "agreed"}]
            member.settings["route"] = [{"name": "plain", "path_prefix": "/plain", "group": "plain"},
                                        {"name": "agreed", "group": "agreed", "reads": "delay-once"}]
            member.write_configuration()
        ring.start()
        view = ring.ring("a")["view"]
        wait_until(lambda: epochs(ring) == {view}, 10, "the first view at the agents")
        ring.members["b"].start()
        ring.wait_settled(["a", "b"])
        newest = ring.ring("b")["view"]
        assert newest > view
        wait_until(lambda: epochs(ring) == {newest}, 10, "the next view at the agents")
        assert write(ring.members["b"], "/p1", "written").status < 300
        assert curl(ring.members["a"], "/p1").body == b"written"
