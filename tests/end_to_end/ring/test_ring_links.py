"""Connections between members that end: a request that was not begun is made again, also if it is a write; a read
that was, as often as there are connections."""

import os
import re
import signal
import threading
import time

from harness.http_client import curl as plain_curl
from harness.processes import wait_until
from harness.ring import LivingRing, RingDeployment

PAGES = [f"/p{number}" for number in range(6)]
REASON = "TLS: not a member of the ring"


def curl(member, path, *options):
    return plain_curl(member.url + path, "-H", "Host: localhost", *options, timeout_s=40)


def ring_process(member):
    return int(re.findall(r"ring-started.*?pid=(\d+)", member.child.log())[-1])


def refusals(ring, names):
    return sum(ring.members[name].status()["refusals"].get(REASON, 0) for name in names)


def test_requests_of_a_member_that_the_others_no_longer_know_wait():
    """c is stopped beyond its lease. Its ring process goes on later than the rest, which forwards by the view of
    before. TLS 1.3 has c's side of a handshake end before the other side looks at the certificate."""
    with LivingRing(members=["a", "b", "c"], lease="1s", content={page: "first" for page in PAGES},
                    ring_changes={"owner_wait": "25s"}) as ring:
        c = ring.members["c"]
        process, workers = ring_process(c), c.workers()
        c.child.freeze()
        ring.wait_settled(["a", "b"])
        # The next one has no connection to the others yet.
        for worker in workers:
            os.kill(worker, signal.SIGKILL)
        before = refusals(ring, ["a", "b"])
        results = {}

        def ask(page, *options):
            results[page] = curl(c, page, *options).status

        asking = [threading.Thread(target=ask, args=(page, *options)) for page, options in
                  [(page, ("-X", "PUT", "--data-binary", "second")) for page in PAGES[:4]] +
                  [(page, ()) for page in PAGES[4:]]]
        try:
            os.kill(c.child.pid, signal.SIGCONT)
            for thread in asking:
                thread.start()
            wait_until(lambda: refusals(ring, ["a", "b"]) > before + 6, 20, "refused connections")
            time.sleep(0.5)
            assert results == {}
        finally:
            os.kill(process, signal.SIGCONT)
            c.child.thaw()
        for thread in asking:
            thread.join()
        assert set(results.values()) <= {200, 201, 204}
        assert sum(each["handshakes_failed"] for each in c.status()["ring"]["members"]) > 6
        ring.wait_settled(["a", "b", "c"])
        for name in ring.names:
            assert [curl(ring.members[name], page).body for page in PAGES] == [b"second"] * 4 + [b"first"] * 2


def owned_by_other(ring, asked, owner):
    """A target that the owner has a part in, found without the history remembering anything of it."""
    for number in range(100):
        target = f"/p0?{number}"
        before = ring.forwarded(asked)[owner]["answered"]
        curl(ring.members[asked], target, "-X", "OPTIONS")
        if ring.forwarded(asked)[owner]["answered"] > before:
            return target
    raise AssertionError(f"{owner} owns nothing")


def test_a_read_is_made_again_as_often_as_there_are_connections():
    workers = 3
    with RingDeployment(members=["a", "b"], workers=workers, content={"/p0": "first"}, sketcher_changes={
            "ring": {"owner_wait": "60s"}, "group": {"deadline": "60s"}, "timeouts": {"total": "60s"}}) as ring:
        b = ring.members["b"]
        target = owned_by_other(ring, "a", "b")
        for agent in ring.agents:
            agent.child.signal(signal.SIGSTOP)
        results = []
        reading = threading.Thread(target=lambda: results.append(curl(ring.members["a"], target)))
        try:
            begun = b.counters()["reads"]
            reading.start()
            for count in range(1, workers + 1):
                wait_until(lambda count=count: b.counters()["reads"] >= begun + count, 20, "the read at its owner")
                for worker in b.workers():
                    os.kill(worker, signal.SIGKILL)
            wait_until(lambda: b.counters()["reads"] > begun + workers, 20, "the last one")
            assert results == []
        finally:
            for agent in ring.agents:
                agent.child.signal(signal.SIGCONT)
            reading.join()
        assert (results[0].status, results[0].body) == (200, b"first")
        assert ring.forwarded("a")["b"]["lost"] == workers
