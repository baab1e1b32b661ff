"""Memory and descriptors of the programs of a deployment, as time goes by."""

import os
import statistics
import threading
from pathlib import Path

# What may come on top from the first third to the last, after the warm-up: a share, or so much.
GROWTH_SHARE = 0.10
GROWTH_BYTES = 3 << 20
GROWTH_FILES = 12
WARM_UP_SHARE = 0.2


def own_memory_bytes(pid):
    """Resident memory without the shared history table, whose size is configured."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"no memory of process {pid}")


class Watch:
    """Context manager. `pids` names the processes to look at."""

    def __init__(self, pids, interval_s):
        self._pids = pids
        self._interval_s = interval_s
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.samples = {name: [] for name in pids}

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        self._thread.join()

    def _run(self):
        while not self._stopping.wait(self._interval_s):
            for name, pid in self._pids.items():
                try:
                    sample = (own_memory_bytes(pid), len(os.listdir(f"/proc/{pid}/fd")))
                except OSError:
                    continue  # it is gone, which is noticed elsewhere
                self.samples[name].append(sample)


def thirds(values):
    """The medians of the first and the last third after the warm-up."""
    values = values[int(len(values) * WARM_UP_SHARE):]
    third = max(1, len(values) // 3)
    return statistics.median(values[:third]), statistics.median(values[-third:])


def grows(samples, growth_bytes=GROWTH_BYTES, growth_files=GROWTH_FILES):
    """Whether memory or descriptors are not flat."""
    memory = thirds([memory for memory, _ in samples])
    files = thirds([files for _, files in samples])
    return (memory[1] - memory[0] > max(growth_bytes, GROWTH_SHARE * memory[0])
            or files[1] - files[0] > max(growth_files, GROWTH_SHARE * files[0]))
