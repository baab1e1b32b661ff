"""A sketcher with one lying origin of four, beside an equal deployment whose origins are all correct, in
turns of the same run: what the liar costs while it is being found out, and once it is out of the draw.

It lies in each of its answers: another body, or a field more that is covered."""

import statistics
import time

from bench.figures import Figure
from bench.wrk import run_wrk
from harness import Deployment, HarnessError
from harness.processes import wait_until
from harness.replicas import ctl_json

PATH = "/1k"
PAGE = b"x" * 1024
LIE = b"y" * 1024
LIAR = 3
CONNECTIONS = 100
OUT_WITHIN_S = 30
SHARE_MIN = 0.7  # of the throughput without faults, once the liar is out


def another_body(origin):
    origin.write(PATH, LIE)


def another_field(origin):
    origin.stop()
    origin.additions += '\nHeader always set Content-Language "xx"\n'
    origin.start()


LIES = {"another body": another_body, "another field": another_field}


def run(options):
    figures = []
    for name in ["another body"] if options.quick else LIES:
        figures += measure(options, name, LIES[name])
    return figures


def measure(options, name, lie):
    seconds, rounds, warm_up = (1, 1, 1) if options.quick else (5, 3, 2)
    with deployment() as honest, deployment() as lying:
        both = (honest, lying)
        for one in both:
            load(one, warm_up)
        before = rates(both, seconds)
        lie(lying.origins[LIAR])
        found_out, rate = find_out(lying)
        pairs = [rates(both, seconds) for _ in range(rounds)]
        state = liar_of(lying)["state"]
    if state != "quarantined":
        raise HarnessError(f"the liar is {state} again: nothing was measured")
    common = {"lie": name, "bytes": len(PAGE), "clients": CONNECTIONS, "seconds": seconds}
    shares = [round(under / free, 3) for free, under in pairs]
    return [Figure("throughput before", round(before[1] / before[0], 3), "of fault-free", common),
            Figure("liar out after", round(found_out, 2), "s",
                   {**common, "share_meanwhile": round(rate / before[0], 3)}),
            Figure("throughput once it is out", statistics.median(shares), "of fault-free",
                   {**common, "bound": SHARE_MIN, "runs": shares,
                    "requests_per_second": round(statistics.median(rate for _, rate in pairs))})]


def deployment():
    return Deployment(content={PATH: PAGE}, sketcher_changes={"sketcher": {"workers": 1}})


def find_out(lying):
    """How long it takes under load, in steps of a second, and the requests in a second meanwhile."""
    began = time.monotonic()
    done = []
    while liar_of(lying)["state"] != "quarantined":
        if time.monotonic() - began > OUT_WITHIN_S:
            raise HarnessError(f"the liar is not out after {OUT_WITHIN_S} s")
        done.append(load(lying, 1))
    wait_until(lambda: not liar_of(lying)["drawn"], 5, "the liar to leave the draw")
    return time.monotonic() - began, statistics.mean(done)


def liar_of(one):
    origins = ctl_json("origin", "list", "--admin", one.sketcher.admin, "--json")
    return next(origin for origin in origins if origin["replica"] == LIAR)


def rates(both, seconds):
    return [load(one, seconds) for one in both]


def load(one, seconds):
    result = run_wrk(one.url + PATH, seconds, CONNECTIONS)
    if result.errors or not result.requests:
        raise HarnessError(f"{result.errors} of {result.requests} requests failed")
    return result.requests_per_second
