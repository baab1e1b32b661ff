"""What each optional part of a sketcher and its group gains: the same work with it and without it, in
turns of one run. docs/options.md has the figures.

- hedging: reads of a group in which one answer of fifty takes 300 ms: the 99th percentile;
- automatic blacklisting: pages that change from read to read, beside four times as many that do not:
  requests that the origins serve for each read of a changing page;
- coalescing: reads that no origin can answer alone, all of one page, or of a thousand: the time of one;
- tentative execution: ordered operations of one client, 20 ms away from replicas that are 20 ms apart: the
  median time of one;
- import of a history: the first reads of a new sketcher: the time of one."""

import random
import shutil
import statistics
import threading
import time
from contextlib import ExitStack, closing, contextmanager

from bench import pbft
from bench.distance import Distance
from bench.figures import Figure
from bench.pbft_group import FAULTS, Group
from bench.pbft_load import run_load
from bench.wrk import run_wrk
from harness import Deployment, HarnessError
from harness.http_client import RawConnection
from harness.ports import PortReservation
from harness.programs import run_program
from harness.scripted_origin import ScriptedOrigin
from harness.sketcher import Sketcher

VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
CLIENTS = 4
SLOW_SHARE = 0.02
SLOW_S = 0.3
CHANGING_PAGES = 16
STILL_PAGES = 64
CHANGES_EVERY_S = 0.2
LEARNING_ROUNDS = 24
ONE_WAY_S = 0.02


def run(options):
    return [*hedging(options), *blacklisting(options), *coalescing(options), *tentative(options),
            *importing(options)]


def gain(name, unit, without, with_it, parameters):
    """Both values, and how many times less the second one is."""
    return [Figure(name, round(with_it, 4), unit, {"option": "on", **parameters}),
            Figure(name, round(without, 4), unit, {"option": "off", **parameters}),
            Figure(f"{name}, gain", round(without / with_it, 3), "times less", parameters)]


class Origins:
    """Four origins of this process, with one answer for all of them, and the requests that they served."""

    def __init__(self, answer):
        self._answer = answer
        self._lock = threading.Lock()
        self.served = {}
        self._origins = []

    def make(self, _folder, ports):
        self._origins = [ScriptedOrigin(port, self._serve) for port in ports]
        return self

    def _serve(self, head):
        path = head.split(b" ", 2)[1].decode()
        with self._lock:
            self.served[path] = self.served.get(path, 0) + 1
        body = self._answer(path)
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (
            len(body), body)

    def __iter__(self):
        return iter(())  # they have no processes

    def start(self):
        """They serve from the beginning."""

    def stop(self):
        for origin in self._origins:
            origin.close()

    close = stop


@contextmanager
def voting(answer, route):
    origins = Origins(answer)
    with Deployment(agents=False, make_origins=origins.make, sketcher_changes={
            "sketcher": {"workers": 1}, "group": VOTE, "route": route}) as deployment:
        yield deployment, origins


# ---- Hedging -------------------------------------------------------------------

def hedging(options):
    rounds, reads = (1, 300) if options.quick else (3, 1000)
    runs = {True: [], False: []}
    for _ in range(rounds):
        for hedge in runs:
            runs[hedge].append(read_slow_group(hedge, reads))
    return gain("99th percentile of reads", "ms", statistics.median(runs[False]), statistics.median(runs[True]),
                {"what": "hedging", "slow_answers": SLOW_SHARE, "slow_ms": SLOW_S * 1000, "clients": CLIENTS,
                 "reads": CLIENTS * reads})


def read_slow_group(hedge, reads):
    """The 99th percentile in ms."""
    def answer(_path):
        if random.random() < SLOW_SHARE:
            time.sleep(SLOW_S)
        return b"the page"

    times = []
    with voting(answer, {"hedge": hedge}) as (deployment, _):
        def client():
            with closing(RawConnection(deployment.sketcher.port)) as connection:
                for number in range(reads + 100):
                    before = time.monotonic()
                    connection.get("/")
                    if number >= 100:  # by then the worker knows how long an answer takes
                        times.append(time.monotonic() - before)

        threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if len(times) != CLIENTS * reads:
        raise HarnessError(f"{len(times)} of {CLIENTS * reads} reads were answered")
    return statistics.quantiles(times, n=100)[98] * 1000


# ---- Automatic blacklisting ----------------------------------------------------

def blacklisting(options):
    rounds = 6 if options.quick else 12  # 256 reads at once may skip their fast read
    with_it, without = (read_changing_pages(automatic, rounds) for automatic in (True, False))
    return gain("origins' requests for a read of a changing page", "requests", without, with_it,
                {"what": "automatic blacklisting", "changing": CHANGING_PAGES, "still": STILL_PAGES,
                 "reads": rounds * CHANGING_PAGES})


def read_changing_pages(automatic, rounds):
    def answer(path):
        return b"%d" % int(time.monotonic() / CHANGES_EVERY_S) if "changing" in path else b"still"

    with voting(answer, {"automatic_blacklist": automatic}) as (deployment, origins), \
            closing(RawConnection(deployment.sketcher.port)) as connection:
        def read_all():
            until = time.monotonic() + 2 * CHANGES_EVERY_S
            for page in range(STILL_PAGES):
                connection.get(f"/still/{page}")
            for page in range(CHANGING_PAGES):
                connection.get(f"/changing/{page}")
            time.sleep(max(0, until - time.monotonic()))

        for _ in range(LEARNING_ROUNDS):
            read_all()
        before = changing_served(origins)
        for _ in range(rounds):
            read_all()
        return (changing_served(origins) - before) / (rounds * CHANGING_PAGES)


def changing_served(origins):
    return sum(count for path, count in list(origins.served.items()) if "changing" in path)


# ---- Coalescing ----------------------------------------------------------------

def coalescing(options):
    seconds, rounds, urls = (1, 3, 1000) if options.quick else (5, 3, 1000)
    rates = {urls: [], 1: []}
    with Deployment(content={"/1": b"x"}, sketcher_changes={
            "sketcher": {"workers": 1}, "test": {"fail_fast_reads": 1.0}}) as deployment:
        for _ in range(rounds):
            for count, runs in rates.items():
                runs.append(run_wrk(deployment.url + "/1", seconds, 100, count).requests_per_second)
    without, with_it = (1000 / statistics.median(rates[count]) for count in (urls, 1))
    return gain("time of a read of the group", "ms", without, with_it,
                {"what": "coalescing", "connections": 100, "pages": f"{urls}, or 1", "seconds": seconds})


# ---- Tentative execution -------------------------------------------------------

def tentative(options):
    seconds, rounds = (2, 3) if options.quick else (10, 3)
    times = {False: [], True: []}
    with (distant_group({"storage": None}) as committed,
          distant_group({"storage": None, **pbft.TENTATIVE}) as prepared):
        for _ in range(rounds):
            for ahead, group in ((False, committed), (True, prepared)):
                load = run_load(group.folder, group.pids, 1, 0, False, seconds, 0.5, ahead)
                times[ahead].append(load.p50_us / 1000)
    return gain("median of an ordered operation", "ms", statistics.median(times[False]),
                statistics.median(times[True]),
                {"what": "tentative execution", "clients": 1, "bytes": "0/0", "sync": "off",
                 "one_way_ms": ONE_WAY_S * 1000})


@contextmanager
def distant_group(changes):
    """Four replicas that a message needs ONE_WAY_S to reach."""
    with closing(PortReservation(3 * FAULTS + 1)) as ports, ExitStack() as stack:
        def prepare(agent):
            near = ports.ports[agent.number]
            stack.enter_context(closing(Distance(agent.agent_port, near, ONE_WAY_S)))
            text = agent.configuration.read_text()
            agent.configuration.write_text(text.replace("[replica]\n", f'[replica]\nlisten = "127.0.0.1:{near}"\n'))

        with closing(Group(changes, 0, prepare)) as group:
            yield group


# ---- Import of a history -------------------------------------------------------

def importing(options):
    pages = {f"/{number}": f"page {number}\n" for number in range(200 if options.quick else 1000)}
    with Deployment(content=pages, clients=3) as deployment:
        read_pages(deployment.sketcher, pages)
        file = deployment.folder / "history.export"
        transfer("export", deployment.sketcher, file)
        with new_sketcher(deployment, 1025) as cold, new_sketcher(deployment, 1026) as warm:
            transfer("import", warm, file)
            with_it, without = read_pages(warm, pages), read_pages(cold, pages)
    return gain("time of a first read", "ms", without, with_it,
                {"what": "import of a history", "pages": len(pages), "clients": 1})


def transfer(command, sketcher, file):
    result = run_program("prophecyctl", "history", command, "--admin", sketcher.admin, file)
    if result.returncode != 0:
        raise HarnessError(result.stderr)


def read_pages(sketcher, pages):
    """The mean time of a read, in ms."""
    with closing(RawConnection(sketcher.port)) as connection:
        before = time.monotonic()
        for path in pages:
            connection.get(path, "site.example")
        return (time.monotonic() - before) / len(pages) * 1000


@contextmanager
def new_sketcher(deployment, client_id):
    """One more of the same installation, with an empty history."""
    folder = deployment.folder / f"sketcher-{client_id}"
    folder.mkdir()
    key = f"client-{client_id}.key"
    for name in ("group.toml", key, "sketch.key"):
        shutil.copy(deployment.folder / name, folder)
    with closing(PortReservation(1)) as ports:
        sketcher = Sketcher(folder, ports.ports[0], [origin.port for origin in deployment.origins],
                            {"group": {"client_id": client_id, "key_file": key}})
        try:
            sketcher.start()
            yield sketcher
        finally:
            sketcher.stop()
