"""The deployment of a soak: a group with agents, one without beside it at the same origins, and one whose
connections become tunnels; plain text and TLS, two workers, and a replica behind a relay that spoils it."""

import sys
from contextlib import ExitStack

from bench.soak.content import VOTES, WHOLE_ANSWER_BYTES, large_files, static_files
from bench.soak.faults import Relay
from harness import Deployment
from harness.build import ROOT, patience
from harness.certificates import Authority
from harness.folders import make_folder, remove_folder
from harness.health import ALWAYS_DRAWN
from harness.ports import PortReservation, accepts_connections
from harness.processes import Child

WORKERS = 2
SESSIONS = 16  # few, so that the last answers to them are soon all there
# Clients on a busy machine may be slow, and keep connections that they do not use for long.
TIMES = {"header": "60s", "idle": "10m"}
# Clients that vanish without a word leave their tunnels to this.
TUNNEL_S = 10
ECHO_ORIGINS = 3


class World:
    """Context manager."""

    def __init__(self):
        self._stack = ExitStack()
        self._ports = PortReservation(1 + ECHO_ORIGINS)
        self._stack.callback(self._ports.close)
        self.tls_port, *self._echo_ports = self._ports.ports
        self.deployment = self.relay = self.authority = None

    def __enter__(self):
        with ExitStack() as undone:
            undone.callback(self._stack.close)
            self._start()
            undone.pop_all()
        return self

    def __exit__(self, *exception):
        return self._stack.__exit__(*exception)

    def _start(self):
        folder = make_folder()
        self._stack.callback(remove_folder, folder)
        authority = Authority(folder)
        self.authority = authority.certificate
        deployment = self.deployment = self._stack.enter_context(Deployment(
            content={**static_files(), **large_files()}, start=False,
            canonical={"whole_answer": f"{WHOLE_ANSWER_BYTES}B"},
            sketcher_changes={"sketcher": {"workers": WORKERS},
                              "timeouts": {**TIMES, "tunnel": f"{TUNNEL_S * patience()}s"},
                              "group": {"sessions": SESSIONS, "name": "default",
                                        "health": ALWAYS_DRAWN}}))
        self._configure(deployment.sketcher, authority.issue("localhost", ["localhost"]))
        self.relay = Relay(deployment)
        self._stack.callback(self.relay.stop)
        self.relay.start()
        echo = Child("echo", [sys.executable, ROOT / "harness/echo_origin.py", *self._echo_ports],
                     folder / "echo.log")
        self._stack.callback(echo.stop)
        echo.wait_ready(lambda: all(map(accepts_connections, self._echo_ports)))
        deployment.start()

    def _configure(self, sketcher, certificate):
        [group] = sketcher.settings["group"]
        vote = {"kind": "vote", "faults": 1}
        sketcher.settings["group"] += [
            {**vote, "name": "votes", "origin": group["origin"], "health": ALWAYS_DRAWN,
             "canonical": {"whole_answer": f"{WHOLE_ANSWER_BYTES}B"}},
            {**vote, "name": "echo", "origin": [
                {"replica": number, "address": f"127.0.0.1:{port}"}
                for number, port in enumerate(self._echo_ports)]}]
        sketcher.settings["route"] = [
            {"name": "rest", "group": "default"},
            {"name": "votes", "path_prefix": VOTES, "group": "votes"},
            {"name": "echo", "path_prefix": "/echo", "group": "echo", "mode": "tunnel",
             "upgrades": ["echo"]}]
        sketcher.settings["listener"].append({"address": f"127.0.0.1:{self.tls_port}",
                                              "tls": {"certificates": [certificate]}})
        sketcher.write_configuration()
