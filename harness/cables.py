"""Machines of their own for programs, on one switch: network namespaces whose cables can be cut.

Needs root and a kernel with network namespaces, pairs of interfaces and bridges: see
why_impossible()."""

import functools
import os
import subprocess

from harness.processes import HarnessError

NETWORK = "10.213.7"


def run_ip(*arguments):
    result = subprocess.run(["ip", *map(str, arguments)], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise HarnessError(f"ip {' '.join(map(str, arguments))}: {result.stderr.strip()}")


@functools.cache
def why_impossible():
    """None where it is possible."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        with Cables(1):
            return None
    except (HarnessError, FileNotFoundError) as problem:
        return f"no network namespaces here: {problem}"


class Cables:
    """Context manager. `name` tells its machines from those of others that this process has."""

    def __init__(self, count, network=NETWORK, name=""):
        self._switch = f"prophecy-{os.getpid()}{name}-switch"
        self._machines = [f"prophecy-{os.getpid()}{name}-{number}" for number in range(count)]
        self.hosts = [f"{network}.{number + 1}" for number in range(count)]

    def __enter__(self):
        try:
            self._lay()
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_):
        self._remove()

    def _lay(self):
        run_ip("netns", "add", self._switch)
        run_ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
        run_ip("-n", self._switch, "link", "set", "bridge", "up")
        for number, (machine, host) in enumerate(zip(self._machines, self.hosts)):
            run_ip("netns", "add", machine)
            run_ip("-n", machine, "link", "set", "lo", "up")
            run_ip("-n", self._switch, "link", "add", f"port{number}", "type", "veth",
                 "peer", "name", "cable", "netns", machine)
            run_ip("-n", self._switch, "link", "set", f"port{number}", "master", "bridge", "up")
            run_ip("-n", machine, "address", "add", f"{host}/24", "dev", "cable")
            run_ip("-n", machine, "link", "set", "cable", "up")

    def plug_in(self, port, host):
        """A cable from us to the switch: `port` is its end here, which has this address."""
        run_ip("link", "add", port, "type", "veth", "peer", "name", "here", "netns", self._switch)
        run_ip("-n", self._switch, "link", "set", "here", "master", "bridge", "up")
        run_ip("address", "add", f"{host}/24", "dev", port)
        run_ip("link", "set", port, "up")

    def _remove(self):
        for name in (*self._machines, self._switch):
            subprocess.run(["ip", "netns", "delete", name], stdin=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)

    def on(self, number):
        """What starts a program there."""
        return ["ip", "netns", "exec", self._machines[number]]

    def cut(self, number):
        """Nothing passes in either direction, and nobody is told."""
        run_ip("-n", self._switch, "link", "set", f"port{number}", "nomaster")

    def mend(self, number):
        run_ip("-n", self._switch, "link", "set", f"port{number}", "master", "bridge")
