"""Session keys: established by signed messages, refreshed under load, worth nothing afterwards."""

import re
import socket
import threading
import time

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import wait_until
from harness.replicas import links_are_encrypted, make_keys

PAGE = b"page\n"
CONTENT = {"/index.html": PAGE}
EVERY_SECOND = {"key_refresh_interval": "1s"}


def put(deployment, path, content):
    return curl(deployment.url + path, "-X", "PUT", "--data-binary", content)


def dropped(agent, *reasons):
    counts = agent.status()["dropped"]
    return sum(counts[reason] for reason in reasons)


def change(agent, old, new):
    text = agent.configuration.read_text()
    assert old in text
    agent.configuration.write_text(text.replace(old, new))


def test_refreshing_every_second_loses_nothing():
    # A disk that stalls for half a second is none of the keys' business.
    patient = {**EVERY_SECOND, "view_change_timeout": "5s"}
    with Deployment(content=CONTENT, agent_changes={"replica": patient},
                    sketcher_changes={"group": EVERY_SECOND}) as deployment:
        assert put(deployment, "/warm.txt", "x").status == 201
        wait_until(lambda: all(agent.status()["keys"]["learnt"] >= 4
                               for agent in deployment.agents), 10, "keys between all")
        # What waits for two seconds, because the machine stands still, has outlived its key. Keys
        # that do not go over into one another lose something each second.
        rounds = [lost_under_load(deployment) for _ in range(3)]
        assert 0 in rounds, rounds
        for agent in deployment.agents:
            status = agent.status()
            assert status["keys"]["made"] >= 3 * 5
            assert status["keys"]["wrong_keys"] == status["keys"]["refusals"] == 0
            assert status["view"] == 0
        assert deployment.sketcher.counters()["failed"] == 0


def lost_under_load(deployment):
    def lost():
        return sum(dropped(agent, "bad_mac", "no_session_key") for agent in deployment.agents)

    before = lost()
    end = time.monotonic() + 5
    count = 0
    while time.monotonic() < end or count <= 25:
        count += 1
        assert put(deployment, f"/loaded-{count % 10}.txt", str(count)).status in (201, 204)
    return lost() - before


def test_restarts_of_an_agent_and_of_the_sketcher():
    with Deployment(content=CONTENT) as deployment:
        assert put(deployment, "/before.txt", "x").status == 201
        agent = deployment.agents[3]
        learnt = [peer.status()["keys"]["learnt"] for peer in deployment.agents]
        agent.kill()
        agent.start()
        wait_until(lambda: agent.status()["keys"]["learnt"] == 4, 10,
                   "the restarted agent to know three peers and the sketcher")
        wait_until(lambda: all(deployment.agents[peer].status()["keys"]["learnt"]
                               == learnt[peer] + 1 for peer in range(3)), 10,
                   "its peers to know its new key")
        assert put(deployment, "/between.txt", "x").status == 201
        deployment.sketcher.kill()
        deployment.sketcher.start()
        assert put(deployment, "/after.txt", "x").status == 201
        assert curl(deployment.url + "/after.txt").body == b"x"
        assert all(status["keys"]["wrong_keys"] == 0
                   for status in (agent.status() for agent in deployment.agents))


class Recorder:
    """Stands in front of an agent, and keeps what comes in on each connection."""

    def __init__(self, listen_port, agent_port):
        self.agent_port = agent_port
        self.streams = []
        self._sockets = []
        self._listener = socket.create_server(("127.0.0.1", listen_port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                incoming, _ = self._listener.accept()
                outgoing = socket.create_connection(("127.0.0.1", self.agent_port), timeout=5)
            except OSError:
                if self._listener.fileno() < 0:
                    return
                incoming.close()
                continue
            outgoing.settimeout(None)
            self._sockets += [incoming, outgoing]
            stream = bytearray()
            self.streams.append(stream)
            for source, target, record in ((incoming, outgoing, stream),
                                           (outgoing, incoming, None)):
                threading.Thread(target=self._pump, args=(source, target, record),
                                 daemon=True).start()

    @staticmethod
    def _pump(source, target, record):
        try:
            while data := source.recv(65536):
                if record is not None:
                    record += data
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self._listener.close()
        for end in self._sockets:
            end.close()


def replay(port, streams):
    for stream in streams:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(stream)
            time.sleep(0.2)


@pytest.mark.skipif(links_are_encrypted(), reason="it speaks to the agents in plain text itself")
def test_recorded_frames_are_refused_after_a_restart():
    with Deployment(content=CONTENT, start=False) as deployment:
        agent = deployment.agents[1]
        with socket.create_server(("127.0.0.1", 0)) as probe:
            real_port = probe.getsockname()[1]
        change(agent, "[replica]", f'[replica]\nlisten = "127.0.0.1:{real_port}"')
        deployment.ports.close()
        recorder = Recorder(agent.agent_port, real_port)
        try:
            deployment.start()
            for number in range(5):
                assert put(deployment, f"/{number}.txt", "x").status == 201
            recorded = [bytes(stream) for stream in recorder.streams]
            assert sum(map(len, recorded)) > 5000
            agent.kill()
            agent.start()
            wait_until(lambda: agent.status()["keys"]["learnt"] == 4, 10, "keys of the new run")
            status = agent.status()
            replay(real_port, recorded)
            # Votes on what is agreed on already are not worth a MAC; a Status always is.
            wait_until(lambda: dropped(agent, "bad_mac") > status["dropped"]["bad_mac"],
                       10, "the recorded frames to be refused")
            after = agent.status()
            # The keys that were told then answer no question of now. (Two agents ask each other on
            # two connections at once, and may tell on one of them only; the sketcher always tells.)
            assert after["keys"]["dropped"] > status["keys"]["dropped"]
            assert after["keys"]["learnt"] == 4
            assert put(deployment, "/afterwards.txt", "x").status == 201
            # Nor does the sketcher's past count once it has been started again.
            deployment.sketcher.kill()
            deployment.sketcher.start()
            assert put(deployment, "/again.txt", "x").status == 201
            assert agent.status()["keys"]["learnt"] == 5
        finally:
            deployment.sketcher.stop()
            recorder.close()


@pytest.mark.skipif(links_are_encrypted(), reason="the handshake fails before keys are told")
def test_files_that_disagree_are_named_on_both_sides():
    with Deployment(content=CONTENT, start=False) as deployment:
        other = deployment.folder / "other"
        make_keys(other, [f"127.0.0.1:{port}" for port in range(1, 5)], 1)
        key = re.compile(r'public_signing_key = "([^"]*)"')
        group = deployment.folder / "group.toml"
        text = group.read_text()
        stranger = key.findall((other / "group.toml").read_text())[2]
        (deployment.folder / "wrong.toml").write_text(text.replace(key.findall(text)[2], stranger))
        change(deployment.agents[0], '"group.toml"', '"wrong.toml"')
        deployment.start()
        logs = [deployment.folder / f"replica-{number}.log" for number in range(4)]

        def lines(number):
            return [line for line in logs[number].read_text().splitlines() if "wrong-keys" in line]

        wait_until(lambda: lines(0) and lines(2), 10, "both to say so")
        assert all("of=2" in line and "group file and key file disagree" in line
                   for line in lines(0))
        assert all("found_by=0" in line for line in lines(2))
        assert not lines(1) and not lines(3)
        # The group has one faulty member as far as anybody can tell, and goes on.
        assert put(deployment, "/goes-on.txt", "x").status == 201
