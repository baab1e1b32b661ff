"""What a ring with ZooKeeper refuses, and how it goes on without ZooKeeper. The origins have no agents."""

import os
import re
import signal
import socket
import ssl
import time

import pytest

from harness.http_client import curl as plain_curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.ring import LivingRing, make_ring_keys
from harness.zookeeper import Driver

VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None, "key_file": None}
PAGES = {f"/pages/{number}": f"page {number}\n" for number in range(16)}


def curl(member, path, *options):
    return plain_curl(member.url + path, "-H", "Host: site", *options)


def votes(**options):
    changes = options.pop("sketcher_changes", {})
    return LivingRing(agents=False, content=PAGES, sketcher_changes={"group": VOTE, **changes}, **options)


def test_absent_at_the_start_and_foreign_members():
    members = {"a": {}, "b": {}, "front": {}, "lease": {"ring": {"lease": "3s"}},
               "digest": {"sketch": {"digest": "sha256"}}}
    with votes(members=members, roles={"front": "request"}, workers=2, start=False,
               ring_changes={"owner_wait": "500ms"}) as ring:
        ring.origins.start()
        for name in ("a", "b", "front"):
            ring.members[name].start()
        a, log = ring.members["a"], ring.members["a"].child.log
        answer = curl(a, "/pages/1")
        assert (answer.status, answer.field("prophecy-reason")) == (503, "owner-unreachable")
        assert answer.field("retry-after") == "1"
        wait_until(lambda: "zookeeper-unreachable" in log(), 10, "the line about it")
        assert ring.ring("a")["state"] == "connecting"
        ring.zookeeper.start()
        ring.wait_settled(["a", "b", "front"], owners=["a", "b"])

        # One that takes requests alone owns nothing, and forwards all of them.
        for path, body in PAGES.items():
            for name in ("front", "a", "b"):
                assert curl(ring.members[name], path).body == body.encode()
        counters = ring.members["front"].counters()
        assert (counters["forwarded"], counters["fast"], counters["replicated"]) == (len(PAGES), 0, 0)
        assert curl(ring.members["front"], "/pages/1", "-X", "PUT", "--data-binary", "new").status < 300
        for name in ("front", "a", "b"):
            assert curl(ring.members[name], "/pages/1").body == b"new"

        # Those that differ are told so, and the members too.
        for name, what in (("lease", "lease is 3000 ms here and 1000 ms in the ring"),
                           ("digest", "digest is hmac-sha256 here and hmac-sha1 in the ring")):
            ring.members[name].start()
            stranger = ring.members[name].child.log
            wait_until(lambda: re.search(f"ring-problem.*/prophecy/view: {what}", stranger()), 10, "the reason")  # noqa: B023
            there, here = what.replace(" in the ring", "").split(" here and ")
            wait_until(lambda: f"/prophecy/members/{name}: {there.split(' is ')[0]} is {here} here" in log(),  # noqa: B023
                       10, "the reason at a member")
            assert curl(ring.members[name], "/pages/1").status == 503
            assert ring.ring(name)["problems"] and ring.ring(name)["state"] == "joining"
            ring.members[name].kill()
        assert len(ring.ring("a")["members"]) == 3
        wait_until(lambda: ring.ring("a")["problems"] == [], 10, "the end of what was reported")

        # Nonsense in ZooKeeper is named, and changes nothing.
        view = ring.ring("a")["view"]
        with Driver([ring.zookeeper.address]) as driver:
            driver.wait_for("session_begun")
            driver.call("create", "/prophecy/leases/nobody", data="nonsense")
            wait_until(lambda: any("leases/nobody" in line for line in ring.ring("a")["problems"]), 10, "its report")
        assert curl(a, "/pages/3").status == 200
        assert ring.ring("a")["view"] == view


def test_a_while_without_zookeeper():
    """without_zookeeper: answers through the group alone, beyond the lease; they share nothing."""
    with votes(members=["a", "b"], ring_changes={"without_zookeeper": "5m", "owner_wait": "500ms"}) as ring:
        for path in PAGES:
            assert curl(ring.members["a"], path).status == 200
        ring.zookeeper.kill()
        wait_until(lambda: all(ring.ring(name)["lease_ms_left"] == 0 for name in ("a", "b")), 10,
                   "the end of the leases")
        before = [ring.members[name].counters() for name in ("a", "b")]
        for path, body in PAGES.items():
            assert curl(ring.members["b"], path).body == body.encode()
        assert curl(ring.members["b"], "/pages/2", "-X", "PUT", "--data-binary", "new").status < 300
        assert curl(ring.members["a"], "/pages/2").body == b"new"
        after = [ring.members[name].counters() for name in ("a", "b")]
        assert [each["fast"] for each in after] == [each["fast"] for each in before]
        assert sum(each["replicated"] for each in after) - sum(each["replicated"] for each in before) >= len(PAGES)
        ring.zookeeper.start()
        ring.wait_settled(["a", "b"])
        for path in PAGES:
            assert curl(ring.members["b"], path).status == 200
        assert sum(ring.members[name].counters()["fast"] for name in ("a", "b")) > 0


def test_the_last_member_stops_at_once(tmp_path):
    with votes(members=["a", "b"]) as ring:
        admin, file = ring.members["a"].admin, tmp_path / "history"
        assert run_program("prophecyctl", "history", "export", "--admin", admin, file).returncode == 0
        refused = run_program("prophecyctl", "history", "import", "--admin", admin, file)
        assert refused.returncode == 1 and "takes no history from a file" in refused.stderr
        ring.members["a"].stop()
        ring.wait_settled(["b"])
        begun = time.monotonic()
        ring.members["b"].stop()
        assert time.monotonic() - begun < 8


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may start workers of another user")
def test_only_new_certificates_replace_the_rings_process():
    """With another user it cannot read them itself, and the one that follows waits for a lease."""
    with votes(members=["a"], sketcher_changes={"sketcher": {"user": "nobody"}}) as ring:
        ring.wait_settled(["a"])
        a, log = ring.members["a"], ring.members["a"].child.log
        instance = ring.ring("a")["instance"]
        for count in (1, 2):
            a.child.signal(signal.SIGHUP)
            wait_until(lambda: log().count("certificates-reloaded") == count, 10, "the reload")  # noqa: B023
        time.sleep(1)
        assert log().count("ring-started") == 1
        assert ring.ring("a")["instance"] == instance and ring.ring("a")["lease_ms_left"] > 0

        for kind in ("pem", "key"):
            (ring.folder / f"ring-a.{kind}").unlink()
        make_ring_keys(ring.folder, ["a"])
        a.child.signal(signal.SIGHUP)
        wait_until(lambda: log().count("ring-started") == 2, 10, "another process of the ring")
        ring.wait_settled(["a"])
        assert ring.ring("a")["instance"] != instance
        assert "certificates-not-reloaded" not in log() and "ring-died" not in log()


def test_strangers_at_the_hand_over():
    """Without a certificate of a member nobody gets further than the handshake."""
    with votes(members=["a", "b"]) as ring:
        context = ssl.create_default_context(cafile=str(ring.folder / "ring-ca.pem"))
        context.check_hostname = False
        for count, is_tls in enumerate((False, True), 1):
            with socket.create_connection(("127.0.0.1", ring.hand_over_ports["a"]), timeout=10) as plain:
                try:
                    stranger = context.wrap_socket(plain) if is_tls else plain
                    stranger.sendall(b"\x22\0\0\0\1" + bytes(33))
                    assert stranger.recv(100) == b""
                except OSError:
                    pass
            wait_until(lambda: ring.members["a"].status()["ring"]["links_refused"] >= count, 10,  # noqa: B023
                       "the refusal to be counted")
        assert ring.ring("a")["state"] == "member"


@pytest.mark.long
def test_a_worker_stopped_within_a_turn_is_ended():
    """It holds up the partitions that move, until another one has taken its place."""
    with votes(members=["a", "b"]) as ring:
        a = ring.members["a"]
        [worker] = a.workers()
        os.kill(worker, signal.SIGSTOP)
        ring.drain_at_once("a")
        wait_until(lambda: "worker-hangs" in a.child.log(), 30, "its end")
        wait_until(lambda: a.workers() not in ([], [worker]), 10, "another worker")
        wait_until(lambda: ring.ring("a")["is_handed_over"], 20, "the hand-over")
        assert curl(a, "/pages/1").status == 200
