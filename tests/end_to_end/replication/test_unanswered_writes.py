"""Writes to which origins give no usable answer: a 502 each, and the group goes on (docs/origin-state.md)."""

import os
import threading
import time
from contextlib import contextmanager

import pytest

from harness import Deployment
from harness.build import patience
from harness.http_client import curl
from harness.processes import wait_until
from harness.rude_origin import RudeOrigins

STATES = ["directory", "command", "stateless"]


@contextmanager
def deployed(kind, **service):
    clusters = []

    def make_origins(folder, ports):
        clusters.append(RudeOrigins(folder, ports))
        return clusters[0]

    def changes(number):
        settled = {} if kind == "stateless" else {"write_settle": "2500ms"}
        return {"service": {"answer_timeout": "2s", **clusters[0][number].service(kind), **settled, **service}}

    with Deployment(make_origins=make_origins, agent_changes=changes) as deployment:
        yield deployment


def write(deployment, name, content="content", method="PUT"):
    return curl(f"{deployment.url}/{name}", "-X", method, "--data-binary", content).status


def read(deployment, name):
    return curl(f"{deployment.url}/{name}").body


def equal_states(deployment):
    states = [origin.files() for origin in deployment.origins]
    return all(state == states[0] for state in states)


@pytest.mark.parametrize("kind", STATES)
@pytest.mark.parametrize("request_of", [("POST", "crash"), ("PUT", "crash"), ("POST", "large"), ("POST", "slow"),
                                        ("POST", "nonsense"), ("POST", "half")], ids="-".join)
def test_a_write_without_a_usable_answer_is_one_502(kind, request_of):
    method, name = request_of
    with deployed(kind) as deployment:
        def takes(name):
            begin = time.monotonic()
            assert write(deployment, name, "news") == 204
            assert read(deployment, name) == b"news"
            return time.monotonic() - begin

        # A busy machine takes longer for all.
        usual = max(takes(f"before-{number}") for number in range(3))
        assert write(deployment, name, method=method) == 502
        assert takes("after") < max(patience(), 5 * usual)
        wait_until(lambda: all(origin.executed["after"] == 1 for origin in deployment.origins), 10,
                   "the write at all origins")
        # PUT is repeated where nothing else can make up for a write that was missed.
        times = 4 if kind == "stateless" and method == "PUT" else 1
        assert [origin.executed[name] for origin in deployment.origins] == [times] * 4
        assert equal_states(deployment)


def test_a_write_that_crashes_at_one_origin_is_repaired():
    with deployed("directory") as deployment:
        assert write(deployment, "before") == 204
        deployment.origins[2].crashing.add("note")
        assert write(deployment, "note") == 204
        for number in range(3):
            assert write(deployment, f"after-{number}") == 204
        wait_until(lambda: deployment.agents[2].status()["recovery"]["state"] == "none"
                   and equal_states(deployment), 60, "the repair")
        assert deployment.origins[2].executed["note"] <= 3
        assert read(deployment, "note") == b"content"


def test_an_acknowledged_write_is_not_undone_by_a_late_one():
    """Its first copy runs on at all origins, behind the time for its answer."""
    with deployed("directory", answer_timeout="1s") as deployment:
        assert write(deployment, "late", "old") == 502
        assert write(deployment, "late-no-more", "x") in (204, 502)
        for origin in deployment.origins:
            origin.late_s = 0
        assert write(deployment, "late", "new") == 204
        time.sleep(3)
        assert [origin.files()["late"] for origin in deployment.origins] == [b"new"] * 4
        assert read(deployment, "late") == b"new"


def test_killed_agents_wait_for_the_write_that_they_have_left():
    """Else its first copies would end behind a newer one that was acknowledged."""
    with deployed("directory", answer_timeout="5s", write_settle="6s") as deployment:
        assert write(deployment, "before") == 204
        for origin in deployment.origins:
            origin.late_s = 4
        client = threading.Thread(target=write, args=(deployment, "late", "old"))
        client.start()
        wait_until(lambda: all(origin.executed["late"] == 1 for origin in deployment.origins), 10,
                   "the write at all origins")
        for agent in deployment.agents:
            agent.kill()
        for origin in deployment.origins:
            origin.late_s = 0
        for agent in deployment.agents:
            agent.start()
        wait_until(lambda: write(deployment, "late", "new") == 204, 30, "the newer write")
        client.join()
        time.sleep(4)
        assert [origin.files()["late"] for origin in deployment.origins] == [b"new"] * 4
        assert read(deployment, "late") == b"new"


def writes_until(deployment, status, name="again"):
    """Some checkpoints further; yields how many writes it took."""
    for number in range(600):
        found = write(deployment, name, f"{number}")
        if found == status:
            return number
    raise AssertionError(f"{found}, and not {status}")


def restart(deployment, agents):
    for agent in agents:
        agent.stop()
    for agent in agents:
        agent.start()
    wait_until(lambda: all(agent.status()["recovery"]["state"] == "none" for agent in agents), 60,
               "the agents' states")


@pytest.mark.time_limit(240)
def test_a_full_folder_is_507_and_outlasts_restarts():
    with deployed("directory", state_files_max=20) as deployment:
        for number in range(30):
            assert write(deployment, f"file-{number}") == 204
        os.mkfifo(deployment.origins[1].data / "pipe")  # no part of a state
        writes_until(deployment, 507)
        assert read(deployment, "file-3") == b"content"
        for agent in deployment.agents:
            restart(deployment, [agent])
            assert read(deployment, "file-3") == b"content"
        assert write(deployment, "file-3", "other") == 507
        for number in range(20):
            assert curl(f"{deployment.url}/file-{number}", "-X", "DELETE").status == 204
        writes_until(deployment, 204)
        for number in range(20):
            assert write(deployment, f"file-{number}") == 204
        writes_until(deployment, 507)
        for agent in deployment.agents:
            text = agent.configuration.read_text()
            assert "state_files_max = 20" in text
            agent.configuration.write_text(text.replace("state_files_max = 20", "state_files_max = 40"))
        restart(deployment, deployment.agents)
        assert write(deployment, "file-3", "other") == 204
        assert read(deployment, "file-3") == b"other"
        (deployment.origins[1].data / "pipe").unlink()
        wait_until(lambda: equal_states(deployment), 30, "equal states")
