"""A sketcher of one worker and one of two, in turns of one run, before the same four Apaches: how much more two can
do, by the processor time that each takes for a request. Each worker has the same number of clients. On two cores
the load and the origins take most of the time, so the requests per second of two workers say nothing here."""

import shutil
import statistics

from bench.cost import cpu_seconds
from bench.figures import Figure
from bench.peers import APACHE
from bench.wrk import run_wrk
from harness import Deployment, HarnessError
from harness.ports import PortReservation
from harness.sketcher import Sketcher

CONTENT = {"/1k": b"x" * 1024, "/64k": b"x" * (64 << 10)}
CLIENTS = 100  # of each worker
GROUP = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
TIMES_MIN = 1.9


def changes(workers):
    return {"sketcher": {"workers": workers}, "group": GROUP}


def run(options):
    seconds, rounds, warm_up = (1, 1, 1) if options.quick else (6, 5, 2)
    with Deployment(agents=False, content=CONTENT, apache_additions=dict.fromkeys(range(4), APACHE),
                    sketcher_changes=changes(1)) as deployment:
        ports = PortReservation(1)
        folder = deployment.folder / "two"
        folder.mkdir()
        shutil.copy(deployment.folder / "sketch.key", folder)
        two = Sketcher(folder, ports.ports[0], [origin.port for origin in deployment.origins], changes(2))
        try:
            two.start()
            sketchers = {1: deployment.sketcher, 2: two}
            return [figure for path in CONTENT
                    for figure in measure(sketchers, path, seconds, rounds, warm_up)]
        finally:
            two.stop()
            ports.close()


def measure(sketchers, path, seconds, rounds, warm_up):
    runs = {workers: [] for workers in sketchers}
    for workers, sketcher in sketchers.items():
        load(sketcher, path, workers, warm_up)
    for _ in range(rounds):
        for workers, sketcher in sketchers.items():
            runs[workers].append(load(sketcher, path, workers, seconds))
    common = {"bytes": len(CONTENT[path]), "seconds": seconds, "rounds": rounds}
    times = [2 * one / two for one, two in zip(runs[1], runs[2])]
    return [Figure("cpu time", round(statistics.median(costs), 2), "us/request",
                   {"workers": workers, "clients": workers * CLIENTS, **common,
                    "runs": [round(cost, 2) for cost in costs]}) for workers, costs in runs.items()] + \
           [Figure("two workers", round(statistics.median(times), 3), "times one",
                   {**common, "bound": TIMES_MIN, "runs": [round(each, 3) for each in times]})]


def load(sketcher, path, workers, seconds):
    """Processor time of the sketcher for a request, in microseconds."""
    before = cpu_seconds([sketcher.child.pid])
    result = run_wrk(f"http://127.0.0.1:{sketcher.port}{path}", seconds, workers * CLIENTS)
    if result.errors or not result.requests:
        raise HarnessError(f"{result.errors} of {result.requests} requests failed")
    return (cpu_seconds([sketcher.child.pid]) - before) / result.requests * 1e6
