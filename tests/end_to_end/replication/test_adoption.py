"""Groups that have lost every state that could be restored go on from their origins' present one, at
an operator's word (docs/origin-state.md)."""

import re

import pytest

from harness import Deployment
from harness.apache import ApacheCluster
from harness.http_client import curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.replicas import ctl

pytestmark = pytest.mark.time_limit(300)

TAR = ["/bin/tar", "--create", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"]


def directory(number):
    return {"service": {"state": "directory", "state_folder": f"origin-{number}/htdocs",
                        "state_exclude": [".DAV", ".davfs.tmp*"], "write_settle": "1s"}}


def write(deployment, name, content="content"):
    return curl(f"{deployment.url}/{name}", "-X", "PUT", "--data-binary", content).status


def read(deployment, name):
    return curl(f"{deployment.url}/{name}").body.decode()


def recovery(agent):
    return agent.status()["recovery"]["state"]


def restart_all(deployment):
    for agent in deployment.agents:
        agent.stop()
    for agent in deployment.agents:
        agent.start()


def wait_for_loss(deployment):
    wait_until(lambda: {recovery(agent) for agent in deployment.agents} == {"service_lost"}, 60,
               "the loss of all states")


def adopt(agents, *arguments):
    """As an operator does it, who looks first: at each of these agents. Yields what was printed."""
    for agent in agents:
        said = ctl("adopt", "--admin", agent.admin)
    found = re.search("prophecyctl adopt --admin .* --state ([0-9a-f]{64}) --at ([0-9]+)", said)
    assert found, said
    for agent in agents:
        ctl("adopt", "--admin", agent.admin, "--state", found[1], "--at", found[2], "--wait", 0,
            *arguments)
    for agent in agents:
        said = ctl("adopt", "--admin", agent.admin, "--state", found[1], "--at", found[2], *arguments)
        assert "Adopted." in said
    return found[1]


@pytest.fixture(name="unloadable")
def _unloadable():
    """Four Apaches whose state no `state_load` takes any more, and what was written to them."""
    clusters = []

    def make_origins(folder, ports):
        clusters.append(ApacheCluster(folder, ports, {}))
        return clusters[0]

    def changes(number):
        dump = [*TAR, f"--directory={clusters[0][number].htdocs}", "."]
        return {"service": {"state": "command", "state_dump": dump, "state_load": ["/bin/false"]}}

    with Deployment(make_origins=make_origins, agent_changes=changes) as deployment:
        names = [f"file-{number}" for number in range(20)]
        assert {write(deployment, name) for name in names} == {201}
        restart_all(deployment)
        wait_for_loss(deployment)
        yield deployment, names


def test_a_group_that_can_load_no_state_goes_on_from_the_present_one(unloadable):
    deployment, names = unloadable
    assert write(deployment, "file-0", "other") == 503
    root = adopt(deployment.agents[:3])
    wait_until(lambda: write(deployment, "after") in (201, 204), 60, "the service")
    assert [read(deployment, name) for name in names] == ["content"] * len(names)
    adopted = [agent.status()["core"]["states_adopted"] for agent in deployment.agents]
    assert adopted == [1, 1, 1, 0]
    logs = [(agent.folder / f"replica-{agent.number}.log").read_text() for agent in deployment.agents[:3]]
    assert all("adoption" in log and root in log for log in logs)


def test_no_state_is_adopted_while_replicas_are_in_others(unloadable):
    deployment, _ = unloadable
    (deployment.origins[2].htdocs / "file-3").write_text("forged")
    for agent in deployment.agents:
        result = run_program("prophecyctl", "adopt", "--admin", agent.admin)
        said = result.stdout + result.stderr
    assert result.returncode == 1 and "replica 2 is in another state" in result.stderr, said
    root = re.search("3 +tells +([0-9a-f]{64}) +([0-9]+)", said)
    arguments = ["adopt", "--admin", deployment.agents[0].admin, "--state", root[1], "--at", root[2]]
    result = run_program("prophecyctl", *arguments)
    assert result.returncode == 1 and "replica 2 is in another state" in result.stderr
    assert write(deployment, "file-0", "other") == 503
    well = [agent for agent in deployment.agents if agent.number != 2]
    for agent in well:
        arguments[2] = agent.admin
        ctl(*arguments, "--except", 2, "--wait", 0)
    wait_until(lambda: write(deployment, "after") in (201, 204), 60, "the service")
    assert read(deployment, "file-3") == "content"


def test_a_replica_that_has_a_state_adopts_none():
    with Deployment(content={}, agent_changes=directory) as deployment:
        assert write(deployment, "file") == 201
        result = run_program("prophecyctl", "adopt", "--admin", deployment.agents[1].admin)
        assert result.returncode == 1
        assert "has a state of its own" in result.stderr
