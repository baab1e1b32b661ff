"""A long run with everything going wrong that may: one replica of four is killed, paused, slow, lying
or cut short, clients break off, drip, talk nonsense, and the others check every byte they get. In the
end memory and descriptors are flat, no worker has died, and every request is accounted for."""

import json
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack

from bench.figures import Figure, table
from bench.soak.content import static_files
from bench.soak.faults import VICTIM, Faults, Relay
from bench.soak.watch import GROWTH_BYTES, Watch, grows, thirds
from harness import Deployment, HarnessError
from harness.build import ROOT, patience
from harness.processes import wait_until

MINUTES = 5
QUICK_MINUTES = 1
PROCESSES = 2
CLIENTS = 12  # threads in each
SESSIONS = 16  # few, so that the last answers to them are soon all there
FAULT_S, PAUSE_S = 2.0, 1.5
UNAVAILABLE_SHARE_MAX = 0.01
# Agents keep batches for laggards, up to 64 MiB, and last answers, which come in as the run goes on.
AGENT_GROWTH_BYTES = 20 << 20


def run(options):
    minutes = options.minutes or (QUICK_MINUTES if options.quick else MINUTES)
    with ExitStack() as stack:
        deployment = stack.enter_context(
            Deployment(content=static_files(), start=False, sketcher_changes={
                "sketcher": {"workers": 2}, "group": {"sessions": SESSIONS}}))
        relay = Relay(deployment)
        stack.callback(relay.stop)
        relay.start()
        deployment.start()
        workers = deployment.sketcher.workers()
        pids = {"master": deployment.sketcher.child.pid,
                **{f"worker {number}": pid for number, pid in enumerate(workers)},
                **{f"agent {agent.number}": agent.child.pid
                   for agent in deployment.agents if agent.number != VICTIM}}
        faults = Faults(deployment, relay)
        with Watch(pids, 0.5 if minutes < 5 else 2.0) as watch:
            counts, wrong = load(deployment, faults, minutes * 60)
        problems = wrong + judge(deployment, workers, counts) + judge_growth(watch)
        spoiled = relay.spoiled()
    found = figures(minutes, counts, faults, spoiled, watch)
    if problems:
        raise HarnessError("\n".join([table(found), "the soak found:", *problems[:40]]))
    return found


def load(deployment, faults, seconds):
    """What the clients did, and what they found wrong."""
    processes = [subprocess.Popen(
        [sys.executable, "-m", "bench.soak.clients", "--port", str(deployment.sketcher.port),
         "--seconds", str(seconds), "--clients", str(CLIENTS), "--name", f"client-{number}"],
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


def judge_growth(watch):
    found = []
    for name, samples in watch.samples.items():
        growth_bytes = AGENT_GROWTH_BYTES if name.startswith("agent") else GROWTH_BYTES
        if len(samples) < 10 or grows(samples, growth_bytes):
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
            ended[way] for way in ("fast", "replicated", "read_only", "failed", "abandoned"))

    try:
        wait_until(all_ended, 30, "every request to be accounted for")
    except HarnessError as problem:
        found.append(f"{problem}: {deployment.sketcher.counters()}")
    if {event["replica"] for event in deployment.sketcher.divergences()} != {VICTIM}:
        found.append("divergences are not of the one that lies")
    return found


def figures(minutes, counts, faults, spoiled, watch):
    common = {"minutes": minutes, "clients": PROCESSES * CLIENTS}
    result = [Figure("answers checked", counts["answers"], "", {
                  **common, "unavailable": counts["unavailable"]}),
              Figure("faults", sum(faults.done.values()), "", {
                  **faults.done, "answers_spoiled": spoiled})]
    for name, samples in watch.samples.items():
        memory = [round(memory / 2**20, 1) for memory, _ in samples]
        files = thirds([files for _, files in samples])
        result.append(Figure(f"memory of {name}", thirds(memory)[1], "MiB", {
            "first_third": thirds(memory)[0], "every_tenth": memory[::max(1, len(memory) // 10)],
            "descriptors": files[1], "descriptors_first_third": files[0]}))
    return result
