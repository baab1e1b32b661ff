"""A replica group: the key files, and one agent (prophecy-replica) for each origin."""

import json
import os
import signal
from pathlib import Path

from harness.http_client import curl
from harness.processes import Child, HarnessError, readable_proc, wait_until
from harness.programs import program, run_program
from harness.toml_writer import merged, to_toml

WIRE_VERSION = 3  # kWireVersion in pbft/wire/limits.hpp, for those who make frames themselves


def ctl(*arguments):
    """Runs prophecyctl and yields what it prints."""
    result = run_program("prophecyctl", *arguments)
    if result.returncode != 0:
        raise HarnessError(f"prophecyctl {' '.join(map(str, arguments))} ended with "
                           f"{result.returncode}: {result.stderr.strip()}")
    return result.stdout


def ctl_json(*arguments):
    """Runs prophecyctl and yields the JSON document that it prints."""
    return json.loads(ctl(*arguments))


def links_are_encrypted():
    """PROPHECY_ENCRYPTED_LINKS in the environment: the members of all groups speak TLS."""
    return bool(os.environ.get("PROPHECY_ENCRYPTED_LINKS"))


def make_keys(folder, addresses, faults, clients=1):
    result = run_program("prophecyctl", "keygen", "--directory", folder, "--faults", faults,
                         "--replica-addresses", ",".join(addresses), "--clients", clients,
                         *(["--encrypted-links"] if links_are_encrypted() else []))
    if result.returncode != 0:
        raise HarnessError(f"prophecyctl keygen failed: {result.stderr.strip()}")


class Agent:
    """One prophecy-replica. `changes` goes over its configuration, table by table; a function
    yields those of each agent's number."""

    def __init__(self, folder, number, agent_port, origin_port, changes=None):
        self.folder = Path(folder)
        self.number = number
        changes = (changes(number) if callable(changes) else changes) or {}
        self.agent_port = agent_port
        self.child = None
        self.admin = self.folder / f"replica-{number}.sock"
        self.configuration = self.folder / f"replica-{number}.toml"
        self.configuration.write_text(to_toml(merged({
            "replica": {
                "id": number,
                **readable_proc(),
                "group": "group.toml",
                "key_file": f"replica-{number}.key",
                "admin": self.admin.name,
                "metrics": "127.0.0.1:0",
            },
            "service": {"kind": "http", "origin": f"127.0.0.1:{origin_port}"},
            "storage": {"folder": f"replica-{number}.store"},
        }, changes)))
        self.storage = self.folder / f"replica-{number}.store"
        self.command = ["prophecy-replica"]  # another program, with its options
        self.wrapper = []  # what starts it, elsewhere or otherwise
        self.environment = {}
        if changes.get("storage", {}) is not None:
            self.init_storage()

    def init_storage(self):
        """Makes the empty store of a replica that is new."""
        result = run_program("prophecy-replica", "--config", self.configuration, "--init")
        if result.returncode != 0:
            raise HarnessError(f"prophecy-replica --init failed: {result.stderr.strip()}")

    def start(self):
        self.child = Child(f"replica-{self.number}",
                           [*self.wrapper, program(self.command[0]), *self.command[1:],
                            "--config", self.configuration],
                           self.folder / f"replica-{self.number}.log", self.environment)
        # It may have much to restore, from a disk that others are busy with.
        self.child.wait_ready(self._ready, 60)

    def _ready(self):
        if not self.admin.exists():
            return False
        try:
            return self.status()
        except HarnessError:
            return False

    def status(self):
        return ctl_json("status", "--admin", self.admin, "--json")

    def metrics(self):
        """{name with labels: value}"""
        page = curl(f"http://{self.status()['metrics']}/metrics").body.decode()
        lines = [line for line in page.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def pause(self):
        """The agent hangs: it keeps its connections and says nothing."""
        self.child.freeze()

    def resume(self):
        self.child.thaw()

    def kill(self):
        if self.child:
            self.child.kill()
            self.child = None
            # A killed program cannot clean up, and readiness is seen by this file.
            self.admin.unlink(missing_ok=True)

    def stop(self):
        if self.child:
            self.child.stop()
            self.child = None


class ReplicaGroup:
    def __init__(self, folder, faults, agent_ports, origin_ports, changes=None, canonical=None,
                 runs=True, clients=1, hosts=None):
        self.folder = Path(folder)
        hosts = hosts or ["127.0.0.1"] * len(agent_ports)
        make_keys(self.folder, [f"{host}:{port}" for host, port in zip(hosts, agent_ports)],
                  faults, clients)
        if canonical:
            with open(self.folder / "group.toml", "a", encoding="utf-8") as group:
                group.write("\n" + to_toml({"canonical": canonical}))
        self.agents = [Agent(folder, number, agent_port, origin_port, changes)
                       for number, (agent_port, origin_port)
                       in enumerate(zip(agent_ports, origin_ports)) if runs]

    def __getitem__(self, number):
        return self.agents[number]

    def __iter__(self):
        return iter(self.agents)

    def start(self):
        for agent in self.agents:
            agent.start()
        wait_until(self._connected, 20, "the agents to find each other")

    def _connected(self):
        return all(peer["connected"] for agent in self.agents for peer in agent.status()["peers"])

    def stop(self):
        for agent in self.agents:
            if agent.child:
                agent.resume()
                agent.child.signal(signal.SIGTERM)
        for agent in self.agents:
            agent.stop()
