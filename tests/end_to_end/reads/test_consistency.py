"""What concurrent clients see of the real system under faults is delay-once linearizable
(docs/consistency.md), and the same check finds a system that does not verify.

PROPHECY_CONSISTENCY_SECONDS makes the run under faults longer than its 15 s.
"""

import os
import random
import re
import shutil
import signal
import threading
import time
from contextlib import contextmanager

import pytest

from harness import Deployment
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection
from harness.ports import PortReservation
from harness.processes import HarnessError, wait_until
from harness.programs import run_program
from harness.recording_clients import RecordingClients
from harness.sketcher import Sketcher

SECONDS = int(os.environ.get("PROPHECY_CONSISTENCY_SECONDS", "15"))
PAGES = ["/a", "/b", "/c"]
INITIAL = "initial"
AUDITED = "audit.example"
ROUTES = [{"name": "read", "reads": "delay-once"},
          {"name": "audited", "hosts": [AUDITED], "reads": "replicated"}]
LIAR = 3
OTHER = "/other"
FLOODS = 3


def deployment_with(routes, clients=1, table=None):
    """Quarantine would take the liar's origin out of the draw."""
    return Deployment(content={page: INITIAL for page in [*PAGES, OTHER]}, clients=clients,
                      sketcher_changes={"sketcher": {"workers": 2}, "route": routes,
                                        "group": {"deadline": "3s",
                                                  "health": ALWAYS_DRAWN},
                                        "table": table or {}})


def second_sketcher(deployment, port):
    """Its writes pass the first one by: it has a history of its own."""
    folder = deployment.folder / "other"
    folder.mkdir()
    for name in ("group.toml", "client-1025.key", "sketch.key"):
        shutil.copy(deployment.folder / name, folder)
    return Sketcher(folder, port, [origin.port for origin in deployment.origins],
                    {"group": {"client_id": 1025, "key_file": "client-1025.key"}})


def check(clients, folder):
    file = folder / "history"
    file.write_text(clients.record())
    return run_program("prophecy-consistency", "check", file, timeout_s=120)


def stale_reads(checked):
    return int(re.search(r"(\d+) stale reads", checked)[1])


class Liar(threading.Thread):
    """Puts back what one origin had before, or what another page has, or nonsense, or nothing."""

    def __init__(self, origin, seed, removing):
        super().__init__()
        self.origin = origin
        self.removing = removing
        self.random = random.Random(f"liar {seed}")
        self.lies = 0
        self._stop_event = threading.Event()

    def run(self):
        former = {page: [INITIAL.encode()] for page in PAGES}
        while not self._stop_event.wait(0.004):
            page = self.random.choice(PAGES)
            now = self.origin.read(page)
            if now is not None and now not in former[page]:
                former[page].append(now)
            self.lies += 1
            if self.random.random() < self.removing:
                self.origin.remove(page)
                continue
            draw = self.random.random()
            of = page if draw < 0.9 else self.random.choice(PAGES)
            lie = self.random.choice(former[of][-4:]) if draw < 0.97 else b"nonsense"
            self.origin.write(page, lie)

    def stop(self):
        self._stop_event.set()
        self.join()


class Flood(threading.Thread):
    """Asks for one URL after the other that nobody has asked for before."""

    def __init__(self, port, number):
        super().__init__()
        self.port = port
        self.number = number
        self._stop_event = threading.Event()

    def run(self):
        connection = None
        count = 0
        while not self._stop_event.is_set():
            count += 1
            try:
                connection = connection or RawConnection(self.port)
                connection.get(f"{OTHER}?{self.number}-{count}")
            except (OSError, HarnessError):  # a worker was killed
                if connection:
                    connection.close()
                connection = None
        if connection:
            connection.close()

    def stop(self):
        self._stop_event.set()
        self.join()


@contextmanager
def flooded(sketcher):
    """The history has no room left, and evicts something for every new URL."""
    floods = [Flood(sketcher.port, number) for number in range(FLOODS)]
    for flood in floods:
        flood.start()
    try:
        wait_until(lambda: evictions(sketcher) > 0, 60, "the history to be full")
        yield
    finally:
        for flood in floods:
            flood.stop()


def evictions(sketcher):
    return sketcher.status()["history"]["evictions"]


def one_round_of_faults(deployment, late):
    """Whatever fails beside the liar's origin is an agent that is late. Yields at each pause."""
    origin = deployment.origins[LIAR]
    origin.pause()
    yield
    origin.resume()
    yield
    origin.kill()
    yield
    origin.start()
    yield
    os.kill(deployment.sketcher.workers()[0], signal.SIGKILL)
    yield
    late.pause()
    yield
    late.resume()
    yield


def inject_faults(deployment, seconds):
    end = time.monotonic() + seconds
    faults = 0
    while time.monotonic() < end:
        for _ in one_round_of_faults(deployment, deployment.agents[faults % LIAR]):
            faults += 1
            time.sleep(0.9)
    return faults


@contextmanager
def lying(origin, seed, removing=0.05):
    liar = Liar(origin, seed, removing)
    liar.start()
    try:
        yield liar
    finally:
        liar.stop()


@contextmanager
def reservation(count):
    reserved = PortReservation(count)
    try:
        yield reserved.ports
    finally:
        reserved.close()


@contextmanager
def running(sketcher):
    try:
        sketcher.start()
        yield sketcher
    finally:
        sketcher.stop()


@pytest.mark.time_limit(SECONDS + 150)
def test_histories_under_faults_are_delay_once_linearizable(tmp_path):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    with (deployment_with(ROUTES, clients=2, table={"size": "64KiB"}) as deployment,
          reservation(1) as ports, running(second_sketcher(deployment, ports[0])) as other,
          flooded(deployment.sketcher), lying(deployment.origins[LIAR], seed) as liar):
        port = deployment.sketcher.port
        mixed = [("read", port, "localhost", 90), ("publish", port, "localhost", 6),
                 ("audit", port, AUDITED, 4)]
        with RecordingClients(PAGES, INITIAL, [mixed] * 5 + [[("write", other.port, "localhost", 1)]],
                              seed, pause_s=0.002) as clients:
            faults = inject_faults(deployment, SECONDS)
        status = deployment.sketcher.status()
        result = check(clients, tmp_path)
        print(result.stdout, clients.operations(), status)
        assert result.returncode == 0, result.stdout + result.stderr
        assert faults > 0 and liar.lies > 100
        assert clients.operations() > 20 * SECONDS
        assert status["requests"]["fast"] > 5 * SECONDS
        # What may go wrong was there: lies that were drawn, old answers that were delivered, and
        # entries that were forgotten.
        assert status["origins"][LIAR]["divergences"] > 2 * SECONDS
        assert stale_reads(result.stdout) > SECONDS / 5
        assert status["history"]["evictions"] > 5 * SECONDS


@pytest.mark.time_limit(SECONDS + 150)
def test_writes_that_make_nothing_out_of_date_are_found_out(tmp_path):
    """The same record and check, with write_invalidation off: some read after a write is older."""
    routes = [{"name": "read", "reads": "delay-once", "write_invalidation": False}]
    with (deployment_with(routes) as deployment, lying(deployment.origins[LIAR], 1, removing=0)):
        mixed = [("read", deployment.sketcher.port, "localhost", 9),
                 ("publish", deployment.sketcher.port, "localhost", 1)]
        with RecordingClients(PAGES, INITIAL, [mixed] * 3, 1) as clients:
            wait_until(lambda: clients.operations() > 3000, 60, "the clients to read enough")
        result = check(clients, tmp_path)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "no instants can be found" in result.stdout


@pytest.mark.parametrize(("removing", "writes"), [(0.05, 1), (1, 0)])
def test_a_route_that_does_not_verify_is_found_out(tmp_path, removing, writes):
    """The same clients, record and check; only the sketcher's verification is off. Without writes,
    pages that are made to vanish are enough."""
    with (deployment_with([{"name": "unverified", "mode": "off"}]) as deployment,
          lying(deployment.origins[LIAR], 1, removing)):
        mixed = [("read", deployment.sketcher.port, "localhost", 9),
                 ("write", deployment.sketcher.port, "localhost", writes)]
        with RecordingClients(PAGES, INITIAL, [mixed] * 3, 1) as clients:
            wait_until(lambda: clients.operations() > 600, 30, "the clients to read enough")
        result = check(clients, tmp_path)
        assert result.returncode == 1, result.stdout + result.stderr
        assert "no instants can be found" in result.stdout
