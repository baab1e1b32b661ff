"""A sketcher that pipelines, as by default, and one that asks one at a time, in turns of one run, before the
same four Apaches: quick pages, pages that take 100 ms, and files of 1 MiB; one origin closes its connections
after 100 answers, and one hangs. The load is an open loop: requests of each kind at a fixed rate, in all 70 % of
what the slower sketcher can do. Every answer has to come, and none later for the sharing of connections.

In the last case no origin hangs. A liar holds some of its answers to quick pages back, drawn at random: what that
adds to the times of quick pages is compared."""

import shutil
import statistics
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

from bench.cost import cpu_seconds
from bench.figures import Figure
from bench.h2load import parse_h2load
from bench.peers import APACHE
from bench.wrk import run_wrk
from harness import Deployment, HarnessError
from harness.apache import SLOW_PAGE
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection
from harness.ports import PortReservation
from harness.sketcher import Sketcher

CONTENT = {"/1k": b"x" * 1024, "/1m": b"x" * (1 << 20)}
SLOW_S = 0.1
PAGES = {"quick": "/1k", "slow": SLOW_PAGE, "large": "/1m"}
PIPELINED, ALONE = "pipelined", "one at a time"
CLIENTS = 100
SHARE = 0.7  # of what the slower one can do
# A second, beside the quick ones: what they cost is a small part.
RATES = {"slow": 20, "large": 10}
CLOSING, LIAR = 2, 3
HANGS, DELAYS = "hangs", "delays"
# The liar holds back one in so many of its answers, which is one in four times as many of all answers: these alone
# do not reach the 99th percentile.
LATE_ONE_IN = 100
LATE_S = 0.1
GROUP = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}


@dataclass(frozen=True)
class Case:
    liar: str  # what it does
    always_drawn: bool  # health takes no origin out of the draw: the worst that a liar can do


CASES = (Case(HANGS, False), Case(HANGS, True), Case(DELAYS, True))


def changes(pipeline_max, always_drawn):
    group = {**GROUP, "health": ALWAYS_DRAWN} if always_drawn else GROUP
    return {"sketcher": {"workers": 1}, "group": group, "origins": {"pipeline_max": pipeline_max}}


def run(options):
    return [figure for case in CASES for figure in measure(options, case)]


def measure(options, case):
    with Deployment(agents=False, content=CONTENT, apache_additions=dict.fromkeys(range(4), APACHE),
                    sketcher_changes=changes(16, case.always_drawn), start=False) as deployment:
        for origin in deployment.origins:
            origin.add_slow_page(SLOW_S)
        deployment.origins[CLOSING].additions += "MaxKeepAliveRequests 100\n"
        if case.liar == DELAYS:
            deployment.origins[LIAR].delay_answers(PAGES["quick"], LATE_ONE_IN, LATE_S)
        deployment.start()
        ports = PortReservation(1)
        folder = deployment.folder / "alone"
        folder.mkdir()
        shutil.copy(deployment.folder / "sketch.key", folder)
        alone = Sketcher(folder, ports.ports[0], [origin.port for origin in deployment.origins],
                         changes(1, case.always_drawn))
        try:
            alone.start()
            sketchers = {PIPELINED: deployment.sketcher, ALONE: alone}
            for sketcher in sketchers.values():
                warm_up(sketcher)
            return measure_both(options, deployment.origins[LIAR], sketchers, case)
        finally:
            alone.stop()
            ports.close()


def warm_up(sketcher):
    with RawConnection(sketcher.port) as connection:
        for _ in range(8):
            for path in PAGES.values():
                if connection.get(path).status != 200:
                    raise HarnessError(f"{path} is not served")


def measure_both(options, liar, sketchers, case):
    seconds, rounds = (2, 1) if options.quick else (8, 5)
    rate = SHARE * min(capacity(sketcher, 1 if options.quick else 4) for sketcher in sketchers.values())
    common = {"liar": case.liar, "rate": round(rate), "always_drawn": case.always_drawn, "clients": CLIENTS,
              "seconds": seconds, "rounds": rounds}
    if case.liar == DELAYS:
        before = in_turn(sketchers, rate, seconds, rounds)
        liar.begin_delays()
        after = in_turn(sketchers, rate, seconds, rounds)
        return mixed_figures(after, common) + rises(before, after, common)
    liar.pause()
    try:
        for sketcher in sketchers.values():
            load(sketcher, rate, seconds)  # until health knows
        return mixed_figures(in_turn(sketchers, rate, seconds, rounds), common)
    finally:
        liar.resume()


def in_turn(sketchers, rate, seconds, rounds):
    runs = {name: [] for name in sketchers}
    for _ in range(rounds):
        for name, sketcher in sketchers.items():
            runs[name].append(load(sketcher, rate, seconds))
    return runs


def rises(before, after, common):
    """How much longer a quick page takes once the liar holds answers back."""
    figures = []
    for name in after:
        was, is_now = (statistics.median(result["quick"].p99_us for result in runs[name]) / 1000
                       for runs in (before, after))
        figures.append(Figure("p99 rise", round(is_now - was, 3), "ms",
                              {"sketcher": name, "page": "quick", "before_ms": was, **common}))
    return figures


def mixed_figures(runs, common):
    figures = []
    medians = {}
    for name, results in runs.items():
        errors = sum(result[kind].errors for result in results for kind in PAGES)
        figures.append(Figure("errors", errors, "requests", {"sketcher": name, **common}))
        figures.append(Figure("cpu time", statistics.median(result["cpu_us"] for result in results),
                              "us/request", {"sketcher": name, **common}))
        for kind in PAGES:
            medians[name, kind] = statistics.median(result[kind].p99_us for result in results)
            figures.append(Figure("p99", medians[name, kind] / 1000, "ms",
                                  {"sketcher": name, "page": kind,
                                   "p50_ms": statistics.median(result[kind].p50_us for result in results)
                                   / 1000,
                                   **common, "runs": [result[kind].p99_us for result in results]}))
    for kind in PAGES:
        figures.append(Figure("p99 ratio", medians[PIPELINED, kind] / medians[ALONE, kind], "times",
                              {"sketcher": PIPELINED, "over": ALONE, "page": kind, **common}))
    return figures


def capacity(sketcher, seconds):
    return run_wrk(f"http://127.0.0.1:{sketcher.port}{PAGES['quick']}", seconds, CLIENTS).requests_per_second


def load(sketcher, rate, seconds):
    """All kinds at once: how each fared, and what a request cost the sketcher."""
    results = {}
    rates = {"quick": rate, **RATES}
    threads = [threading.Thread(target=lambda kind=kind: results.update(
        {kind: open_loop(sketcher, PAGES[kind], rates[kind], seconds)})) for kind in PAGES]
    before = cpu_seconds([sketcher.child.pid])
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    used = cpu_seconds([sketcher.child.pid]) - before
    if set(results) != set(PAGES):
        raise HarnessError("a load has failed")
    return {**results, "cpu_us": used / max(1, sum(each.requests for each in results.values())) * 1e6}


def open_loop(sketcher, path, rate, seconds):
    """Each client asks at a rate so low that it hardly ever waits for itself."""
    clients = CLIENTS if rate > CLIENTS else max(1, round(rate))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests.tsv"
        result = subprocess.run(["h2load", "--h1", "--threads", "1", "--clients", str(clients),
                                 "--rps", f"{rate / clients:.3f}", "--duration", str(seconds),
                                 "--log-file", str(log), f"http://127.0.0.1:{sketcher.port}{path}"],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=seconds + 60, check=False)
        if result.returncode != 0:
            raise HarnessError(f"h2load failed: {result.stderr.strip() or result.stdout.strip()}")
        return parse_h2load(result.stdout, log.read_text())
