"""Reads of a 1-byte page from four Apaches through each of the proxied systems (the paper's
figure 9), what one of them costs in CPU time, and what a waiting client costs in memory.

All systems are measured in two settings of the sketcher: with up to 16 fast reads pipelined on a
connection to an origin, as by default, and with one at a time.

Equal reads that the group is asked for at the same time share one call. With one page, 100 clients
share most of their calls; with 1,000 URLs, one after the other, hardly any."""

import re
import resource
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import hpack

from bench.cost import cpu_seconds, proportional_memory_bytes
from bench.figures import Figure, median_figure
from bench.wrk import run_wrk
from harness import Deployment, HarnessError
from harness.http2_client import ACK, DATA, SETTINGS, Http2Client, frame
from harness.http_client import RawConnection

URLS = 1000
CONTENT = {"/1": "x"}  # and the same page for each query
CONNECTIONS = 100
BROWSER_FIELDS = [
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("accept-language", "en-US,en;q=0.5"), ("accept-encoding", "gzip, deflate, br, zstd"),
    ("sec-fetch-dest", "document"), ("sec-fetch-mode", "navigate"), ("sec-fetch-site", "none")]
WORKERS = 1
FAULTS = 1
# The throughput over that of pr-PBFT-ro that the paper reports, by the share of transitions.
PAPER_RATIOS = {0.0: 3.72, 0.15: 2.05}
SHARES = list(PAPER_RATIOS)
MODES = ["prophecy", "pbft-ro", "pbft"]
PIPELINED = [16, 1]
# Mode, share of transitions, fast reads pipelined, URLs read. The second and the third mean nothing to
# the modes without fast reads.
SYSTEMS = [("prophecy", share, pipelined, 1) for pipelined in PIPELINED for share in SHARES] + [
    ("pbft-ro", 0.0, 1, 1), ("pbft", 0.0, 1, 1)] + [
    ("prophecy", share, 1, URLS) for share in SHARES] + [("pbft-ro", 0.0, 1, URLS)]
PEER = "pbft-ro"


def run(options):
    calls = [figure for pipelined in PIPELINED
             for figure in system_calls(options, pipelined)]
    return throughput(options) + idle_connections(options) + calls


def deployment_for(mode, transitions, pipelined, **sketcher):
    changes = {"test": {"fail_fast_reads": transitions}, "origins": {"pipeline_max": pipelined},
               **sketcher}
    return Deployment(faults=FAULTS, mode=mode, content=CONTENT,
                      sketcher_changes={"sketcher": {"workers": WORKERS}, **changes})


def deployed(**parameters):
    """The parameters of a figure: its own, and what all deployments here have in common."""
    return {**parameters, "workers": WORKERS, "faults": FAULTS, "origins": 3 * FAULTS + 1,
            "page_bytes": len(CONTENT["/1"])}


def roots(deployment):
    """The process ids of everything but the load."""
    children = [deployment.sketcher.child]
    children += [agent.child for agent in deployment.agents]
    children += [origin.child for origin in deployment.origins]
    return [child.pid for child in children]


def measure(deployment, seconds, urls=1):
    """One run: requests a second, and CPU microseconds a request."""
    before = cpu_seconds(roots(deployment))
    result = run_wrk(deployment.url + "/1", seconds, CONNECTIONS, urls)
    used = cpu_seconds(roots(deployment)) - before
    if result.errors or not result.requests:
        raise HarnessError(f"{result.errors} of {result.requests} requests failed")
    return result.requests_per_second, used / result.requests * 1e6


def throughput(options):
    seconds, rounds, warm_up = (2, 1, 1) if options.quick else (8, 3, 2)
    rates = {system: [] for system in SYSTEMS}
    costs = {system: [] for system in SYSTEMS}
    # Systems take turns within a round, so that whatever else the machine does strikes all alike;
    # each runs alone.
    for _ in range(rounds):
        for system in SYSTEMS:
            *setting, urls = system
            with deployment_for(*setting) as deployment:
                run_wrk(deployment.url + "/1", warm_up, CONNECTIONS, urls)
                rate, cost = measure(deployment, seconds, urls)
            rates[system].append(rate)
            costs[system].append(cost)
    return throughput_figures(rates, costs, deployed(seconds=seconds, rounds=rounds,
                                                     connections=CONNECTIONS))


def throughput_figures(rates, costs, parameters):
    """Rates and costs of every system, and their ratios to pbft-ro's."""
    figures = []
    for system in SYSTEMS:
        mode, share, pipelined, urls = system
        named = {"mode": mode, "transitions": share, "pipelined": pipelined, "urls": urls,
                 **parameters}
        figures.append(median_figure("throughput", rates[system], "requests/s", **named))
        figures.append(median_figure("cpu time", costs[system], "us/request", **named))
        if mode == PEER:
            continue
        peer = (PEER, 0.0, 1, urls)
        rate, cost = (statistics.median(runs[system]) / statistics.median(runs[peer])
                      for runs in (rates, costs))
        paper = {"paper": PAPER_RATIOS[share]} if mode == "prophecy" and urls == 1 else {}
        figures.append(Figure("throughput ratio", rate, "times",
                              {"over": "pbft-ro", **named, **paper}))
        figures.append(Figure("cpu time ratio", 1 / cost, "times less",
                              {"over": "pbft-ro", **named}))
    return figures


def allow_open_files(count):
    """Raises our own limit, which our children inherit; yields how many there may be. Only root may
    go beyond the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        wanted = max(soft, count)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    except (ValueError, OSError):
        wanted = hard
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def idle_connections(options):
    """Memory that a kept-alive connection holds in the worker between its requests."""
    wanted = 500 if options.quick else 5000
    count = min(wanted, allow_open_files(wanted + 1000) - 500)
    return [idle_connection(options, protocol, use, count) for protocol, use in USED.items()]


def let_rest(options):
    """Until the last connections have waited for so long that the sketcher keeps no session for them,
    and its heap has given back what these took."""
    time.sleep(2 if options.quick else 12)


def idle_connection(options, protocol, use, count):
    with deployment_for("prophecy", 0.0, 1, timeouts={"idle": "10m"},
                        limits={"connections_max": 2 * count + 100}) as deployment:  # none gives way
        (worker,) = deployment.sketcher.workers()
        connections = []
        try:
            for _ in range(50):  # code and buffers that every worker has come in first
                connections.append(use(deployment.sketcher.port))
            before = proportional_memory_bytes(worker)
            for _ in range(count):
                connections.append(use(deployment.sketcher.port))
            let_rest(options)
            after = proportional_memory_bytes(worker)
        finally:
            for connection in connections:
                connection.close()
    return Figure("idle connection", (after - before) / count / 1024, "KiB",
                  deployed(protocol=protocol, connections=count, bound=16))


def used_connection(port):
    connection = RawConnection(port)
    connection.get("/1")
    return connection


def used_http2_connection(port):
    """After one request with fields as a browser sends them, which both sides' tables hold then."""
    connection = Http2Client(port)
    connection.request("/1", coder=hpack.Encoder(), more=BROWSER_FIELDS)
    if connection.wait_for(DATA) is None:
        raise HarnessError("a request over HTTP/2 was not answered")
    connection.send(frame(SETTINGS, ACK, 0))
    return connection


USED = {"http/1.1": used_connection, "h2": used_http2_connection}



def system_calls(options, pipelined):
    """System calls of the worker for each fast read, for information: strace slows it down."""
    if shutil.which("strace") is None:
        return [Figure("system calls", "skipped", "", deployed(reason="strace is not installed"))]
    seconds = 1 if options.quick else 4
    with deployment_for("prophecy", 0.0, pipelined) as deployment, tempfile.TemporaryDirectory() as folder:
        run_wrk(deployment.url + "/1", 1, CONNECTIONS)
        (worker,) = deployment.sketcher.workers()
        strace = subprocess.Popen(["strace", "-f", "-c", "-o", f"{folder}/calls", "-p",
                                   str(worker)], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        if strace.poll() is not None:
            return [Figure("system calls", "skipped", "",
                           deployed(reason=strace.stderr.read().strip()))]
        before = deployment.sketcher.counters()["fast"]
        run_wrk(deployment.url + "/1", seconds, CONNECTIONS)
        answered = deployment.sketcher.counters()["fast"] - before
        strace.send_signal(signal.SIGINT)
        strace.communicate(timeout=20)
        with open(f"{folder}/calls", encoding="utf-8") as file:
            return call_figures(file.read(), answered, pipelined)


def call_figures(text, answered, pipelined):
    """strace's table has a line a call: share, seconds, us a call, calls, errors if any, name."""
    counts = {}
    for line in text.splitlines():
        found = re.match(r"\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", line)
        if found and found[2] != "total":
            counts[found[2]] = int(found[1])
    most = sorted(counts, key=counts.get, reverse=True)[:5]
    each = {name: round(counts[name] / answered, 2) for name in most}
    return [Figure("system calls", sum(counts.values()) / answered, "calls/fast read",
                   deployed(pipelined=pipelined, **each))]
