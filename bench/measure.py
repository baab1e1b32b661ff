"""prophecy-measure over captures that it made itself: 1 GB of WARC and of HAR with their bodies, 10 million lines
of a sketch log, and a million URLs. warcio reads the same WARC file in the same run."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.figures import Figure, median_figure
from harness import HarnessError
from harness.programs import program
from harness.warcio import warcio_folder

WARCIO = """
import sys
from warcio.archiveiterator import ArchiveIterator
with open(sys.argv[1], "rb") as file:
    for record in ArchiveIterator(file):
        while record.raw_stream.read(1 << 16):
            pass
"""
BODY_BYTES = 16_384
ROUNDS = 40


@dataclass
class Run:
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def run(options):
    scale = 20 if options.quick else 1
    repeats = 1 if options.quick else 3
    with tempfile.TemporaryDirectory(prefix="prophecy-measure-", dir="/var/tmp") as folder:
        return [*captures(Path(folder), scale, repeats), *small_records(Path(folder), scale),
                *sketch_logs(Path(folder), scale, repeats), *memory(Path(folder), scale)]


def captures(folder, scale, repeats):
    urls = 1_550 // scale
    figures = []
    for name in ("warc", "har"):
        path = folder / f"crawl.{name}"
        known = generate(path, name, urls, ROUNDS, BODY_BYTES)
        size = path.stat().st_size
        runs = [analyze(path, known) for _ in range(repeats)]
        common = {"MB": round(size / 1e6), "answers": known["answers"]}
        seconds = median_figure(f"{name} with bodies", [run.seconds for run in runs], "s", **common)
        figures += [seconds, *costs(name, runs, common)]
        if name == "warc":
            figures += against_warcio(path, runs, repeats)
        path.unlink()
    return figures


def small_records(folder, scale):
    path = folder / "small.warc"
    known = generate(path, "warc", 2_000 // scale, 50, 100)
    runs = [analyze(path, known)]
    common = {"MB": round(path.stat().st_size / 1e6), "answers": known["answers"]}
    figures = [Figure("warc of small answers", runs[0].seconds, "s", common),
               *costs("warc of small answers", runs, common), *against_warcio(path, runs, 1)]
    path.unlink()
    return figures


def against_warcio(path, ours, repeats):
    folder = warcio_folder()
    if folder is None:
        return [Figure("warcio reads the same file", "not installed", "")]
    environment = {**os.environ, "PYTHONPATH": folder}
    runs = [timed([sys.executable, "-c", WARCIO, path], environment) for _ in range(repeats)]
    figures = []
    for name, of in (("", lambda run: run.seconds), (", processor time", lambda run: run.cpu_seconds)):
        warcio = median_figure(f"warcio reads the same file{name}", list(map(of, runs)), "s")
        seconds = statistics.median(map(of, ours))
        figures += [warcio, Figure(f"warcio against analyze{name}", round(warcio.value / seconds, 2), "times as long")]
    return figures


def sketch_logs(folder, scale, repeats):
    path = folder / "log"
    known = generate(path, "sketch-log", 100_000 // scale, 100, 500)
    runs = [analyze(path, known) for _ in range(repeats)]
    common = {"million_lines": known["answers"] / 1e6, "urls": known["urls"]}
    path.unlink()
    return [median_figure("sketch log", [run.seconds for run in runs], "s", **common),
            *costs("sketch log", runs, common)]


def costs(name, runs, common):
    return [median_figure(f"{name}, processor time", [run.cpu_seconds for run in runs], "s", **common),
            Figure(f"{name}, peak memory", max(run.peak_bytes for run in runs) / 1e6, "MB", common)]


def memory(folder, scale):
    """Memory that URLs add to the peak of as many answers of few URLs."""
    path = folder / "urls"
    answers = 2_000_000 // scale
    peaks = {}
    for urls in (answers // 2, answers // 2000):
        known = generate(path, "sketch-log", urls, answers // urls, 100)
        peaks[urls] = analyze(path, known).peak_bytes
        path.unlink()
    many, few = peaks
    return [Figure("memory of a URL", round((peaks[many] - peaks[few]) / (many - few)), "bytes",
                   {"urls": many, "answers": answers})]


def generate(path, name, urls, rounds, body_bytes):
    made = subprocess.run(list(map(str, [
        program("prophecy-measure"), "generate", path, "--format", name, "--urls", urls, "--rounds", rounds,
        "--body", body_bytes])), capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise HarnessError(f"prophecy-measure generate: {made.stderr.strip()}")
    return json.loads(made.stdout)


def analyze(path, known):
    """Time and memory of a run, whose figures have to be the known ones."""
    report = path.with_suffix(".json")
    took = timed([program("prophecy-measure"), "analyze", path, "--json", report, "--temporary-folder", path.parent])
    found = json.loads(report.read_text())
    wrong = {key: found[key] for key in known if found[key] != known[key]}
    if wrong:
        raise HarnessError(f"prophecy-measure analyze found {wrong}, not {known}")
    return took


def timed(command, environment=None):
    begin = time.monotonic()
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise HarnessError(f"{command[0]} ended with {process.returncode}")
    return Run(time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
