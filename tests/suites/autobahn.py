"""Autobahn's WebSocket testsuite: its echo server and its fuzzing client."""

import json

from suite_tools import FOLDER, run, suite_folder

from harness.ports import accepts_connections
from harness.processes import Child

START = "from autobahntestsuite.wstest import run; run()"
# Left out: thousands of round trips (9.7, 9.8) and compression (12, 13), which take hours.
EXCLUDED = ["9.7.*", "9.8.*", "12.*", "13.*"]


def installed():
    return any(path.is_dir() for path in FOLDER.glob("autobahn-*"))


def _command(*arguments):
    folder = suite_folder("autobahn")
    return [folder / "python2.7", "-c", START, *arguments], {"PYTHONUSERBASE": str(folder)}


class EchoServer:
    """Context manager."""

    def __init__(self, folder, port):
        self.port = port
        self._log = folder / f"echo-{port}.log"

    def __enter__(self):
        command, environment = _command("-m", "echoserver", "-u", "0",
                                        "-w", f"ws://127.0.0.1:{self.port}")
        self._child = Child("echo server", command, self._log, environment)
        self._child.wait_ready(lambda: accepts_connections(self.port), 30)
        return self

    def __exit__(self, *_):
        self._child.stop()


def fuzz(folder, port):
    """{case: (behaviour, how it closed)} of the server behind a port."""
    folder.mkdir()
    specification = folder / "client.json"
    specification.write_text(json.dumps({
        "outdir": str(folder), "cases": ["*"], "exclude-cases": EXCLUDED,
        "exclude-agent-cases": {}, "options": {"failByDrop": False},
        "servers": [{"agent": "server", "url": f"ws://127.0.0.1:{port}"}]}))
    command, environment = _command("-m", "fuzzingclient", "-s", specification)
    _, output = run(command, 400, environment, cwd=folder)
    report = folder / "index.json"
    assert report.exists(), output[-4000:]
    return {case: (result["behavior"], result["behaviorClose"])
            for case, result in json.loads(report.read_text())["server"].items()}
