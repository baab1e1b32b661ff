"""Shadows: origins that get copies of reads and are compared. Whatever they are, clients do not notice."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from harness import Deployment
from harness.apache import Apache
from harness.http_client import curl
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.replicas import ctl
from harness.scripted_origin import ScriptedOrigin

PAGE = b"<p>The page.</p>\n"
KINDS = {
    "vote": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None},
    "pbft": {},
}


class World:
    """Four Apaches, and one shadow, which `start` makes of a folder and a port."""

    def __init__(self, start, kind="vote", **shadow):
        self.ports = PortReservation(2)
        port, self.metrics_port = self.ports.ports
        settings = {"address": f"127.0.0.1:{port}", "share": 1.0, **shadow}
        self.deployment = Deployment(
            content={"/index.html": PAGE, "/static/other": PAGE}, agents=kind == "pbft",
            start=False, sketcher_changes={
                "sketcher": {"metrics": f"127.0.0.1:{self.metrics_port}"},
                "group": {**KINDS[kind], "shadow": [settings]}})
        self.shadow = start(self.deployment.folder, port)

    def __enter__(self):
        self.deployment.__enter__()
        self.deployment.start()
        return self

    def __exit__(self, *arguments):
        try:
            self.deployment.__exit__(*arguments)
        finally:
            if self.shadow:
                self.shadow.stop() if isinstance(self.shadow, Apache) else self.shadow.close()
            self.ports.close()

    def status(self):
        [shadow] = self.deployment.sketcher.status()["shadows"]
        return shadow

    def metrics(self):
        """{name with labels: value}, of shadows."""
        page = curl(f"http://127.0.0.1:{self.metrics_port}/metrics").body.decode()
        lines = [line for line in page.splitlines() if line.startswith("prophecy_shadow")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    def read(self, count, path="/"):
        """Each has to be right, and at once."""
        for _ in range(count):
            begun = time.monotonic()
            answer = curl(self.deployment.url + path)
            assert (answer.status, answer.body) == (200, PAGE)
            assert time.monotonic() - begun < 2

    def wait_for(self, **counts):
        wait_until(lambda: all(self.status()[name] >= count for name, count in counts.items()),
                   20, f"a shadow with {counts}")
        return self.status()


def apache(content):
    def start(folder, port):
        origin = Apache(folder / "shadow", port, "shadow")
        origin.write("/index.html", content)
        origin.write("/static/other", content)
        origin.start()
        return origin
    return start


def scripted(answer):
    return lambda _folder, port: ScriptedOrigin(port, answer)


@pytest.mark.parametrize("kind", ["vote", "pbft"])
def test_a_shadow_that_is_equal(kind):
    with World(apache(PAGE), kind) as world:
        world.read(20)
        shadow = world.wait_for(equal=20)
        assert (shadow["different"], shadow["outdated"], shadow["failed"]) == (0, 0, 0)
        assert world.deployment.sketcher.divergences() == []


@pytest.mark.parametrize("kind", ["vote", "pbft"])
def test_a_shadow_that_differs_is_seen_and_served_to_nobody(kind):
    with World(apache(b"<p>Tomorrow's page.</p>\n"), kind) as world:
        world.read(40)
        shadow = world.wait_for(different=40)
        assert (shadow["equal"], shadow["failed"]) == (0, 0)
        events = world.deployment.sketcher.divergences()
        # The first ten answers, and no more in so short a time.
        assert len(events) == 10
        for event in events:
            assert (event["role"], event["kind"], event["replica"]) == ("shadow", "shadow", 0)
            assert event["differs"][-1] == {"part": "body", "offset": 4}
            assert event["request"]["target"] == "/"
        status = world.deployment.sketcher.status()
        # Neither is an origin, and nobody is accused.
        assert len(status["origins"]) == 4
        assert status["divergences"] == 0
        assert all(origin["divergences"] == 0 and origin["state"] == "ready"
                   for origin in status["origins"])
        metrics = world.metrics()
        assert [value for name, value in metrics.items()
                if name.startswith("prophecy_shadow_reads_total") and 'result="different"' in name
                ] == [40]
        assert [value for name, value in metrics.items()
                if name.startswith("prophecy_shadow_exchanges_total") and 'end="answered"' in name
                ] == [40]
        admin = world.deployment.sketcher.admin
        assert "shadow default/0" in ctl("divergences", "--admin", admin)
        assert "different" in ctl("origin", "list", "--admin", admin)


def test_a_shadow_gets_what_the_verified_answer_was_given_to():
    """From the group's read constants in place of the client's own, from a fast read these."""
    seen = []

    def answer(head):
        seen.append(head)
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    with World(scripted(answer)) as world:
        for count in (1, 2):
            assert curl(world.deployment.url + "/", "-A", "a client").body == PAGE
            world.wait_for(different=count)
    fields = [{line.split(b": ")[1] for line in head.lower().split(b"\r\n")
               if line.startswith((b"user-agent:", b"x-forwarded-for:"))} for head in seen]
    assert fields == [{b"prophecy", b"192.0.2.1"}, {b"a client", b"127.0.0.1"}]


def test_writes_are_not_copied():
    seen = []

    def answer(head):
        seen.append(head)
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

    with World(scripted(answer), "pbft") as world:
        assert curl(world.deployment.url + "/new", "-X", "PUT", "--data-binary", "x").status == 201
        world.read(3)
        world.wait_for(different=3)
        assert len(seen) == 3 and all(head.startswith(b"GET / ") for head in seen)


def test_content_that_changes_meanwhile_is_no_difference():
    """The shadow answers with the old page, late; the group and the history have gone on."""
    def late(_head):
        time.sleep(2)
        yield (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b"
               % (len(b"old"), b"old"))

    with World(scripted(late)) as world:
        world.read(1)
        for origin in world.deployment.origins:
            origin.write("/index.html", b"new")
        assert curl(world.deployment.url + "/").body == b"new"
        shadow = world.wait_for(outdated=1)
        assert shadow["different"] <= 1  # of the second read, which found the new page


def endless(_head):
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    while True:
        yield b"10000\r\n" + 65536 * b"x" + b"\r\n"


def dripping(_head):
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    while True:
        time.sleep(0.2)
        yield b"x"


def hanging(_head):
    time.sleep(30)
    yield b""


@pytest.mark.parametrize("answer, failure", [
    (endless, "too-large"), (dripping, "timed-out"), (hanging, "timed-out"),
    (lambda head: [b"What?\r\n\r\n"], "malformed")])
def test_a_broken_shadow_is_counted_and_left_alone(answer, failure):
    with World(scripted(answer), timeout="500ms", connections_max=2, queue_max=2) as world:
        world.read(20)
        world.wait_for(failed=1)
        world.read(20)
        shadow = world.status()
        assert shadow["failures"][failure] > 0
        assert shadow["dropped"] > 0
        assert shadow["equal"] + shadow["failed"] + shadow["dropped"] <= 40
        assert world.deployment.sketcher.divergences() == []


def test_a_dead_shadow_and_one_that_comes_back():
    with World(lambda folder, port: None) as world:
        world.read(10)
        assert world.wait_for(failed=1)["failures"]["not-sent"] > 0
        world.shadow = apache(PAGE)(world.deployment.folder, world.ports.ports[0])

        def read_again():
            world.read(1)
            return world.status()["equal"] > 0
        wait_until(read_again, 20, "the shadow to be tried again")


def test_answers_that_are_too_large_are_not_copied():
    with World(apache(PAGE), body="1KiB") as world:
        for origin in world.deployment.origins:
            origin.write("/static/large", 2000 * b"x")
        assert len(curl(world.deployment.url + "/static/large").body) == 2000
        assert world.wait_for(dropped=1)["failed"] == 0


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost_of_a_read(world):
    """CPU of the worker, in seconds: the least of three short runs, as other programs share the machine."""
    [worker] = world.deployment.sketcher.workers()
    costs = []
    for _ in range(3):
        before = cpu_seconds(worker)
        output = subprocess.run(["h2load", "--h1", "-c", "20", "-t", "1", "-n", "20000",
                                 world.deployment.url + "/static/other"],
                                capture_output=True, text=True, check=True, timeout=120).stdout
        assert "20000 succeeded, 0 failed, 0 errored, 0 timeout" in output
        costs.append((cpu_seconds(worker) - before) / 20000)
    return min(costs)


def test_a_hung_shadow_costs_nothing():
    costs = {}
    for name, share in (("without", 0.0), ("hung", 1.0)):
        with World(scripted(hanging), share=share, timeout="500ms") as world:
            world.read(3)
            costs[name] = cost_of_a_read(world)
            shadow = world.status()
            if share:
                assert shadow["dropped"] > 50_000
                assert shadow["failed"] <= 40
            else:
                assert shadow["dropped"] == shadow["failed"] == 0
    assert costs["hung"] < 1.25 * costs["without"], costs
