"""Does a replica's memory stay flat? Four replicas with storage, under 40 clients until a number of
operations is done (`--operations`). The resident memory of each is read at equal intervals of time that get
longer as the run does. The disk is written and not synced (`sync = "os"`): that has nothing to do
with memory, and would take hours."""

import json
import subprocess
import time
from contextlib import closing

from bench.figures import Figure
from bench.pbft_group import Group
from bench.pbft_load import load_command
from harness.processes import HarnessError

CLIENTS = 40
SIZE = 1024
OPERATIONS = 200_000
QUICK_OPERATIONS = 2_000
FIRST_SAMPLE_S = 1.0
SAMPLES_MAX = 16
DAY_S = 86400


def run(options):
    operations = options.operations or (QUICK_OPERATIONS if options.quick else OPERATIONS)
    with closing(Group({"storage": {"sync": "os"}}, SIZE)) as group:
        samples, report = sample_under_load(group, operations)
    check_done(report, operations)
    common = {"operations": report["agreed"], "clients": CLIENTS, "bytes": f"{SIZE}/{SIZE}",
              "operations_per_second": round(report["operations_per_second"], 1)}
    return [Figure(f"resident memory of the largest replica after {seconds:.0f} s",
                   round(max(each) / 2**20, 1), "MiB",
                   {"each": [round(size / 2**20, 1) for size in each], **common})
            for seconds, each in samples]


def sample_under_load(group, operations):
    """(seconds since the beginning, each replica's bytes) in their order, and the load's report."""
    command = load_command(group.folder, CLIENTS, SIZE, DAY_S, 0) + ["--operations", operations]
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as load:
        try:
            samples = take_samples(group, load)
            output, problem = load.communicate()
        except BaseException:
            load.kill()
            raise
    if load.returncode != 0:
        raise HarnessError(f"prophecy-bench ended with {load.returncode}: {problem.strip()}")
    return samples, json.loads(output.splitlines()[-1])


def take_samples(group, load):
    begun = time.monotonic()
    interval = FIRST_SAMPLE_S
    samples = []
    while load.poll() is None:
        try:
            load.wait(timeout=interval)
        except subprocess.TimeoutExpired:
            pass
        samples.append((time.monotonic() - begun, group.each_resident_bytes()))
        if len(samples) == SAMPLES_MAX:
            samples = samples[1::2]
            interval *= 2
    return samples


def check_done(report, operations):
    bad = {key: report[key] for key in ("failed", "wrong_results") if report[key]}
    if bad or report["agreed"] < operations:
        raise HarnessError(f"of {operations} operations {report['agreed']} were agreed, {bad}")
