"""The load: wrk with kept-alive connections."""

import re
import subprocess
from dataclasses import dataclass

from harness.processes import HarnessError


@dataclass
class WrkResult:
    requests: int
    requests_per_second: float
    errors: int  # answers other than 2xx and 3xx, and failures of connections


def run_wrk(url, seconds, connections=100):
    result = subprocess.run(["wrk", "--threads", "1", "--connections", str(connections),
                             "--duration", f"{seconds}s", "--timeout", "20s", url],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=seconds + 60, check=False)
    if result.returncode != 0:
        raise HarnessError(f"wrk failed: {result.stderr.strip() or result.stdout.strip()}")
    return parse_wrk(result.stdout)


def parse_wrk(text):
    rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
    requests = re.search(r"(\d+) requests in", text)
    if not rate or not requests:
        raise HarnessError(f"cannot read what wrk printed:\n{text}")
    errors = 0
    if bad := re.search(r"Non-2xx or 3xx responses: (\d+)", text):
        errors += int(bad[1])
    if failed := re.search(r"Socket errors: (.*)", text):
        errors += sum(map(int, re.findall(r"\d+", failed[1])))
    return WrkResult(int(requests[1]), float(rate[1]), errors)
