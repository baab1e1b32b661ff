"""The load: wrk with kept-alive connections."""

import re
import subprocess
import tempfile
from dataclasses import dataclass

from harness.processes import HarnessError


@dataclass
class WrkResult:
    requests: int
    requests_per_second: float
    errors: int  # answers other than 2xx and 3xx, and failures of connections
    p50_us: float
    p99_us: float
    p999_us: float


# What wrk does not print of itself.
REPORT = """
done = function(summary, latency, requests)
  io.write(string.format("Percentiles: %d %d %d\\n", latency:percentile(50),
                         latency:percentile(99), latency:percentile(99.9)))
end
"""
# URLs that differ in their query, one after the other.
QUERIES = """
local number = 0
request = function()
  number = number %% %d + 1
  return wrk.format(nil, wrk.path .. "?" .. number)
end
"""


def run_wrk(url, seconds, connections=100, urls=1, fields=()):
    """Reads the URL, or, with more than one, so many of them with a query each. `fields` are lines of the head."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(REPORT + (QUERIES % urls if urls > 1 else ""))
        script.flush()
        result = subprocess.run(["wrk", "--threads", "1", "--connections", str(connections),
                                 "--duration", f"{seconds}s", "--timeout", "20s",
                                 "--script", script.name,
                                 *(part for field in fields for part in ("--header", field)), url],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=seconds + 60, check=False)
    if result.returncode != 0:
        raise HarnessError(f"wrk failed: {result.stderr.strip() or result.stdout.strip()}")
    return parse_wrk(result.stdout)


def parse_wrk(text):
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    requests = re.search(r"(\d+) requests in", text)
    percentiles = re.search(r"Percentiles: (\d+) (\d+) (\d+)", text)
    if not rate or not requests or not percentiles:
        raise HarnessError(f"cannot read what wrk printed:\n{text}")
    errors = 0
    if bad := re.search(r"Non-2xx or 3xx responses: (\d+)", text):
        errors += int(bad[1])
    if failed := re.search(r"Socket errors: (.*)", text):
        errors += sum(map(int, re.findall(r"\d+", failed[1])))
    return WrkResult(int(requests[1]), float(rate[1]), errors,
                     *(float(percentile) for percentile in percentiles.groups()))
