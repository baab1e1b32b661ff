"""A ring whose members speak TLS with ZooKeeper, certificates on both sides; and each way that this fails."""

import re
from pathlib import Path

from harness.certificates import Authority
from harness.http_client import curl as plain_curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.ring import LivingRing

VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None, "key_file": None}
PAGES = {f"/pages/{number}": f"page {number}\n" for number in range(8)}
# Members that another test starts: what is wrong with them, and the reason in their log.
WRONG = {
    "other-name": "TLS: its certificate is for another name",
    "other-authority": "TLS: no trusted authority has signed its certificate",
    # Versions of Java differ in their alert for these two.
    "without": "certificate|handshake failure",
    "stranger": "certificate|handshake failure",
}


def curl(member, path):
    return plain_curl(member.url + path, "-H", "Host: site")


def change(ring, name, **changes):
    """Over zookeeper_tls of that member; None takes a setting out."""
    settings = ring.members[name].settings["ring"]["zookeeper_tls"]
    for key, value in changes.items():
        settings.pop(key, None)
        if value is not None:
            settings[key] = str(value)
    ring.members[name].write_configuration()


def test_members_and_zookeeper_know_each_other_by_certificates():
    with LivingRing(members=["a", "b", *WRONG], present=["a", "b"], secure=True, agents=False, content=PAGES,
                    sketcher_changes={"group": VOTE}, ring_changes={"owner_wait": "500ms"}) as ring:
        for path, body in PAGES.items():
            for name in ("a", "b"):
                assert curl(ring.members[name], path).body == body.encode()
        own = ring.members["a"]
        assert re.search(f"zookeeper-connected.*{ring.zookeeper.secure_address}", own.child.log())

        strangers = Authority(ring.folder / "strangers")
        stranger = strangers.issue("stranger")
        change(ring, "other-name", server_name=None)  # it is 127.0.0.1 then, which the server's does not have
        change(ring, "other-authority", ca=strangers.certificate)
        change(ring, "without", certificate=None, key=None)
        change(ring, "stranger", certificate=stranger["chain"], key=stranger["key"])
        for name, reason in WRONG.items():
            member = ring.members[name]
            member.start()
            wait_until(lambda: re.search(f'zookeeper-unreachable.*({reason})', member.child.log()), 20,  # noqa: B023
                       f"the reason of {name}")
            answer = curl(member, "/pages/1")
            assert answer.status == 503 and answer.field("retry-after")
            assert ring.ring(name)["state"] == "connecting"
            member.kill()
        assert sorted(each["name"] for each in ring.ring("a")["members"]) == ["a", "b"]

        # ZooKeeper comes back, and so do the sessions.
        ring.zookeeper.kill()
        wait_until(lambda: "zookeeper-disconnected" in own.child.log(), 20, "the lost connection")
        ring.zookeeper.start()
        ring.wait_settled(["a", "b"])

        # A key that others may read is refused before anything starts.
        Path(own.settings["ring"]["zookeeper_tls"]["key"]).chmod(0o644)
        checked = run_program("prophecy-sketcher", "--check", "--config", own.configuration)
        assert checked.returncode != 0 and "ring.zookeeper_tls" in checked.stderr
        assert "0600" in checked.stderr or "others" in checked.stderr or "owner" in checked.stderr
