"""What clients saw of files that several of them write and read, and whether it can be so.

Each file is a register, and no two writes are of the same value. Then one history is linearizable
exactly if its clusters, each a write and the reads that saw it, can be put into an order (Gibbons
and Korach, Testing Shared Memories, SIAM J. Comput. 26(4), 1997, section 5): from the first end of
one of its operations to the last begin of one, if that comes later, a cluster has to be the current
value. Two such times must not overlap; and no other cluster may lie within one as a whole.
"""

from collections import defaultdict
from dataclasses import dataclass


@dataclass(frozen=True)
class Operation:
    name: str
    value: bytes
    is_write: bool
    begin: float
    end: float


def contradictions(operations, initial):
    """Lines about what no single file of each name can have answered; `initial` is what each had
    at first."""
    by_name = defaultdict(list)
    for operation in operations:
        by_name[operation.name].append(operation)
    return [f"{name}: {line}" for name, own in sorted(by_name.items())
            for line in _of_register(own, initial)]


def _of_register(operations, initial):
    clusters = defaultdict(list)
    never = float("-inf")
    clusters[initial].append(Operation("", initial, True, never, never))
    for operation in operations:
        clusters[operation.value].append(operation)
    zones = []
    for value, cluster in clusters.items():
        writes = [operation for operation in cluster if operation.is_write]
        if len(writes) != 1:
            yield f"{len(writes)} writes of {value!r}"
            continue
        if any(operation.end < writes[0].begin for operation in cluster):
            yield f"{value!r} was read before it was written"
        zones.append((min(operation.end for operation in cluster),
                      max(operation.begin for operation in cluster), value))
    current = sorted(zone for zone in zones if zone[0] < zone[1])
    for (_, until, value), (begin, _, other) in zip(current, current[1:]):
        if begin < until:
            yield f"{value!r} and {other!r} were both current at a time"
    for last_begin, first_end, inner in [(end, begin, value) for end, begin, value in zones
                                         if end >= begin]:
        for since, until, value in current:
            if since < first_end and last_begin < until:
                yield f"{inner!r} came and went while {value!r} was current"
