"""slowhttptest: 400 slow clients at once in each of its modes. Neither its probe nor one of our own
ever waits in vain meanwhile. (Behind them is a stock Apache with 150 threads, which they would
fill.)"""

import csv
import subprocess
import time

import pytest
from suite_tools import debian_program

from harness import Deployment
from harness.build import patience
from harness.http_client import curl
from harness.processes import HarnessError

PAGE = b"<p>The page.</p>\n"
CONNECTIONS = 400
SECONDS = 30
PROBE_S = 5
MODES = {
    "headers": ["-H", "-t", "GET", "-x", "24"],
    "body": ["-B", "-s", "8192", "-x", "10"],
    "range": ["-R", "-a", "10", "-b", "3000"],
    "read": ["-X", "-w", "512", "-y", "1024", "-n", "5", "-z", "32"],
}


def command(mode, url, report):
    return [debian_program("slowhttptest"), *MODES[mode], "-c", CONNECTIONS, "-r", 200, "-i", 5,
            "-l", SECONDS, "-p", PROBE_S, "-g", "-o", report, "-u", url]


def unavailable_seconds(report):
    """The seconds in which its probe got no answer."""
    with open(f"{report}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows, "slowhttptest has not run"
    return [row["Seconds"] for row in rows if row["Service Available"] == "0"]


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment(content={"/index.html": PAGE, "/large": b"x" * (256 << 10)}) as deployment:
        yield deployment


@pytest.mark.parametrize("mode", MODES)
def test_slow_clients_make_nothing_unavailable(mode, deployment, tmp_path, tell):
    accepted = deployment.sketcher.status()["workers"][0]["accepted"]
    url = deployment.url + ("/large" if mode == "read" else "/")
    curl(url)
    waits = []
    with open(tmp_path / "output", "wb") as output, \
            subprocess.Popen(list(map(str, command(mode, url, tmp_path / "report"))),
                             stdin=subprocess.DEVNULL, stdout=output,
                             stderr=subprocess.STDOUT) as attack:
        try:
            while attack.poll() is None:
                waits.append(probe(deployment))
                time.sleep(0.2)
        finally:
            attack.kill()
    accepted = deployment.sketcher.status()["workers"][0]["accepted"] - accepted
    unavailable = unavailable_seconds(tmp_path / "report")
    tell(f"available in all but {len(unavailable)} seconds; of {len(waits)} requests of our own the "
         f"slowest took {max(waits):.2f} s")
    assert accepted >= CONNECTIONS
    assert not unavailable
    assert max(waits) < PROBE_S * patience()


def probe(deployment):
    """How long a request takes."""
    begun = time.monotonic()
    try:
        assert curl(deployment.url + "/", timeout_s=2 * PROBE_S).body == PAGE
    except HarnessError as problem:
        pytest.fail(f"unavailable: {problem}")
    return time.monotonic() - begun
