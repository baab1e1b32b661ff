"""Agreement alone: four replicas with a service that does nothing, on the loopback with default
socket buffers, and clients that make one call after the other. Beside it, for a yardstick, three
nodes of etcd with durable writes, on the same file system and under as many clients.

An operation of 0/0 has no content and no result, but for one byte in a read; one of 1024/1024 has
1 KiB of both. Latencies are the client's. Processor time is that of all replicas together, and the
client's, for each operation."""

import statistics
from contextlib import closing

from bench import etcd, loopback, pbft_attack
from bench.figures import Figure
from bench.pbft_group import FAULTS, Group
from bench.pbft_load import run_load

SIZES = [0, 1024]
CLIENTS = [1, 10, 40]
# By the name of the row: what goes over the replicas' configuration for it.
DURABILITY = {"off": {"storage": None}, "on": {}}
TENTATIVE = {"replica": {"execute_when": "prepared"}}


def run(options):
    if options.attack:
        return pbft_attack.run(options)
    figures = [loopback.round_trip(options)]
    for sync, storage in DURABILITY.items():
        for size in SIZES:
            figures += measure_group(options, sync, storage, size)
    for size in SIZES:
        figures += measure_group(options, "off", {"storage": None, **TENTATIVE}, size, tentative=True)
    return figures + etcd.run(options, CLIENTS[-1], SIZES)


def measure_group(options, sync, changes, size, tentative=False):
    """All figures of one size and one durability."""
    seconds, rounds, warm_up = (0.5, 1, 0.2) if options.quick else (5, 3, 1)
    kinds = (False,) if tentative else (False, True)
    systems = [(clients, read_only) for read_only in kinds for clients in CLIENTS]
    runs = {system: [] for system in systems}
    with closing(Group(changes, size)) as group:
        before = group.resident_bytes()
        for _ in range(rounds):
            for clients, read_only in systems:
                runs[clients, read_only].append(run_load(
                    group.folder, group.pids, clients, size, read_only, seconds, warm_up,
                    tentative))
        after = group.resident_bytes()
    common = {"bytes": f"{size}/{size}", "sync": sync, "replicas": 3 * FAULTS + 1,
              "execute_when": "prepared" if tentative else "committed"}
    figures = [load_figure(results, clients, read_only, common, seconds)
               for (clients, read_only), results in runs.items()]
    return figures + [Figure("resident memory of a replica", after / 2**20, "MiB",
                             {"before": round(before / 2**20, 1), **common})]


def load_figure(results, clients, read_only, common, seconds):
    """The medians of some runs."""
    def median(name, digits=1):
        return round(statistics.median(getattr(result, name) for result in results), digits)

    return Figure("read-only" if read_only else "ordered", median("operations_per_second"),
                  "operations/s",
                  {"clients": clients, **common, "p50_us": median("p50_us"),
                   "p99_us": median("p99_us"), "replicas_cpu_us": median("replicas_us"),
                   "client_cpu_us": median("client_us"), "seconds": seconds,
                   "runs": [result.operations_per_second for result in results]})
