"""A long run with everything going wrong that may: one replica of four is killed, paused, slow, lying
or cut short, clients break off, drip, talk nonsense, and the others check every byte they get, over
HTTP/1.1 and HTTP/2, in plain text and through TLS, whole and in blocks, of a group with agents, of one
without, and out of tunnels. In the end memory and descriptors are flat, no worker has died, and every
request is accounted for."""

import json
import subprocess
import sys
import time
from collections import Counter

from bench.figures import Figure, table
from bench.soak.faults import VICTIM, Faults
from bench.soak.watch import GROWTH_BYTES, GROWTH_FILES, Watch, grows, thirds
from bench.soak.world import World
from harness import HarnessError
from harness.build import ROOT, instrumented, patience
from harness.processes import wait_until

MINUTES = 5
QUICK_MINUTES = 1
PROCESSES = 2
CLIENTS = 12  # threads in each
FAULT_S, PAUSE_S = 2.0, 1.5
UNAVAILABLE_SHARE_MAX = 0.01
# Agents keep batches for laggards, up to 64 MiB, and last answers, which come in as the run goes on.
AGENT_GROWTH_BYTES = 20 << 20
AGENT_GROWTH_FILES = 64  # connections to an origin, as many as are busy at a time
# Workers hold blocks of large answers, and for a moment the buffers of those that are done.
WORKER_GROWTH_BYTES = 8 << 20
WORKER_GROWTH_FILES = 32  # connections to origins, as many as are busy at a time
# What a soak cannot be without; the others take a fault at the right moment.
INDISPENSABLE = ("http2_connections", "tls_handshakes", "tunnels", "answers_in_blocks",
                 "spooled_bodies", "reads_without_agents")


def run(options):
    minutes = options.minutes or (QUICK_MINUTES if options.quick else MINUTES)
    with World() as world:
        deployment = world.deployment
        workers = deployment.sketcher.workers()
        pids = {"master": deployment.sketcher.child.pid,
                **{f"worker {number}": pid for number, pid in enumerate(workers)},
                **{f"agent {agent.number}": agent.child.pid
                   for agent in deployment.agents if agent.number != VICTIM}}
        faults = Faults(deployment, world.relay)
        with Watch(pids, 0.5 if minutes < 5 else 2.0) as watch:
            counts, wrong = load(world, faults, minutes * 60)
        problems = wrong + judge(deployment, workers, counts) + judge_growth(watch)
        passed = what_passed(deployment)
        problems += [f"there were no {name}" for name in INDISPENSABLE if not passed[name]]
        spoiled = world.relay.spoiled()
    found = figures(minutes, counts, {**faults.done, "answers_spoiled": spoiled}, passed, watch)
    if problems:
        raise HarnessError("\n".join([table(found), "the soak found:", *problems[:40]]))
    return found


def load(world, faults, seconds):
    """What the clients did, and what they found wrong."""
    processes = [subprocess.Popen(
        [str(word) for word in (
            sys.executable, "-m", "bench.soak.clients", "--port", world.deployment.sketcher.port,
            "--tls-port", world.tls_port, "--authority", world.authority, "--seconds", seconds,
            "--clients", CLIENTS, "--name", f"client-{number}")],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(PROCESSES)]
    try:
        for process in processes:
            if process.stdout.readline() != "ready\n":
                raise HarnessError("the clients did not start")
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
        faults.run(time.monotonic() + seconds, FAULT_S, PAUSE_S)
        outputs = [process.communicate(timeout=seconds + 120 * patience())[0]
                   for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if not all(outputs):
        raise HarnessError("clients ended without a report")
    reports = [json.loads(output) for output in outputs]
    return (sum((Counter(report["counts"]) for report in reports), Counter()),
            [text for report in reports for text in report["wrong"]])


def what_passed(deployment):
    """Of everything that is to be in a soak, how much was."""
    status = deployment.sketcher.status()
    requests, transport, large = status["requests"], status["transport"], status["large"]
    return {"http2_connections": transport["http2"]["connections"],
            "tls_handshakes": transport["tls"]["handshakes"],
            "tunnels": requests["tunnels"], "tunnel_bytes": requests["tunnel_bytes_out"],
            "answers_in_blocks": large["completed"], "blocks_refuted": large["blocks_refuted"],
            "rests_from_another_origin": large["switched"],
            "spooled_bodies": status["spool"]["bodies"],
            "view_changes": deployment.agents[0].status()["view"],
            "reads_without_agents": sum(route["fast"] + route["replicated"]
                                        for route in status["routes"] if route["name"] == "votes")}


def judge_growth(watch):
    if instrumented():  # a sanitizer's memory is not the program's own
        return []
    bounds = {"agent": (AGENT_GROWTH_BYTES, AGENT_GROWTH_FILES),
              "worker": (WORKER_GROWTH_BYTES, WORKER_GROWTH_FILES)}
    found = []
    for name, samples in watch.samples.items():
        bound = bounds.get(name.split()[0], (GROWTH_BYTES, GROWTH_FILES))
        if len(samples) < 10 or grows(samples, *bound):
            found.append(f"{name} grows: {thirds([memory for memory, _ in samples])} bytes, "
                         f"{thirds([files for _, files in samples])} descriptors")
    return found


def judge(deployment, workers, counts):
    found = []
    if deployment.sketcher.workers() != workers:
        found.append("a worker was replaced")
    if counts["unavailable"] > UNAVAILABLE_SHARE_MAX * counts["answers"]:
        found.append(f"{counts['unavailable']} of {counts['answers']} answers were 5xx")

    def all_ended():
        ended = deployment.sketcher.counters()
        return ended["reads"] + ended["writes"] == sum(
            ended[way] for way in ("fast", "unverified", "replicated", "read_only", "failed",
                                   "abandoned", "tunnels"))

    try:
        wait_until(all_ended, 30, "every request to be accounted for")
    except HarnessError as problem:
        found.append(f"{problem}: {deployment.sketcher.counters()}")
    if {event["replica"] for event in deployment.sketcher.divergences()} != {VICTIM}:
        found.append("divergences are not of the one that lies")
    return found


def figures(minutes, counts, faults, passed, watch):
    common = {"minutes": minutes, "clients": PROCESSES * CLIENTS}
    result = [Figure("answers checked", counts["answers"], "", {
                  **common, "unavailable": counts["unavailable"], **passed}),
              Figure("faults", sum(faults.values()) - faults["answers_spoiled"], "", faults)]
    for name, samples in watch.samples.items():
        memory = [round(memory / 2**20, 1) for memory, _ in samples]
        files = [files for _, files in samples]
        step = max(1, len(samples) // 10)
        result.append(Figure(f"memory of {name}", thirds(memory)[1], "MiB", {
            "first_third": thirds(memory)[0], "every_tenth": memory[::step],
            "descriptors": thirds(files)[1], "descriptors_first_third": thirds(files)[0],
            "descriptors_every_tenth": files[::step]}))
    return result
