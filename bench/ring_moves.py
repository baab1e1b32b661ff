"""What clients see of a ring whose members come and go: one member drains, joins again, and is killed at last,
while an open loop of reads comes in at another one. Nobody writes, so a replicated read is one for which the
partition's new owner had no entry yet.

The time before each change is the measure for the time behind it, both as long."""

import contextlib
import subprocess
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure
from bench.peers import APACHE
from bench.wrk import run_wrk
from harness import HarnessError
from harness.ring import LivingRing

MEMBERS = ["a", "b", "c"]
MOVING = "c"  # the clients' one is a
LEASE_S = 4  # as by default
CONTENT = {"/1k": b"x" * 1024}
URLS = 400
CLIENTS = 400
LOADERS = 8
SHARE = 0.3  # of what the ring can do in a closed loop
P99_RATIO_MAX = 2
WARM_S_MAX = 10
BEYOND_LEASE_S_MAX = 2
LOOK_S = 0.25


@dataclass
class Answer:
    began: float  # by time.time()
    status: int
    seconds: float


def run(options):
    window = 5 if options.quick else 10
    with LivingRing(members=MEMBERS, lease=f"{LEASE_S}s", content=CONTENT, ring_changes={"owner_wait": "15s"},
                    apache_additions=dict.fromkeys(range(4), APACHE)) as ring:
        capacity = run_wrk(ring.url + "/1k", 2, 100, URLS).requests_per_second
        rate = round(SHARE * capacity)
        events = {"drain": lambda: ring.drain_at_once(MOVING), "join": lambda: ring.rejoin(MOVING),
                  "crash": lambda: ring.members[MOVING].kill()}
        with Watch(ring) as watch:
            answers, begun = load(ring.sketcher.port, rate, window, events)
        common = {"members": len(MEMBERS), "urls": URLS, "rate": rate, "window_s": window}
        return [figure for event, instant in begun.items()
                for figure in figures_of(event, instant, answers, watch, window, common)]


def load(port, rate, window, events):
    """The events one after the other, each between two windows; all requests, and when each event began."""
    begun = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        # All clients of a program go through the URLs in step: so each program begins with another one.
        loaders = [stack.enter_context(loader(Path(folder) / str(number), port, number * URLS // LOADERS,
                                              rate / LOADERS, 2 * window * len(events) + 2))
                   for number in range(LOADERS)]
        time.sleep(1)
        for event, begin in events.items():
            time.sleep(window)
            begun[event] = time.time()
            begin()
            time.sleep(max(0, begun[event] + window - time.time()))
        answers = []
        for program, log in loaders:
            _, errors = program.communicate(timeout=60)
            if program.returncode != 0:
                raise HarnessError(f"h2load failed: {errors.strip()}")
            for line in log.read_text().splitlines():
                began, status, microseconds = map(int, line.split("\t"))
                answers.append(Answer(began / 1e6, status, microseconds / 1e6))
        return answers, begun


@contextlib.contextmanager
def loader(folder, port, first, rate, seconds):
    """An open loop: each client asks at a rate so low that it waits for itself only while others wait, too."""
    folder.mkdir()
    uris, log = folder / "uris", folder / "requests.tsv"
    uris.write_text("".join(f"http://127.0.0.1:{port}/1k?{(first + number) % URLS + 1}\n" for number in range(URLS)))
    clients = CLIENTS // LOADERS
    with subprocess.Popen(["h2load", "--h1", "--threads", "1", "--clients", str(clients),
                           "--rps", f"{rate / clients:.3f}", "--duration", str(seconds), "--log-file", str(log),
                           "--input-file", str(uris)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as program:
        try:
            yield program, log
        finally:
            program.kill()


class Watch:
    """The replicated reads of the members that stay, over time."""

    def __init__(self, ring):
        self._ring = ring
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._seen = []

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _look(self):
        while not self._over.wait(LOOK_S):
            counts = {}
            for name, member in self._ring.members.items():
                with contextlib.suppress(HarnessError):  # it was killed
                    counts[name] = member.counters()["replicated"] if member.child else 0
            self._seen.append((time.time(), counts))

    def warm_after(self, begin, end):
        """The seconds from `begin` on until a member made a replicated read for the last time, and how many."""
        last, total = begin, 0
        for (_, before), (instant, after) in zip(self._seen, self._seen[1:], strict=False):
            if begin <= instant < end:
                made = sum(after[name] - before.get(name, 0) for name in after)
                total += made
                last = instant if made else last
        return last - begin, total


def p99_s(answers):
    times = sorted(answer.seconds for answer in answers)
    if not times:
        raise HarnessError("no request was answered")
    return times[min(len(times) - 1, int(0.99 * len(times)))]


def figures_of(event, instant, answers, watch, window, common):
    before = [answer for answer in answers
              if instant - window <= answer.began and answer.began + answer.seconds < instant]
    after = [answer for answer in answers if instant <= answer.began < instant + window]
    failed = sum(not 200 <= answer.status < 300 for answer in after)
    warm_s, replicated = watch.warm_after(instant, instant + window)
    common = {"event": event, **common}
    figures = [Figure("failed", failed, "requests", {**common, "requests": len(after)}),
               Figure("longest", round(max(answer.seconds for answer in after) * 1000, 1), "ms", common),
               Figure("warm after", round(warm_s, 2), "s", {**common, "replicated": replicated,
                                                            "target": WARM_S_MAX})]
    if event == "crash":
        figures[1].parameters["target"] = 1000 * (LEASE_S + BEYOND_LEASE_S_MAX)
        return figures
    was, is_now = p99_s(before) * 1000, p99_s(after) * 1000
    figures.append(Figure("p99 ratio", round(is_now / was, 2), "times",
                          {**common, "before_ms": round(was, 2), "behind_ms": round(is_now, 2),
                           "target": P99_RATIO_MAX}))
    return figures
