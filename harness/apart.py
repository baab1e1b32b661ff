"""A machine of its own for one program: a network namespace with one cable to us, which can be cut.

Programs here and there go on to name all addresses as of loopback: relays at both ends of the cable carry
their connections. Needs what harness/cables.py needs."""

import os
import subprocess
import sys
from pathlib import Path

from harness.cables import run_ip

NETWORK = "10.213.8"
OURS, THEIRS = f"{NETWORK}.1", f"{NETWORK}.2"
RELAY = Path(__file__).with_name("port_relay.py")


class MachineApart:
    """Context manager. `ours` are ports of loopback here that are reached from there, `theirs` the other way."""

    def __init__(self, ours, theirs):
        self._machine = f"prophecy-{os.getpid()}-apart"
        self._switch = f"prophecy-{os.getpid()}-between"
        self._port = f"apart{os.getpid()}"[:15]
        self._ours = ",".join(map(str, ours))
        self._theirs = ",".join(map(str, theirs))
        self._relays = []

    def __enter__(self):
        try:
            run_ip("netns", "add", self._switch)
            run_ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
            run_ip("-n", self._switch, "link", "set", "bridge", "up")
            run_ip("netns", "add", self._machine)
            run_ip("-n", self._machine, "link", "set", "lo", "up")
            run_ip("link", "add", self._port, "type", "veth", "peer", "name", "here", "netns", self._switch)
            run_ip("-n", self._switch, "link", "add", "there", "type", "veth", "peer", "name", "cable", "netns",
                   self._machine)
            for end in ("here", "there"):
                run_ip("-n", self._switch, "link", "set", end, "master", "bridge", "up")
            run_ip("address", "add", f"{OURS}/24", "dev", self._port)
            run_ip("link", "set", self._port, "up")
            run_ip("-n", self._machine, "address", "add", f"{THEIRS}/24", "dev", "cable")
            run_ip("-n", self._machine, "link", "set", "cable", "up")
            self._relay([], f"{OURS}=127.0.0.1:{self._ours}", f"127.0.0.1={THEIRS}:{self._theirs}")
            self._relay(self.on(), f"127.0.0.1={OURS}:{self._ours}", f"{THEIRS}=127.0.0.1:{self._theirs}")
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    def _relay(self, wrapper, *rules):
        relay = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *wrapper, sys.executable, RELAY, *rules],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self._relays.append(relay)
        assert relay.stdout.readline() == "ready\n"

    def _remove(self):
        for relay in self._relays:
            relay.kill()
            relay.wait()
            relay.stdout.close()
        for command in (["netns", "delete", self._machine], ["netns", "delete", self._switch],
                        ["link", "delete", self._port]):
            subprocess.run(["ip", *command], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def on(self):
        """What starts a program there."""
        return ["ip", "netns", "exec", self._machine]

    def cut(self):
        """Nothing passes in either direction, and nobody is told."""
        run_ip("-n", self._switch, "link", "set", "there", "nomaster")

    def mend(self):
        run_ip("-n", self._switch, "link", "set", "there", "master", "bridge")
