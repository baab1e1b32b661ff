"""The metrics: what the programs declare, what they write, and what the pages say of them."""

import re
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from harness import Deployment
from harness.build import build_folder
from harness.http_client import curl
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.programs import run_program
from harness.ring import RingDeployment

ROOT = Path(__file__).resolve().parents[3]
PAGE = b"<p>The page.</p>\n"
VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}


def described(program):
    metrics = tomllib.loads(run_program(program, "--describe-metrics").stdout)["metric"]
    assert len({metric["name"] for metric in metrics}) == len(metrics)
    return {metric["name"]: metric for metric in metrics}


def families(page):
    """{name: {"help", "type", "labels"}} of a page of metrics."""
    found = {}
    for line in page.splitlines():
        if line.startswith("# "):
            _, what, name, text = line.split(" ", 3)
            found.setdefault(name, {"labels": set()})[what.lower()] = text
            continue
        name, labels = re.match(r"([a-z0-9_]+)(?:\{(.*)\})? ", line).groups()
        found[name]["labels"].add(", ".join(sorted(re.findall(r'(?:^|,)([a-z_]+)="', labels or ""))))
    return found


def declared(metrics):
    return {name: {"help": metric["help"], "type": metric["type"],
                   "labels": {", ".join(sorted(metric.get("labels", "").split(", ")))}}
            for name, metric in metrics.items()}


def test_the_pages_say_what_the_programs_say():
    result = subprocess.run([sys.executable, ROOT / "scripts/metrics_pages.py", "--check", "--build",
                             build_folder()],
                            capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


@pytest.mark.parametrize("program", ["prophecy-sketcher", "prophecy-replica"])
def test_names_follow_the_conventions(program):
    for name, metric in described(program).items():
        assert re.fullmatch(r"(prophecy|process)_[a-z0-9_]+", name)
        assert name.endswith("_total") == (metric["type"] == "counter"), name
        base = name.removesuffix("_total")
        for unit in ("bytes", "seconds"):
            assert base.endswith(unit) == (metric["unit"] == unit), name
        assert metric["help"].endswith("."), name


def metrics_named_in(text):
    """Without the beginnings of file names and programs, such as prophecy_sketcher."""
    return set(re.findall(r"\b(?:prophecy_[a-z0-9_]+_(?:total|bytes|seconds)|prophecy_replica_[a-z_]+)\b",
                          text))


def test_documents_name_metrics_that_exist():
    known = described("prophecy-sketcher").keys() | described("prophecy-replica").keys()
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "man").iterdir(), ROOT / "README.md",
             *(ROOT / "examples").rglob("*.*")]
    for page in pages:
        assert metrics_named_in(page.read_text(errors="replace")) - known == set(), page


def read_sketcher(group):
    """The page of a sketcher in a ring that has served something, refused something, and copied a read."""
    with closing(PortReservation(2)) as ports:
        shadow_port, port = ports.ports
        shadow = {"address": f"127.0.0.1:{shadow_port}", "share": 1.0}
        changes = {"sketcher": {"metrics": f"127.0.0.1:{port}"}, "group": {**group, "shadow": [shadow]}}
        with RingDeployment(members=["a"], content={"/index.html": PAGE}, agents=not group,
                            sketcher_changes=changes) as deployment:
            for _ in range(4):
                assert curl(deployment.url + "/", "-H", "X-Unknown: 1").body == PAGE
            assert curl(deployment.url + "/", "-X", "TRACE").status >= 400
            assert curl(deployment.url + "/", "-X", "GET", "--data-binary", "x").status >= 400
            return curl(f"http://127.0.0.1:{port}/metrics").body.decode(), deployment.sketcher.status()


def test_a_sketcher_writes_what_it_declares():
    page, status = read_sketcher(VOTE)
    assert families(page) == declared(described("prophecy-sketcher"))
    fast = re.findall(r'prophecy_requests_total\{path="fast",route="[^"]*"\} (\d+)', page)
    assert sum(map(int, fast)) == status["requests"]["fast"]
    assert status["requests"]["answers"] == {"2xx": 4, "3xx": 0, "4xx": 1, "5xx": 1}


def test_a_group_with_agents_has_no_votes():
    page, _ = read_sketcher({})
    expected = declared(described("prophecy-sketcher"))
    del expected["prophecy_votes_total"]
    assert families(page) == expected


def member(status, path):
    """What stands at a path of the status; of a list, in its first member."""
    for name in path.split("."):
        status = status[name.removesuffix("[]")]
        if name.endswith("[]"):
            status = status[0]
    return status


@pytest.mark.parametrize("program", ["prophecy-sketcher", "prophecy-replica"])
def test_the_places_in_the_status_exist(program):
    with Deployment(content={"/index.html": PAGE}) as deployment:
        asked = deployment.sketcher if program == "prophecy-sketcher" else deployment.agents[0]
        status = asked.status()
    for metric in described(program).values():
        for described_place in (metric, *metric.get("value", [])):
            if described_place.get("status", "").startswith(("shadows", "ring")):
                continue  # there is none
            if "status" in described_place:
                member(status, described_place["status"])


def test_a_replica_writes_what_it_declares():
    with Deployment(content={"/index.html": PAGE}) as deployment:
        assert curl(deployment.url + "/").body == PAGE
        agent = deployment.agents[0]
        wait_until(lambda: agent.status()["core"]["requests_executed"] > 0, 10, "an execution")
        page = curl(f"http://{agent.status()['metrics']}/metrics").body.decode()
    assert families(page) == declared(described("prophecy-replica"))
