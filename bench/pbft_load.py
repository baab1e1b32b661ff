"""One run of prophecy-bench pbft, with what it costs the replicas."""

import json
import subprocess
from dataclasses import dataclass

from bench.cost import live_cpu_seconds
from harness.processes import HarnessError
from harness.programs import program


@dataclass
class LoadResult:
    operations_per_second: float
    p50_us: float
    p99_us: float
    replicas_us: float  # processor time of all replicas together, for each operation
    client_us: float


def run_load(folder, replica_pids, clients, size, read_only, seconds, warm_up, tentative=False):
    """The load says when it begins to measure, so that the replicas' time is of the same span."""
    command = load_command(folder, clients, size, seconds, warm_up)
    if read_only:
        command.append("--read-only")
    if tentative:
        command.append("--tentative")
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as load:
        try:
            began = load.stdout.readline()
            before = live_cpu_seconds(replica_pids)
            report = load.stdout.readline()
            used = live_cpu_seconds(replica_pids) - before
            problem = load.communicate(timeout=20)[1]
        except BaseException:
            load.kill()
            raise
    if load.returncode != 0 or not began or not report:
        raise HarnessError(f"prophecy-bench ended with {load.returncode}: {problem.strip()}")
    return read_report(report, used)


def load_command(folder, clients, size, seconds, warm_up):
    return [program("prophecy-bench"), "pbft", "--group", folder / "group.toml",
            "--key-file", folder / "client-1024.key", "--clients", clients,
            "--operation-bytes", size, "--result-bytes", size,
            "--seconds", seconds, "--warm-up", warm_up]


def read_report(line, replicas_seconds):
    report = json.loads(line)
    bad = {key: report[key] for key in ("failed", "wrong_results") if report[key]}
    if bad:
        raise HarnessError(f"operations went wrong under load: {bad}")
    agreed = report["agreed"]
    return LoadResult(report["operations_per_second"], report["latency_us"]["p50"],
                      report["latency_us"]["p99"], replicas_seconds / agreed * 1e6,
                      sum(report["cpu_seconds"].values()) / agreed * 1e6)
