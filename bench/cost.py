"""What processes cost: CPU time of whole trees, memory of one."""

import os
from pathlib import Path

from harness.processes import process_tree, stat_fields

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_seconds(roots):
    """CPU time of the trees under these process ids since they began, reaped children included.

    Live threads are read from schedstat, in nanoseconds; what has ended is known in ticks of
    10 ms only, to its parent.
    """
    total = 0.0
    for root in roots:
        for pid in process_tree(root):
            total += _live_seconds(pid) + _reaped_seconds(pid)
    return total


def live_cpu_seconds(pids):
    """CPU time of these processes, without what they have started, at little cost."""
    return sum(map(_live_seconds, pids))


def _live_seconds(pid):
    nanoseconds = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            nanoseconds += int(Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0])
    except (FileNotFoundError, ProcessLookupError):
        pass  # it ended while we looked; its parent knows what it cost
    return nanoseconds / 1e9


def _reaped_seconds(pid):
    fields = stat_fields(pid)
    # cutime and cstime are fields 16 and 17 of proc(5).
    return (int(fields[13]) + int(fields[14])) * TICK_S if fields else 0.0


def resident_memory_bytes(pid):
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def proportional_memory_bytes(pid):
    """Pss: what the process holds alone, and its share of what it holds with others."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no Pss of process {pid}")


def process_memory_bytes(root):
    """Pss of a whole tree."""
    return sum(map(proportional_memory_bytes, process_tree(root)))
