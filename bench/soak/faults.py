"""What goes wrong in a soak, one after another, all at one replica: the group is made for f = 1, and an
origin that was down for a write stays behind."""

import sys
import time
from pathlib import Path

from harness.build import ROOT
from harness.chaos_relay import MODES
from harness.ports import PortReservation, accepts_connections
from harness.processes import Child

from bench.soak.content import large_files, static_files

VICTIM = 2


class Relay:
    """The relay in front of the victim: it takes the port that all others know, and the origin
    gets one that only the relay knows."""

    def __init__(self, deployment):
        self._origin = deployment.origins[VICTIM]
        self._control = deployment.folder / "relay.mode"
        self._log = deployment.folder / "relay.log"
        self._ports = PortReservation(1)
        self._port = self._origin.port
        [self._origin.port] = self._ports.ports
        self.child = None

    def start(self):
        self.set("pass")
        self.child = Child("relay", [sys.executable, ROOT / "harness/chaos_relay.py", "--port",
                                     self._port, "--origin-port", self._origin.port,
                                     "--control", self._control], self._log)
        self.child.wait_ready(lambda: accepts_connections(self._port))

    def set(self, mode):
        # In one step: the relay may be reading.
        fresh = self._control.with_suffix(".new")
        fresh.write_text(mode)
        fresh.rename(self._control)

    def spoiled(self):
        return Path(f"{self._control}.count").stat().st_size

    def stop(self):
        if self.child:
            self.child.stop()
        self._ports.close()


class Faults:
    """Each fault is begun and ended by the main thread, which starts the programs again."""

    def __init__(self, deployment, relay):
        origin, agent = deployment.origins[VICTIM], deployment.agents[VICTIM]
        self._origin = origin
        self._relay = relay
        self._content = {**static_files(), **large_files()}
        self.done = {}
        self._faults = {
            "origin killed": (origin.kill, origin.start),
            "origin paused": (origin.pause, origin.resume),
            "agent killed": (agent.kill, agent.start),
            "agent paused": (agent.pause, agent.resume),
            "content replaced": (self._replace_content, self._restore_content),
            **{f"answers: {mode}": (lambda mode=mode: relay.set(mode), lambda: relay.set("pass"))
               for mode in MODES if mode != "pass"},
        }

    def run(self, deadline, fault_s, pause_s):
        while True:
            for name, (begin, end) in self._faults.items():
                if time.monotonic() + fault_s + pause_s > deadline:
                    return
                begin()
                time.sleep(fault_s)
                end()
                self.done[name] = self.done.get(name, 0) + 1
                time.sleep(pause_s)

    def _replace_content(self):
        for path, body in self._content.items():
            self._origin.write(path, body[::-1] + b"!")

    def _restore_content(self):
        for path, body in self._content.items():
            self._origin.write(path, body)
