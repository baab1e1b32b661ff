"""The benchmarks in their small size, so that they do not rot."""

import json
import shutil
import subprocess
import sys

import pytest

from bench.fast_read import call_figures
from bench.wrk import parse_wrk
from harness.programs import ROOT

WRK_OUTPUT = """\
Running 2s test @ http://127.0.0.1:1/1
  1 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.13ms    1.02ms  20.11ms   88.63%
    Req/Sec    47.34k     3.31k   52.08k    85.00%
  94231 requests in 2.00s, 20.31MB read
  Socket errors: connect 1, read 2, write 0, timeout 3
  Non-2xx or 3xx responses: 4
Requests/sec:  47094.32
Transfer/sec:     10.15MB
"""

STRACE_OUTPUT = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 60.00    0.600000           6       200           sendto
 40.00    0.400000           8       300       100 recvfrom
------ ----------- ----------- --------- --------- ----------------
100.00    1.000000           2       500       100 total
"""


def test_reading_wrk():
    result = parse_wrk(WRK_OUTPUT)
    assert (result.requests, result.requests_per_second, result.errors) == (94231, 47094.32, 10)


def test_reading_strace():
    (figure,) = call_figures(STRACE_OUTPUT, 100, 16)
    assert figure.value == 5
    assert figure.parameters["recvfrom"] == 3
    assert figure.parameters["sendto"] == 2
    assert figure.parameters["pipelined"] == 16


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.time_limit(240)
def test_fast_read_in_its_small_size(tmp_path):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", "fast-read", "--quick", "--json",
                             report], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=200, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    document = json.loads(report.read_text())
    assert document["machine"]["cores"] >= 1
    figures = document["figures"]
    expected = {("prophecy", share, pipelined) for share in (0.0, 0.15) for pipelined in (1, 16)}
    expected |= {("pbft", 0.0, 1), ("pbft-ro", 0.0, 1)}
    for name, systems in [
            ("throughput", expected), ("cpu time", expected),
            ("throughput ratio", {system for system in expected if system[0] != "pbft-ro"}),
            ("cpu time ratio", {system for system in expected if system[0] != "pbft-ro"})]:
        found = [figure for figure in figures if figure["name"] == f"fast-read: {name}"]
        assert len(found) == len(systems)
        assert {tuple(figure["parameters"][key] for key in ("mode", "transitions", "pipelined"))
                for figure in found} == systems
        assert all(figure["value"] > 0 for figure in found)
    papers = {figure["parameters"]["paper"] for figure in figures if "paper" in figure["parameters"]}
    assert papers == {3.72, 2.05}
    for figure in figures:
        assert {"workers", "faults", "origins", "page_bytes"} <= set(figure["parameters"])
    (idle,) = [figure for figure in figures if figure["name"] == "fast-read: idle connection"]
    assert idle["value"] <= idle["parameters"]["bound"]
