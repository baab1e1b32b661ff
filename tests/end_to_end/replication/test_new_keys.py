"""A replica gets new keys while clients write, by the steps of docs/new-keys.md."""

import re
import shutil
import subprocess

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import HarnessError, wait_until
from harness.programs import program
from harness.replicas import links_are_encrypted, make_keys
from harness.writers import Writers

REPLACED = 3
OTHERS = [0, 1, 2]


class Puts(Writers):
    """Each client writes files of its own, and notes answers that are none of success."""

    def __init__(self, deployment, count):
        self.written = {}
        self.failed = []
        self.total = 0
        self.is_sketcher_away = False
        super().__init__(deployment, count)

    def write(self, writer, number):
        path, content = f"/kept-{writer}-{number % 20}", f"{writer} {number}\n"
        was_away = self.is_sketcher_away
        try:
            status = curl(self.deployment.url + path, "-X", "PUT", "--data-binary", content).status
        except HarnessError:
            status = 0
        if status in (201, 204):
            self.written[path] = content.encode()
            self.total += 1
        else:
            # It may have been executed, or not.
            self.written.pop(path, None)
            if not was_away and not self.is_sketcher_away:
                self.failed.append((path, status))


def keeping_state(number):
    """The origin has no writes of the time without its agent but by the group's state."""
    return {"service": {"state": "directory", "state_folder": f"origin-{number}/htdocs",
                        "state_exclude": [".DAV", ".davfs.tmp*"], "write_settle": "1s"}}


def last_stable(agent):
    return agent.status()["progress"]["last_stable"]


def replace_keys(deployment):
    """Step 3: the later group file, in `folder`/later.toml, and the replica's new key file."""
    folder = deployment.folder
    made = folder / "later"
    addresses = [f"127.0.0.1:{agent.agent_port}" for agent in deployment.agents]
    make_keys(made, addresses, 1)
    group = (folder / "group.toml").read_text()
    new = (made / "group.toml").read_text()

    def section(text):
        return re.search(rf"\[\[replica\]\]\nid = {REPLACED}\n(?:[^\[]+)", text).group(0)

    later = group.replace(section(group), section(new)).replace("number = 1", "number = 2")
    assert later.count("number = 2") == 1
    (folder / "former.toml").write_text(group)
    return later, made / f"replica-{REPLACED}.key"


def take_file(agent):
    """A restart; the operator goes on when it is back."""
    agent.stop()
    agent.start()

    def is_back():
        status = agent.status()
        return status["group_number"] == 2 and status["progress"]["lag"] == 0

    wait_until(is_back, 30, f"agent {agent.number} to be back")


@pytest.mark.parametrize("keeps_store", [True, False])
def test_a_replica_gets_new_keys_under_load(keeps_store):
    with Deployment(agent_changes=keeping_state) as deployment:
        agents, folder = deployment.agents, deployment.folder
        puts = Puts(deployment, 3)
        try:
            wait_until(lambda: puts.total > 20, 20, "the clients to write")
            agents[REPLACED].stop()
            before = [last_stable(agents[number]) for number in OTHERS]
            for _ in range(2):
                wait_until(lambda before=before: all(
                    last_stable(agents[number]) > before[number] for number in OTHERS), 60,
                    "a checkpoint without it")
                before = [last_stable(agents[number]) for number in OTHERS]
            later, new_key = replace_keys(deployment)
            (folder / "group.toml").write_text(later)
            for number in OTHERS:
                take_file(agents[number])
            puts.is_sketcher_away = True
            deployment.sketcher.stop()
            deployment.sketcher.start()
            puts.is_sketcher_away = False
            reject_the_old_key(deployment)
            come_back(deployment, new_key, keeps_store)
            wait_until(lambda: last_stable(agents[REPLACED]) > max(before), 60,
                       "the replica to take part")
        finally:
            puts.stop()
        assert puts.failed == []
        for path, content in puts.written.items():
            deployment.wait_for_write(path, content)
        wait_until(lambda: all(peer["connected"] for agent in agents
                               for peer in agent.status()["peers"]), 30, "all to be connected")


def reject_the_old_key(deployment):
    """Somebody starts an agent with the former file and the old key: it is connected to nobody."""
    agents, folder = deployment.agents, deployment.folder
    thief = agents[REPLACED]
    text = thief.configuration.read_text()
    stolen = text.replace('"group.toml"', '"former.toml"')
    assert stolen != text
    thief.configuration.write_text(re.sub(r"\[storage\]\n(?:[^\[]+)", "", stolen))
    thief.start()
    logs = [folder / f"replica-{number}.log" for number in OTHERS]
    # Inside TLS an old key gets no further than the handshake.
    noticed = "link-refused" if links_are_encrypted() else "wrong-keys"
    wait_until(lambda: all(noticed in log.read_text() for log in logs), 20,
               "all others to notice the old key")
    assert thief.status()["progress"]["last_executed"] == 0
    thief.stop()
    thief.configuration.write_text(text)


def come_back(deployment, new_key, keeps_store):
    agent = deployment.agents[REPLACED]
    # With the later file and the old key it does not start.
    with_old_key = subprocess.run([program("prophecy-replica"), "--config", agent.configuration],
                                  capture_output=True, text=True, timeout=30, check=False)
    assert with_old_key.returncode != 0
    assert "key" in with_old_key.stderr
    shutil.copy(new_key, deployment.folder / f"replica-{REPLACED}.key")
    if not keeps_store:
        shutil.rmtree(agent.storage)
    agent.start()
    wait_until(lambda: agent.status()["progress"]["lag"] == 0, 60, "the replica to catch up")


def test_a_store_refuses_an_earlier_group_file():
    with Deployment() as deployment:
        agent = deployment.agents[1]
        group = deployment.folder / "group.toml"
        former = group.read_text()
        agent.stop()
        group.write_text(former.replace("number = 1", "number = 2"))
        agent.start()
        wait_until(lambda: agent.status()["progress"]["lag"] == 0, 30, "the agent to be back")
        agent.stop()
        group.write_text(former)
        refused = subprocess.run([program("prophecy-replica"), "--config", agent.configuration],
                                 capture_output=True, text=True, timeout=30, check=False)
        assert refused.returncode != 0
        assert "was opened with number 2 of the group file; number 1 may list keys that were replaced" \
            in refused.stderr
        group.write_text(former.replace("number = 1", "number = 2"))
        agent.start()
