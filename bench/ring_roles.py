"""How a ring grows. Sketchers that take clients (`request`) and sketchers that own the history (`response`) apart,
under equal load for each: what a verified read costs both roles with more and more members. And, with groups of 4 to
13 replicas, what a verified read costs each role and its origin: with a core for each program, so many sketchers keep
pace with so many replicas (the paper's figure 13), and that role is full first which is the busiest."""

import re
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.cost import cpu_seconds
from bench.figures import Figure
from bench.peers import APACHE, find
from bench.ring_moves import loader
from bench.wrk import run_wrk
from harness import HarnessError
from harness.ring import RingDeployment

CONTENT = {"/1k": b"x" * 1024}
URLS = 400
READS_FEW, READS_MANY = 500, 1500  # at each member, counted
RATE = 300  # reads a second that come to each member
CONNECTIONS = 100
TARGET = 1.05


def run(options):
    return growth(options) + roles(options)


def growth(options):
    figures = []
    first = {}
    for count in (1, 2) if options.quick else (1, 2, 4, 8):
        cpu_us, rate = cpu_of(count, 3 if options.quick else 15)
        common = {"members": f"{count} + {count}"}
        figures += grown("cpu time of both roles", cpu_us, "us/read", {**common, "rate": round(rate)}, first)
        if find("valgrind") and not options.quick:
            figures += grown("instructions of both roles", instructions_of(count), "a read", common, first)
    return figures


def grown(name, value, unit, common, first):
    """Beside the first of its name."""
    figures = [Figure(name, round(value, 1), unit, common)]
    if name in first:
        figures.append(Figure(f"{name}, ratio", round(value / first[name], 3), "times",
                              {**common, "over": "1 + 1", "target": TARGET}))
    first.setdefault(name, value)
    return figures


def apart(count, **options):
    fronts, backs = ([f"{role}{number}" for number in range(count)] for role in ("front", "back"))
    assigned = dict.fromkeys(fronts, "request") | dict.fromkeys(backs, "response")
    return fronts, RingDeployment(members=fronts + backs, roles=assigned, content=CONTENT,
                                  apache_additions=dict.fromkeys(range(4), APACHE), **options)


def cpu_of(count, seconds):
    """In microseconds a read of all members together, and the rate of reads that they answered."""
    fronts, deployment = apart(count)
    with deployment as ring, TemporaryDirectory() as folder, ExitStack() as stack:
        members = [member.child.pid for member in ring.members.values()]
        for front in fronts:
            run_wrk(ring.members[front].url + "/1k", 1, 8, URLS)
        programs = [stack.enter_context(loader(Path(folder) / front, ring.members[front].port,
                                               number * URLS // count, RATE, seconds + 4))
                    for number, front in enumerate(fronts)]
        time.sleep(2)
        before = [reads_of(ring, fronts), cpu_seconds(members), time.monotonic()]
        time.sleep(seconds)
        after = [reads_of(ring, fronts), cpu_seconds(members), time.monotonic()]
        reads, cpu, passed = (now - then for now, then in zip(after, before, strict=True))
        for program, _ in programs:
            _, errors = program.communicate(timeout=60)
            if program.returncode != 0:
                raise HarnessError(f"h2load failed: {errors.strip()}")
        if reads < RATE * count * seconds / 2:
            raise HarnessError(f"{reads} of {RATE * count * seconds} reads were answered")
        return cpu / reads * 1e6, reads / passed


def instructions_of(count):
    """The user's, of all members together: the difference of two runs that differ in their reads alone. Members that
    wait have timers, so both runs take equally long."""
    many, seconds = counted(count, READS_MANY)
    few, _ = counted(count, READS_FEW, seconds)
    return (many - few) / count / (READS_MANY - READS_FEW)


def counted(count, reads, seconds=0):
    """So many reads at each member that takes clients, after one of each URL; and how long the members ran."""
    fronts, deployment = apart(count, start=False)
    with deployment as ring:
        for member in ring.members.values():
            member.wrapper = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"]
        ring.start()
        began = time.monotonic()
        ports = [ring.members[front].port for front in fronts]
        read_all(ports, URLS)
        read_all(ports, reads)
        passed = time.monotonic() - began
        time.sleep(max(0, seconds - passed))
        for member in ring.members.values():
            member.stop()
        logs = [(member.folder / "sketcher.log").read_text() for member in ring.members.values()]
    found = [int(number) for log in logs for number in re.findall(r"Collected : (\d+)", log)]
    if len(found) < len(logs):
        raise HarnessError(f"valgrind has counted {len(found)} of {len(logs)} members")
    return sum(found), passed


def read_all(ports, reads):
    """So many at each, at once."""
    with TemporaryDirectory() as folder:
        programs = []
        for port in ports:
            uris = Path(folder) / str(port)
            uris.write_text("".join(f"http://127.0.0.1:{port}/1k?{number + 1}\n" for number in range(URLS)))
            programs.append(subprocess.Popen(["h2load", "--h1", "--threads", "1", "--clients", str(CONNECTIONS),
                                              "--requests", str(reads), "--input-file", str(uris)],
                                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True))
        outputs = [program.communicate(timeout=300)[0] for program in programs]
    if any(f"{reads} succeeded" not in output for output in outputs):
        raise HarnessError("h2load: " + " ".join(outputs))


def reads_of(ring, names):
    return sum(ring.members[name].counters()["reads"] for name in names)


def roles(options):
    figures = []
    for faults in (1, 2) if options.quick else (1, 2, 3, 4):
        replicas = 3 * faults + 1
        with RingDeployment(members=["front", "back"], roles={"front": "request", "back": "response"},
                            faults=faults, content=CONTENT,
                            apache_additions=dict.fromkeys(range(replicas), APACHE)) as ring:
            programs = {"request": [ring.members["front"].child.pid],
                        "response": [ring.members["back"].child.pid],
                        "origin": [origin.child.pid for origin in ring.origins]}
            url = ring.url + "/1k"
            run_wrk(url, 1, CONNECTIONS, URLS)
            before = {role: cpu_seconds(pids) for role, pids in programs.items()}
            result = run_wrk(url, 2 if options.quick else 10, CONNECTIONS, URLS)
            if result.errors:
                raise HarnessError(f"{result.errors} of {result.requests} requests failed")
            cost = {role: (cpu_seconds(pids) - before[role]) / result.requests * 1e6
                    for role, pids in programs.items()}
        figures += role_figures(replicas, cost)
    return figures


def role_figures(replicas, cost):
    """`cost`: by role, in microseconds a read."""
    common = {"replicas": replicas, "urls": URLS}
    figures = [Figure("cpu time of a role", round(value, 1), "us/read", {"role": role, **common})
               for role, value in cost.items()]
    # Each read is answered by one origin: a core for each of them serves so many reads a second.
    reads = replicas / cost["origin"] * 1e6
    figures.append(Figure("reads of all origins", round(reads), "reads/s", common))
    figures += [Figure("sketchers that keep pace", round(replicas * cost[role] / cost["origin"], 2), "sketchers",
                       {"role": role, **common}) for role in ("request", "response")]
    one_each = {**cost, "origin": cost["origin"] / replicas}
    figures.append(Figure("full first", max(one_each, key=one_each.get), "", {"sketchers": "1 + 1", **common}))
    return figures
