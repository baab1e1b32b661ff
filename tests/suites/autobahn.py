"""Autobahn's WebSocket testsuite: its echo server and its fuzzing client."""

import json

from suite_tools import FOLDER, run, suite_folder

from harness.ports import accepts_connections
from harness.processes import Child

START = "from autobahntestsuite.wstest import run; run()"
# Autobahn's server wants its clients to name the port that it is known by in Host.
SERVE = """
import sys
from twisted.internet import reactor
from autobahntestsuite.echo import EchoServerFactory
port, known_as = sys.argv[1:]
reactor.listenTCP(int(port), EchoServerFactory("ws://127.0.0.1:" + known_as), interface="127.0.0.1")
reactor.run()
"""
# Left out, since they take hours: 9.7 and 9.8, thousands of round trips of one message, which say how
# quick a server is; 12 and 13, a thousand messages in each of 216 cases, compressed. Compression is
# agreed on end to end, in fields that pass like any other, and what it makes are bytes to a tunnel;
# test_tunnels.py has a client that compresses.
EXCLUDED = ["9.7.*", "9.8.*", "12.*", "13.*"]


def installed():
    return any(path.is_dir() for path in FOLDER.glob("autobahn-*"))


def _command(program, *arguments):
    folder = suite_folder("autobahn")
    return [folder / "python2.7", "-c", program, *arguments], {"PYTHONUSERBASE": str(folder)}


class EchoServer:
    """Context manager. `known_as` is the port that clients connect to, where that is another."""

    def __init__(self, folder, port, known_as=None):
        self.port = port
        self._known_as = known_as or port
        self._log = folder / f"echo-{port}.log"

    def __enter__(self):
        command, environment = _command(SERVE, self.port, self._known_as)
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
    command, environment = _command(START, "-m", "fuzzingclient", "-s", specification)
    _, output = run(command, 400, environment, cwd=folder)
    report = folder / "index.json"
    assert report.exists(), output[-4000:]
    return {case: (result["behavior"], result["behaviorClose"])
            for case, result in json.loads(report.read_text())["server"].items()}
