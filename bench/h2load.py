"""The load over HTTP/2: h2load with kept-open connections, and several requests on each."""

import re
import subprocess
import tempfile
from pathlib import Path

from bench.wrk import WrkResult
from harness.processes import HarnessError


def run_h2load(url, seconds, connections=20, streams=5):
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "requests.tsv"
        result = subprocess.run(["h2load", "--threads", "1", "--clients", str(connections),
                                 "--max-concurrent-streams", str(streams), "--duration",
                                 str(seconds), "--log-file", str(log), url],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=seconds + 60, check=False)
        if result.returncode != 0:
            raise HarnessError(f"h2load failed: {result.stderr.strip() or result.stdout.strip()}")
        return parse_h2load(result.stdout, log.read_text())


def parse_h2load(text, log):
    """`log` has a line a request: when it began, its status, how many microseconds it took."""
    rate = re.search(r"finished in [\d.]+\w+, ([\d.]+) req/s", text)
    counts = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text)
    if not rate or not counts:
        raise HarnessError(f"cannot read what h2load printed:\n{text}")
    succeeded, failed, errored, late = map(int, counts.groups())
    times = sorted(int(line.split("\t")[2]) for line in log.splitlines())

    def percentile(share):
        return float(times[min(len(times) - 1, int(share * len(times)))]) if times else 0.0
    return WrkResult(succeeded, float(rate[1]), failed + errored + late, percentile(0.5),
                     percentile(0.99), percentile(0.999))
