"""Agreement under attack: four replicas, one of which is a byzantine-replica, the real agent behind
one of the simulator's behaviours. Each kind is measured as the first primary and as a backup,
against a group without faults in turns of the same run, so that whatever else the machine does strikes
both alike. Measured after a warm-up, in which a primary that is found out has lost its place.

On one machine the faulty replica takes its processor time from the others, and gives them its own when
it is silent. So what an operation costs the correct replicas is told as well: that is theirs alone."""

import statistics
from contextlib import closing

from bench.figures import Figure
from bench.pbft_group import FAULTS, Group
from bench.pbft_load import run_load
from harness.processes import HarnessError
from harness.programs import run_program

CLIENTS = 40
SEED = 5  # of what the behaviours draw
PLACES = {"primary": 0, "backup": 3 * FAULTS}
QUICK = ["silent", "slow", "flooding"]
MEMORY_ONLY = {"storage": None}
# Of the throughput without faults, and times its p99.
THROUGHPUT_SHARE_MIN = 0.9
P99_TIMES_MAX = 3


def run(options):
    kinds = run_program("byzantine-replica", "--list").stdout.splitlines()
    if options.quick:
        kinds = QUICK
    shares = []
    figures = []
    with closing(Group(MEMORY_ONLY, 0)) as honest:
        for place, number in PLACES.items():
            for kind in kinds:
                share, times, cost, parameters = measure(options, honest, kind, number)
                shares.append((share, place, kind))
                common = {"kind": kind, "as": place}
                figures += [Figure("throughput under attack", share, "of fault-free",
                                   {**common, **parameters, "bound": THROUGHPUT_SHARE_MIN}),
                            Figure("p99 under attack", times, "times",
                                   {**common, "bound": P99_TIMES_MAX})]
                if cost is not None:
                    figures.append(Figure("correct replicas' cpu time under attack", cost, "times", common))
    share, place, kind = min(shares)
    return [*figures, Figure("worst", share, "of fault-free", {"kind": kind, "as": place})]


def measure(options, honest, kind, number):
    """The share of the throughput, how many times the p99, how many times the processor time of the
    correct replicas for an operation (none if there was no operation), and what else is worth telling."""
    seconds, rounds, warm_up = (1, 1, 1) if options.quick else (3, 2, 4)

    def corrupt(agent):
        if agent.number == number:
            agent.command = ["byzantine-replica", "--seed", str(SEED), "--behaviour", kind]

    pairs = []
    with closing(Group(MEMORY_ONLY, 0, corrupt)) as attacked:
        for _ in range(rounds):
            pairs.append([load(group, number, seconds, warm_up) for group in (honest, attacked)])
        correct = [agent for agent in attacked.replicas if agent.number != number]
        view = max(agent.status()["view"] for agent in correct)
    shares = [round(under[0] / free[0], 3) for free, under in pairs]
    times = [round(under[1] / free[1], 2) for free, under in pairs]
    costs = [under[2] / free[2] for free, under in pairs if under[2] is not None]
    parameters = {"clients": CLIENTS, "replicas": 3 * FAULTS + 1, "view": view, "runs": shares,
                  "operations_per_second": round(statistics.median(one[0] for _, one in pairs)),
                  "p99_us": round(statistics.median(one[1] for _, one in pairs))}
    cost = statistics.median(costs) if costs else None
    return statistics.median(shares), statistics.median(times), cost, parameters


def load(group, number, seconds, warm_up):
    """Operations in a second, their p99, and what one costs all replicas but that with the number. It
    may be that there are none."""
    others = [agent.child.pid for agent in group.replicas if agent.number != number]
    try:
        result = run_load(group.folder, others, CLIENTS, 0, False, seconds, warm_up)
    except HarnessError as problem:
        if "no call was agreed" not in str(problem):
            raise
        return 0.0, seconds * 1e6, None
    return result.operations_per_second, result.p99_us, result.replicas_us
