"""What operators see of replicas: prophecyctl status, and metrics."""

import socket
import struct

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import wait_until
from harness.replicas import WIRE_VERSION, ctl, links_are_encrypted


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment() as deployment:
        for number in range(20):
            assert put(deployment, f"/file-{number}").status == 201
        yield deployment


def put(deployment, path):
    return curl(deployment.url + path, "-X", "PUT", "--data-binary", path)


def peer_of(agent, number):
    [peer] = [peer for peer in agent.status()["peers"] if peer["id"] == number]
    return peer


def test_all_know_each_other_and_suspect_nobody(deployment):
    def heartbeats_heard():
        return all(peer["last_ordered"] >= 20 for agent in deployment.agents
                   for peer in agent.status()["peers"])

    wait_until(heartbeats_heard, 10, "the agents to tell each other how far they are")
    for agent in deployment.agents:
        status = agent.status()
        assert status["progress"]["lag"] == 0
        for peer in status["peers"]:
            assert peer["view"] == 0 and peer["behind"] == 0
            assert peer["silent_seconds"] < 5 and peer["suspected"] == []
            assert peer["bytes_sent"] > 1000


def test_metrics_agree_with_the_status(deployment):
    for agent in deployment.agents:
        status, metrics = agent.status(), agent.metrics()
        assert metrics['prophecy_replica_state{state="normal"}'] == 1
        assert metrics['prophecy_replica_state{state="changing_view"}'] == 0
        assert metrics["prophecy_replica_view"] == 0
        assert metrics["prophecy_replica_primary"] == 0
        for stage in ("proposed", "ordered", "executed", "stable"):
            name = f'prophecy_replica_sequence{{stage="{stage}"}}'
            assert metrics[name] == status["progress"][f"last_{stage}"]
        executions = metrics['prophecy_replica_executions_total{kind="ordered"}']
        assert executions == status["core"]["requests_executed"] >= 20
        assert metrics['prophecy_replica_service_requests_total{end="executed"}'] >= 20
        for peer in status["peers"]:
            labels = f'{{address="{peer["address"]}",peer="{peer["id"]}"}}'
            assert metrics[f"prophecy_replica_peer_connected{labels}"] == 1
            assert metrics[f"prophecy_replica_peer_suspected{labels}"] == 0
        with open(f"/proc/{agent.child.pid}/statm", encoding="ascii") as statm:
            resident = int(statm.read().split()[1]) * 4096
        assert metrics["process_resident_memory_bytes"] == pytest.approx(resident, rel=0.1)


def test_only_the_page_is_there(deployment):
    address = deployment.agents[0].status()["metrics"]
    assert curl(f"http://{address}/").status == 404
    assert curl(f"http://{address}/metrics", "-X", "POST", "--data-binary", "x").status in (405, 413)


@pytest.mark.skipif(links_are_encrypted(), reason="it speaks to the agents in plain text itself")
def test_messages_in_the_name_of_another_are_counted_apart(deployment):
    agent = deployment.agents[3]
    # A status of replica 2 as it should be, but for its authenticator: type, version, sender; view,
    # counter, flags, silent until, first retained, last ordered, stable, settled, no batches; four
    # tags.
    status = struct.pack("<BBI QQBQQQQQH 64x", 7, WIRE_VERSION, 2, 0, 1, 0, 0, 1, 0, 0, 0, 0)
    with socket.create_connection(("127.0.0.1", agent.agent_port), timeout=5) as connection:
        connection.sendall((struct.pack("<I", len(status)) + status) * 3)
        wait_until(lambda: peer_of(agent, 2)["dropped_in_its_name"]["bad_mac"] == 3, 10,
                   "the forgeries to be counted")
    peer = peer_of(agent, 2)
    assert peer["dropped"]["bad_mac"] == 0
    assert peer["suspected"] == ["wrong MAC or signature in its name: 3 messages"]
    assert peer_of(agent, 1)["suspected"] == []
    text = ctl("status", "--admin", agent.admin)
    [line] = [line for line in text.splitlines() if line.lstrip().startswith("2 ")]
    assert "bad_mac 3" in line and "in its name: 3 messages" in line


def test_a_dead_primary_is_suspected_by_all_others():
    with Deployment() as deployment:
        assert put(deployment, "/before").status == 201
        deployment.agents[0].kill()
        assert put(deployment, "/after").status == 201
        others = deployment.agents[1:]
        wait_until(lambda: all(len(peer_of(agent, 0)["suspected"]) == 2 for agent in others), 20,
                   "silence and a lost view to be held against the primary")
        for agent in others:
            peer = peer_of(agent, 0)
            assert not peer["connected"] and peer["views_failed"] >= 1
            assert peer["suspected"][0].startswith("silent for ")
            assert peer["suspected"][1].startswith("given up as primary")
            assert agent.status()["primary"] == 1
            assert sum(agent.status()["view_changes"].values()) >= 1
