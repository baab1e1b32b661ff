"""The benchmarks in their small size, so that they do not rot; those that take half a minute or more with --long."""

import json
import shutil
import subprocess
import sys

import pytest

from bench import etcd, lb, lb_gzip, lb_mixed, pbft, pbft_attack, pbft_group, peers
from bench.fast_read import call_figures
from bench.figures import Options
from bench.pbft_load import read_report
from bench.h2load import parse_h2load
from bench.wrk import parse_wrk
from harness.build import ROOT, instrumented, patience
from harness.processes import HarnessError

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
Percentiles: 2001 8002 20003
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
    assert (result.p50_us, result.p99_us, result.p999_us) == (2001, 8002, 20003)


H2LOAD_OUTPUT = """
finished in 1.06s, 3.00 req/s, 842.14KB/s
requests: 4 total, 4 started, 4 done, 3 succeeded, 1 failed, 0 errored, 0 timeout
"""


def test_reading_h2load():
    log = "".join(f"1700000000000000\t200\t{time}\n" for time in (300, 100, 200))
    result = parse_h2load(H2LOAD_OUTPUT, log)
    assert (result.requests, result.requests_per_second, result.errors) == (3, 3.0, 1)
    assert (result.p50_us, result.p99_us) == (200, 300)


def test_reading_strace():
    (figure,) = call_figures(STRACE_OUTPUT, 100, 16)
    assert figure.value == 5
    assert figure.parameters["recvfrom"] == 3
    assert figure.parameters["sendto"] == 2
    assert figure.parameters["pipelined"] == 16


REPORT = {"failed": 0, "wrong_results": 0, "agreed": 1000, "operations_per_second": 500.0,
          "latency_us": {"p50": 10.5, "p99": 20.5}, "cpu_seconds": {"user": 0.002, "system": 0.001}}


def test_reading_a_load_report():
    result = read_report(json.dumps(REPORT), 0.04)
    assert (result.operations_per_second, result.p50_us, result.p99_us) == (500, 10.5, 20.5)
    assert result.replicas_us == pytest.approx(40)
    assert result.client_us == pytest.approx(3)


@pytest.mark.parametrize("problem", ["failed", "wrong_results"])
def test_a_load_with_failures_is_no_measurement(problem):
    with pytest.raises(HarnessError, match=problem):
        read_report(json.dumps({**REPORT, problem: 1}), 0.04)


def test_reading_etcds_load():
    result = etcd.read_calls("1\t200\t30\n2\t200\t10\n3\t503\t5\n4\t200\t20\n", 3, 2, 0.003)
    assert (result["rate"], result["p50_us"], result["p99_us"]) == (1.5, 20, 30)
    assert result["cpu_us"] == pytest.approx(1000)
    with pytest.raises(HarnessError, match="put 2 values"):
        etcd.read_calls("1\t200\t30\n" * 3, 2, 2, 0.003)


def test_a_put_as_etcd_reads_it():
    assert etcd.put_message(0) == b"\0\0\0\0\x0a\x0a\x08prophecy"
    assert etcd.put_message(300) == (b"\0\0\0\x01\x39\x0a\x08prophecy" + b"\x12\xac\x02" + b"x" * 300)


def test_without_etcd_there_is_a_line_that_says_so(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "etcd" else f"/bin/{name}")
    (figure,) = etcd.run(Options(quick=True), 40, [0])
    assert (figure.value, figure.parameters) == ("skipped", {"reason": "etcd not installed"})


def test_cost_and_slowness_are_held_against_the_better_peer():
    costs = {"sketcher": (20.0, 300.0), "sketcher-gmac": (32.0, 100.0), "nginx": (25.0, 200.0),
             "haproxy": (16.0, 400.0)}
    runs = {name: [{"rate": 8000.0 / cpu, "cpu_us": cpu, "system_us": 2 * cpu, "p50_us": 1.0,
                    "p99_us": p99, "p999_us": 1.0}]
            for name, (cpu, p99) in costs.items()}
    ratios = {(figure.parameters["proxy"], figure.name): (figure.value, figure.parameters["over"])
              for figure in lb.request_figures(runs, {}) if figure.name.endswith("ratio")}
    assert ratios == {
        ("sketcher", "throughput ratio"): (0.8, "haproxy"),
        ("sketcher-gmac", "throughput ratio"): (0.5, "haproxy"),
        ("sketcher", "system cpu time ratio"): (1.25, "haproxy"),
        ("sketcher-gmac", "system cpu time ratio"): (2.0, "haproxy"),
        ("sketcher", "cpu time ratio"): (1.25, "haproxy"), ("sketcher", "p99 ratio"): (1.5, "nginx"),
        ("sketcher-gmac", "cpu time ratio"): (2.0, "haproxy"),
        ("sketcher-gmac", "p99 ratio"): (0.5, "nginx")}


@pytest.mark.long
@pytest.mark.time_limit(180)
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.skipif(instrumented(), reason="1 MiB for each of 100 clients takes it more than a second")
def test_lb_in_its_small_size(tmp_path):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", "lb", "--quick", "--json", report],
                            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=150 * patience(), check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    figures = json.loads(report.read_text())["figures"]
    if peers.missing_programs():
        assert [figure["value"] for figure in figures] == ["skipped"]
        return
    proxies = {"sketcher", *lb.PEERS}
    found = {tuple(figure["parameters"][key] for key in ("proxy", "protocol", "bytes"))
             for figure in figures if figure["name"] == "lb: cpu time" and figure["value"] > 0}
    rows = {("http/1.1", path) for path in lb.CONTENT}
    rows |= {(protocol, path) for protocol in ("https/1.1", "h2") for path in ("/1k", "/64k")}
    assert found == {(proxy, protocol, len(lb.CONTENT[path])) for proxy in (*proxies, lb.GMAC)
                     for protocol, path in rows} | {
            (proxy, lb_gzip.PROTOCOL, len(lb_gzip.TEXT)) for proxy in ("sketcher", *lb_gzip.PEERS)}
    system = {figure["parameters"]["proxy"] for figure in figures
              if figure["name"] == "lb: system cpu time ratio" and figure["value"] > 0}
    assert system == set(lb.SKETCHERS)
    idle = [figure for figure in figures if figure["name"] == "lb: idle connection"]
    assert {figure["parameters"]["proxy"] for figure in idle} == proxies


@pytest.mark.long
@pytest.mark.time_limit(240)
def test_ring_in_its_small_size(tmp_path):
    if shutil.which("wrk") is None:
        pytest.skip("wrk is not installed")
    output = tmp_path / "figures.json"
    subprocess.run([sys.executable, "-m", "bench", "ring", "--quick", "--json", output],
                   cwd=ROOT, check=True, timeout=180 * patience())
    figures = json.loads(output.read_text())["figures"]
    if peers.find("haproxy") is None:
        assert [figure["value"] for figure in figures] == ["skipped"]
        return
    ratios = [figure for figure in figures if figure["name"] == "ring: cpu time ratio"]
    assert len(ratios) == 8 and all(figure["value"] > 0 for figure in ratios)
    by_parts = [figure for figure in figures if figure["name"] == "ring: with look-ups alone, ratio"]
    assert len(by_parts) == 3 and all(figure["value"] > 0 for figure in by_parts)
    rates = [figure["parameters"]["rate"] for figure in figures if figure["name"] == "ring: cpu time of both roles"]
    assert len(rates) == 2 and rates[1] > 1.5 * rates[0]
    roles = [figure for figure in figures if figure["name"] == "ring: sketchers that keep pace"]
    assert len(roles) == 4 and all(figure["value"] > 0 for figure in roles)
    for share in (figure for figure in figures if figure["name"] == "ring: forwarded share"):
        assert share["value"] == pytest.approx(share["parameters"]["expected"], abs=0.1)


@pytest.mark.long
def test_pbft_in_its_small_size(tmp_path):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", "pbft", "--quick", "--json", report],
                            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=200 * patience(), check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    figures = json.loads(report.read_text())["figures"]
    for kind in ("ordered", "read-only"):
        found = [figure for figure in figures if figure["name"] == f"pbft: {kind}"]
        systems = {(figure["parameters"]["clients"], figure["parameters"]["bytes"],
                    figure["parameters"]["sync"], figure["parameters"]["execute_when"])
                   for figure in found}
        ways = [(sync, "committed") for sync in pbft.DURABILITY]
        if kind == "ordered":
            ways.append(("off", "prepared"))
        assert systems == {(clients, f"{size}/{size}", *way) for clients in pbft.CLIENTS
                           for size in pbft.SIZES for way in ways}
        for figure in found:
            assert figure["value"] > 0
            assert 0 < figure["parameters"]["p50_us"] <= figure["parameters"]["p99_us"]
            assert figure["parameters"]["replicas_cpu_us"] > 0
            assert figure["parameters"]["client_cpu_us"] > 0
    memory = [figure for figure in figures
              if figure["name"] == "pbft: resident memory of a replica"]
    assert len(memory) == len(pbft.SIZES) * (len(pbft.DURABILITY) + 1)
    assert [figure["value"] > 0 for figure in figures
            if figure["name"] == "pbft: loopback round trip"] == [True]
    yardstick = [figure for figure in figures if figure["name"] == "pbft: etcd"]
    if etcd.missing_programs():
        assert [figure["value"] for figure in yardstick] == ["skipped"]
    else:
        assert len(yardstick) == len(pbft.SIZES)
        assert all(figure["value"] > 0 for figure in yardstick)


def small(tmp_path, *arguments):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", *arguments, "--quick", "--json", report],
                            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=200 * patience(), check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return json.loads(report.read_text())["figures"]


@pytest.mark.time_limit(240)
def test_measure_in_its_small_size(tmp_path):
    figures = {figure["name"].removeprefix("measure: "): figure for figure in small(tmp_path, "measure")}
    assert {"warc with bodies", "har with bodies", "sketch log", "memory of a URL"} <= set(figures)
    if not instrumented():
        assert figures["memory of a URL"]["value"] <= 400
        assert max(figures[f"{name}, peak memory"]["value"] for name in ("warc", "har", "sketch log")) < 500


@pytest.mark.long
@pytest.mark.time_limit(240)
def test_attack_in_its_small_size(tmp_path):
    figures = small(tmp_path, "pbft", "--attack")
    measured = {(figure["parameters"]["kind"], figure["parameters"]["as"]) for figure in figures
                if figure["name"] == "pbft: throughput under attack"}
    assert measured == {(kind, place) for kind in pbft_attack.QUICK for place in pbft_attack.PLACES}
    (worst,) = [figure for figure in figures if figure["name"] == "pbft: worst"]
    assert (worst["parameters"]["kind"], worst["parameters"]["as"]) in measured


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.time_limit(240)
def test_liar_in_its_small_size(tmp_path):
    figures = small(tmp_path, "lb", "--liar")
    (share,) = [figure for figure in figures
                if figure["name"] == "lb: throughput once it is out"]
    assert share["value"] > 0


@pytest.mark.long
@pytest.mark.skipif(shutil.which("wrk") is None or shutil.which("h2load") is None,
                    reason="wrk or h2load is not installed")
@pytest.mark.time_limit(240)
def test_mixed_in_its_small_size(tmp_path):
    figures = small(tmp_path, "lb", "--mixed")
    times = {(figure["parameters"]["sketcher"], figure["parameters"]["page"]) for figure in figures
             if figure["name"] == "lb: p99" and figure["value"] > 0}
    assert times == {(name, page) for name in (lb_mixed.PIPELINED, lb_mixed.ALONE) for page in lb_mixed.PAGES}
    assert [figure["value"] for figure in figures if figure["name"] == "lb: errors"] == \
        [0] * 2 * len(lb_mixed.CASES)
    rises = {figure["parameters"]["sketcher"] for figure in figures if figure["name"] == "lb: p99 rise"}
    assert rises == {lb_mixed.PIPELINED, lb_mixed.ALONE}


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.time_limit(240)
def test_workers_in_their_small_size(tmp_path):
    figures = small(tmp_path, "lb", "--workers")
    times = {figure["parameters"]["bytes"]: figure["value"] for figure in figures
             if figure["name"] == "lb: two workers"}
    assert set(times) == {1024, 65536}
    assert min(times.values()) > 0


@pytest.mark.time_limit(120)
def test_table_in_its_small_size(tmp_path):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", "table", "--quick", "--json", report],
                            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=100 * patience(), check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    figures = {figure["name"]: figure["value"]
               for figure in json.loads(report.read_text())["figures"]}
    assert 40 < figures["table: bytes an entry"] < 42
    assert figures["table: lost to placement in 1 GiB"] < 0.1
    assert figures["table: lookups"] > 0 and figures["table: updates"] > 0
    assert 0 < figures["table: sketching 1 KiB, and two lookups"] < 100


@pytest.mark.time_limit(120)
def test_memory_of_replicas_until_some_operations_are_done(tmp_path):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", "pbft-memory", "--operations", "1500",
                             "--json", report], cwd=ROOT, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    figures = json.loads(report.read_text())["figures"]
    assert figures
    for figure in figures:
        assert figure["parameters"]["operations"] >= 1500
        assert len(figure["parameters"]["each"]) == 3 * pbft_group.FAULTS + 1
        assert figure["value"] == max(figure["parameters"]["each"])
        assert 5 < figure["value"] < 2000


@pytest.mark.long
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.time_limit(240)
def test_options_gain_what_their_page_says(tmp_path):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", "options", "--quick", "--json", report],
                            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=200 * patience(), check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    gains = {figure["parameters"]["what"]: figure["value"]
             for figure in json.loads(report.read_text())["figures"] if figure["name"].endswith("gain")}
    assert gains.keys() == {"hedging", "automatic blacklisting", "coalescing", "tentative execution",
                            "import of a history"}
    assert {what: times for what, times in gains.items() if times < 1.05} == {}


@pytest.mark.long
@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
@pytest.mark.time_limit(240)
def test_fast_read_in_its_small_size(tmp_path):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", "fast-read", "--quick", "--json",
                             report], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, timeout=200 * patience(), check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    document = json.loads(report.read_text())
    assert document["machine"]["cores"] >= 1
    figures = document["figures"]
    expected = {("prophecy", share, pipelined, 1) for share in (0.0, 0.15) for pipelined in (1, 16)}
    expected |= {("prophecy", share, 1, 1000) for share in (0.0, 0.15)}
    expected |= {("pbft", 0.0, 1, 1), ("pbft-ro", 0.0, 1, 1), ("pbft-ro", 0.0, 1, 1000)}
    for name, systems in [
            ("throughput", expected), ("cpu time", expected),
            ("throughput ratio", {system for system in expected if system[0] != "pbft-ro"}),
            ("cpu time ratio", {system for system in expected if system[0] != "pbft-ro"})]:
        found = [figure for figure in figures if figure["name"] == f"fast-read: {name}"]
        assert len(found) == len(systems)
        assert {tuple(figure["parameters"][key] for key in
                      ("mode", "transitions", "pipelined", "urls"))
                for figure in found} == systems
        assert all(figure["value"] > 0 for figure in found)
    papers = {figure["parameters"]["paper"] for figure in figures if "paper" in figure["parameters"]}
    assert papers == {3.72, 2.05}
    for figure in figures:
        assert {"workers", "faults", "origins", "page_bytes"} <= set(figure["parameters"])
    idle = [figure for figure in figures if figure["name"] == "fast-read: idle connection"]
    assert [each["parameters"]["protocol"] for each in idle] == ["http/1.1", "h2"]
    if not instrumented():
        assert all(each["value"] <= each["parameters"]["bound"] for each in idle)
