"""Replicas that are killed, lose their disks or their origins' files: nothing that was acknowledged
is lost, and everybody comes back."""

import hashlib
import re
import shutil
import time
from contextlib import contextmanager

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import HarnessError, wait_until
from harness.programs import run_program
from harness.writers import Writers

# Whoever has forgotten what it said votes again behind a checkpoint that is far away on a slow machine.
pytestmark = pytest.mark.time_limit(300)

CONTENT = {"/index.html": "the page\n", "/static/a.txt": "a" * 100_000}


def changes_of(number):
    return {"service": {"state": "directory", "state_folder": f"origin-{number}/htdocs",
                        "state_exclude": [".DAV"], "write_settle": "1s"}}


@contextmanager
def under_load(writes=40):
    """A deployment, and clients that have written so much to it. They go on; at the end what they
    were told is checked."""
    with Deployment(content=CONTENT, agent_changes=changes_of) as deployment:
        writers = RewritingClients(deployment)
        writers.wait_for(writes, "at first")
        yield deployment, writers
        writers.stop()
        check(deployment, writers)


class RewritingClients(Writers):
    """They write files of their own and over them again, and count what they are told."""

    def __init__(self, deployment, count=3):
        self.acknowledged = {}  # path: content
        self.uncertain = set()  # paths of writes that were not answered, or with an error
        self.wrong = []
        self.total = 0
        super().__init__(deployment, count)

    def write(self, writer, number):
        path, content = f"/writer-{writer}-{number % 40}", f"content {writer}.{number} " * 20
        try:
            answer = curl(self.deployment.url + path, "-X", "PUT", "--data-binary", content)
        except HarnessError:
            self.uncertain.add(path)
            return
        expected = 204 if path in self.acknowledged else 201
        if answer.status == expected:
            self.acknowledged[path] = content.encode()
            self.total += 1
            self.uncertain.discard(path)
        elif answer.status >= 500 or path in self.uncertain:
            self.uncertain.add(path)
        else:
            self.wrong.append((path, answer.status))

    def wait_for(self, more, what):
        before = self.total
        wait_until(lambda: self.total >= before + more, 40, f"{more} more writes {what}")


def check(deployment, writers):
    """What was acknowledged is what everybody holds; all folders are equal."""
    assert not writers.wrong
    for path, content in sorted(writers.acknowledged.items()):
        if path in writers.uncertain:
            continue
        answer = curl(deployment.url + path)
        assert (answer.status, answer.body) == (200, content), path
    wait_until(lambda: len({folder_digest(origin) for origin in deployment.origins}) == 1, 30,
               "the origins' folders to be equal")
    for path, content in writers.acknowledged.items():
        if path not in writers.uncertain:
            assert deployment.origins[0].read(path) == content


def folder_digest(origin):
    digest = hashlib.sha256()
    for path in sorted(origin.htdocs.rglob("*")):
        if path.is_file() and ".DAV" not in path.parts:
            digest.update(str(path.relative_to(origin.htdocs)).encode() + b"\0")
            try:
                digest.update(path.read_bytes())
            except FileNotFoundError:  # replaced meanwhile
                return time.monotonic()
    return digest.hexdigest()


def is_member(agent):
    """It has what the others have. On a slow machine it may have asked for the next view alone, which
    it cannot take back: it keeps up, and takes part again when the others need another view as well."""
    status = agent.status()
    return (status["progress"]["lag"] == 0 and not status["recovery"]["rejoining"]
            and status["recovery"]["state"] == "none")


def wait_for_member(agent, timeout_s=120):
    try:
        wait_until(lambda: is_member(agent), timeout_s, f"replica {agent.number} to be a member")
    except HarnessError as error:
        raise HarnessError(f"{error}: {agent.status()}\n{agent.child.log()[-4000:]}") from None


def test_every_replica_is_killed_in_turn():
    with under_load(20) as (deployment, writers):
        for agent in deployment.agents:
            agent.kill()
            writers.wait_for(20, f"without replica {agent.number}")
            agent.start()
            wait_for_member(agent)
            writers.wait_for(20, f"with replica {agent.number} again")


def test_the_whole_group_is_killed():
    with under_load(60) as (deployment, writers):
        for agent in deployment.agents:
            agent.kill()
        writers.stop()
        for agent in deployment.agents:
            agent.start()
        for agent in deployment.agents:
            wait_for_member(agent)
        wait_until(lambda: [agent.status()["state"] for agent in deployment.agents]
                   .count("normal") >= 3, 60, "a view that a quorum has entered")
        assert curl(deployment.url + "/after", "-X", "PUT", "--data-binary", "x").status == 201


def test_a_replica_whose_disk_was_wiped_rejoins():
    with under_load() as (deployment, writers):
        agent = deployment.agents[2]
        agent.kill()
        shutil.rmtree(agent.storage)
        writers.wait_for(20, "without it")
        agent.start()
        assert "memory-lost" in agent.child.log()
        wait_for_member(agent)
        # It is needed: with another one gone, nothing is agreed on without it.
        deployment.agents[3].kill()
        writers.wait_for(20, "that need it")
        deployment.agents[3].start()
        wait_for_member(deployment.agents[3])


def test_a_damaged_store_is_set_aside():
    with under_load() as (deployment, _):
        agent = deployment.agents[1]
        agent.kill()
        for file in (agent.storage / "store" / "promises").glob("*.log"):
            file.write_bytes(file.read_bytes()[:200] + b"damage" + file.read_bytes()[206:])
        agent.start()
        assert "store-damaged" in agent.child.log()
        wait_for_member(agent)


def test_an_origin_whose_folder_was_wiped_is_repaired():
    with under_load() as (deployment, writers):
        origin = deployment.origins[1]
        origin.kill()
        writers.wait_for(10, "without the origin")
        for path in origin.htdocs.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        origin.start()
        writers.wait_for(40, "with the origin again")
        # Where no write has met the dead origin, a later checkpoint shows what has become of its state.
        wait_until(lambda: deployment.agents[1].status()["core"]["states_restored"] > 0, 120, "the state's repair")
        wait_for_member(deployment.agents[1])
        # The log shows at most one state a second, so `service_lost` itself may be missing.
        assert re.search(r" recovery state=(service_lost|fetching|restoring) ",
                         deployment.agents[1].child.log())
        assert origin.read("/static/a.txt") == b"a" * 100_000


def test_a_folder_that_is_emptied_behind_a_running_origin_is_repaired():
    with under_load() as (deployment, _):
        shutil.rmtree(deployment.origins[2].htdocs / "static")
        wait_until(lambda: deployment.origins[2].read("/static/a.txt") == b"a" * 100_000, 40,
                   "the folder to be repaired")
        assert deployment.agents[2].status()["core"]["state_divergences"] > 0


def test_another_replicas_store_is_refused():
    with Deployment(start=False) as deployment:
        agent, other = deployment.agents[0], deployment.agents[1]
        shutil.rmtree(agent.storage)
        shutil.copytree(other.storage, agent.storage)
        result = run_program("prophecy-replica", "--config", agent.configuration)
        assert result.returncode == 1
        assert "replica 1" in result.stderr, result.stderr


def test_a_store_is_made_once():
    with Deployment(start=False) as deployment:
        result = run_program("prophecy-replica", "--config", deployment.agents[0].configuration,
                             "--init")
        assert result.returncode == 1
        assert "a store already" in result.stderr
