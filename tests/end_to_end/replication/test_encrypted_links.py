"""Links between the members of a group inside TLS: what is agreed on is not seen on the network, and a member
whose group file differs is refused, with the reason on both sides."""

import contextlib
import re
import socket
import threading

import pytest

from harness.deployment import Deployment
from harness.http_client import curl
from harness.ports import PortReservation
from harness.processes import wait_until

MARK = "what the group agrees on"


class Relay:
    """Passes bytes between clients and one agent, and keeps them."""

    def __init__(self, port, agent_port):
        self.agent_port = agent_port
        self.seen = bytearray()
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                agent = socket.create_connection(("127.0.0.1", self.agent_port))
            except OSError:  # it has not started yet
                client.close()
                continue
            for source, target in ((client, agent), (agent, client)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source, target):
        try:
            while data := source.recv(65536):
                self.seen += data
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


def set_encryption(deployment, is_on):
    group = deployment.folder / "group.toml"
    text = re.sub(r"encrypted_links = .*\n", "", group.read_text())
    group.write_text(text.replace("[group]\n", f"[group]\nencrypted_links = {str(is_on).lower()}\n"))


def write_and_read(deployment, path, text):
    body = deployment.folder / "body"
    body.write_text(text)
    assert curl(deployment.url + path, "-X", "PUT", "--data-binary", f"@{body}").status in (200, 201, 204)
    deployment.wait_for_write(path, text.encode())
    assert curl(deployment.url + path).body == text.encode()


@pytest.mark.parametrize("is_on", [True, False])
def test_what_is_agreed_on_is_not_seen_on_the_network(is_on):
    def listen_behind_relay(number):
        return {"replica": {"listen": f"127.0.0.1:{ports.ports[number]}"}}

    with (contextlib.closing(PortReservation(4)) as ports,
          Deployment(start=False, agent_changes=listen_behind_relay) as deployment):
        set_encryption(deployment, is_on)
        relays = [Relay(agent.agent_port, port) for agent, port in zip(deployment.agents, ports.ports, strict=True)]
        try:
            deployment.start()
            write_and_read(deployment, "/page.html", MARK)
            write_and_read(deployment, "/large.bin", MARK * 40_000)
        finally:
            for relay in relays:
                relay.close()
        seen = b"".join(bytes(relay.seen) for relay in relays)
        assert len(seen) > 4 * len(MARK) * 10_000
        assert (MARK.encode() in seen) == (not is_on)


def are_connected(agents):
    return all(peer["connected"] for agent in agents for peer in agent.status()["peers"])


def test_members_that_restart_find_each_other_again():
    with Deployment(start=False) as deployment:
        set_encryption(deployment, True)
        deployment.start()
        write_and_read(deployment, "/a.html", "first")
        for number in (0, 1):
            deployment.agents[number].kill()
            deployment.agents[number].start()
            wait_until(lambda: are_connected(deployment.agents), 20, "the agents to find each other")
        write_and_read(deployment, "/b.html", "second")
        assert all(agent.status()["transport"]["closed_insecure"] == 0 for agent in deployment.agents)


def test_where_one_side_alone_encrypts_both_say_why():
    with Deployment(start=False) as deployment:
        set_encryption(deployment, False)
        deployment.start()
        write_and_read(deployment, "/a.html", "first")
        odd = deployment.agents[3]
        odd.kill()
        set_encryption(deployment, True)
        odd.start()
        logs = [agent.child.log for agent in deployment.agents]
        wait_until(lambda: all(re.search("link-refused.*it speaks TLS; encrypted_links differs", log())
                               for log in logs[:3]), 20, "the others to say why")
        wait_until(lambda: re.search("link-refused.*it speaks plain text; encrypted_links differs", logs[3]()),
                   20, "the agent to say why")
        wait_until(lambda: re.search("agent-link-refused.*replica=3.*it speaks TLS; encrypted_links differs",
                                     deployment.sketcher.child.log()), 20, "the sketcher to say why")
        # For the group it is one that has failed.
        assert curl(deployment.url + "/b.html", "-X", "PUT", "--data-binary", "x").status in (200, 201, 204)
        assert odd.status()["transport"]["closed_insecure"] > 0
        odd.stop()
        set_encryption(deployment, False)
        odd.start()
        wait_until(lambda: are_connected([odd]), 20, "the agent to be back")
        write_and_read(deployment, "/c.html", "third")
