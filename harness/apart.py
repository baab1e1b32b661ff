"""A machine of its own for one program: a network namespace with one cable to us, which can be cut.

Programs here and there go on to name all addresses as of loopback: relays at both ends of the cable carry
their connections. Needs what harness/cables.py needs."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from harness.cables import Cables

NETWORK = "10.213.8"
THEIRS, OURS = f"{NETWORK}.1", f"{NETWORK}.2"
RELAY = Path(__file__).with_name("port_relay.py")


class MachineApart:
    """Context manager. `ours` are ports of loopback here that are reached from there, `theirs` the other way."""

    def __init__(self, ours, theirs):
        self._cables = Cables(1, NETWORK, "-apart")
        self._port = f"apart{os.getpid()}"[:15]
        self._ours = ",".join(map(str, ours))
        self._theirs = ",".join(map(str, theirs))
        self._relays = []
        self._undo = ExitStack()

    def __enter__(self):
        with ExitStack() as undo:
            undo.enter_context(self._cables)
            undo.callback(self._remove)
            self._cables.plug_in(self._port, OURS)
            self._relay([], f"{OURS}=127.0.0.1:{self._ours}", f"127.0.0.1={THEIRS}:{self._theirs}")
            self._relay(self.on(), f"127.0.0.1={OURS}:{self._ours}", f"{THEIRS}=127.0.0.1:{self._theirs}")
            self._undo = undo.pop_all()
        return self

    def __exit__(self, *_):
        self._undo.close()

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
        subprocess.run(["ip", "link", "delete", self._port], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=False)

    def on(self):
        """What starts a program there."""
        return self._cables.on(0)

    def cut(self):
        """Nothing passes in either direction, and nobody is told."""
        self._cables.cut(0)

    def mend(self):
        self._cables.mend(0)
