"""The trusted proxy as a child process, with its counters and its evidence."""

import json
from pathlib import Path

from harness.ports import accepts_connections
from harness.processes import Child, HarnessError, readable_proc
from harness.programs import program
from harness.replicas import ctl, ctl_json
from harness.toml_writer import merged, to_toml


class Sketcher:
    """One prophecy-sketcher. `changes` goes over its configuration, table by table."""

    def __init__(self, folder, port, origin_ports, changes=None):
        self.folder = Path(folder)
        self.port = port
        self.child = None
        self.admin = self.folder / "sketcher.sock"
        self.divergence_log = self.folder / "divergences.jsonl"
        self.configuration = self.folder / "sketcher.toml"
        self.program = "prophecy-sketcher"  # from the next start on, as the next line
        self.wrapper = []  # what starts it, elsewhere
        self.settings = merged({
            "sketcher": {
                "workers": 1,
                **readable_proc(),
                "admin": self.admin.name,
                "divergence_log": self.divergence_log.name,
            },
            "listener": [{"address": f"127.0.0.1:{port}"}],
            "group": [{
                "file": "group.toml", "client_id": 1024, "key_file": "client-1024.key",
                "origin": [{"replica": number, "address": f"127.0.0.1:{origin_port}"}
                           for number, origin_port in enumerate(origin_ports)],
            }],
            "route": [{"reads": "delay-once"}],
            "sketch": {"key_file": "sketch.key"},
            "table": {"size": "8MiB"},
        }, changes or {})
        for route in self.settings.get("route", []):
            # All clients of a test or a benchmark are at one address.
            route.setdefault("slow_path_per_client_second", 0)
        self.write_configuration()

    def write_configuration(self):
        """From the settings, which a test may have changed."""
        self.configuration.write_text(to_toml(self.settings))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        self.child = Child("sketcher",
                           [*self.wrapper, program(self.program), "--config", self.configuration],
                           self.folder / "sketcher.log")
        self.child.wait_ready(self._ready)

    def _ready(self):
        takes_clients = bool(self.settings.get("listener"))
        if not self.admin.exists() or (takes_clients and not accepts_connections(self.port)):
            return False
        try:
            return self.status()
        except HarnessError:
            return False

    def status(self):
        return ctl_json("status", "--admin", self.admin, "--json")

    def counters(self):
        """How many requests ended in which way since the start: fast, replicated, read_only..."""
        return self.status()["requests"]

    def divergences(self):
        """The events that prophecyctl tells, oldest first."""
        text = ctl("divergences", "--admin", self.admin, "--json")
        return [json.loads(line) for line in text.splitlines()]

    def workers(self):
        """The process ids of the workers."""
        return sorted(worker["pid"] for worker in self.status()["workers"] if worker["pid"] > 0)

    def stop(self):
        if self.child:
            self.child.stop()
            self.child = None

    def kill(self):
        if self.child:
            self.child.kill()
            self.child = None
            self.admin.unlink(missing_ok=True)


def json_lines(path):
    """The events of a divergence log."""
    path = Path(path)
    if not path.exists():
        return []
    whole = path.read_text().rpartition("\n")[0]  # without a line that is being written
    return [json.loads(line) for line in whole.splitlines()]
