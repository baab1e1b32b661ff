"""The history table at full size: the paper's 22 million entries in 900 MB, and 25 million in 1 GiB. All rates
are in a second of one process's processor time."""

import json
import subprocess
import tempfile
from pathlib import Path

from bench.figures import Figure
from harness.processes import HarnessError
from harness.programs import program

# Keys offered, bytes. A table of 900 MB loses 0.8 % of what it is offered at this load.
PAPER = (22_180_000, 900_000_000)
LARGE = (25_000_000, 2**30)
QUICK_SCALE = 20  # so many times smaller; of a much smaller one, write floors take a larger part
MILLION = 1e6


def run(options):
    scale = QUICK_SCALE if options.quick else 1
    seconds = 0.1 if options.quick else 3
    paper = run_load(*(number // scale for number in PAPER), seconds)
    large = run_load(*(number // scale for number in LARGE), seconds)
    figures = memory_figures(paper, large) + rate_figures(large)
    if large["huge_bytes"] == 0:
        # What huge pages would bring, where the system has them for files only.
        with tempfile.TemporaryDirectory(prefix="prophecy-table-", dir="/var/tmp") as folder:
            in_file = run_load(large["offered"], large["bytes"], seconds, Path(folder) / "table")
        if in_file["huge_bytes"]:
            figures += rate_figures(in_file, "in a file, ")
    return figures


def memory_figures(paper, large):
    return [
        Figure("memory at 22 million entries", paper["bytes"] / MILLION, "MB",
               {"offered": paper["offered"], "kept": paper["entries"]}),
        Figure("bytes an entry", round(paper["bytes"] / paper["entries"], 2), "bytes"),
        Figure("lost to placement in 1 GiB", round(100 * large["evictions"] / large["offered"], 4),
               "%", {"offered": large["offered"], "kept": large["entries"]}),
    ]


def rate_figures(report, where=""):
    common = {"entries": report["entries"],
              "in_huge_pages": f"{100 * report['huge_bytes'] // report['bytes']} %"}
    lookups = report["lookups_per_second"]

    def rate(name, key):
        return Figure(where + name, round(report[key] / MILLION, 2), "million/s", common)

    def share(name, key):
        return Figure(where + name, round(report[key] / lookups, 2), "", common)

    return [
        rate("bare loads of a line", "bare_loads_per_second"),
        Figure(where + "a bare load", round(report["bare_load_ns"]), "ns"),
        rate("insertions while it fills", "inserts_per_second"),
        rate("lookups", "lookups_per_second"),
        rate("lookups, 16 keys known ahead", "lookups_ahead_per_second"),
        Figure(where + "their three lines each, against bare loads",
               round(3 * report["lookups_ahead_per_second"] / report["bare_loads_per_second"], 2),
               "", common),
        rate("updates", "updates_per_second"),
        share("lookups of two processes against one's", "lookups_of_two_per_second"),
        share("lookups beside updates against alone", "lookups_beside_updates_per_second"),
        Figure(where + "sketching 1 KiB, and two lookups", round(report["sketch_us"], 2), "us",
               {**common, "digest": "gmac"}),
    ]


def run_load(entries, size, seconds, file=None):
    command = [program("prophecy-bench"), "table", "--entries", entries, "--bytes", size,
               "--seconds", seconds]
    if file is not None:
        command += ["--file", file]
    load = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    if load.returncode != 0:
        raise HarnessError(f"prophecy-bench ended with {load.returncode}: {load.stderr.strip()}")
    return json.loads(load.stdout)
