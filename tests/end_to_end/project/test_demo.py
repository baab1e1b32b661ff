"""The demonstration itself: it ends by itself, every step holds, and nothing is left running."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.build import ROOT, patience
from harness.processes import all_pids, wait_until


def demo(*arguments):
    mark = f"PROPHECY_TEST_MARK={os.getpid()}-{time.monotonic_ns()}"
    name, _, value = mark.partition("=")
    process = subprocess.Popen([sys.executable, "-m", "demo", *arguments], cwd=ROOT, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT,
                               env={**os.environ, "PYTHONPATH": str(ROOT), name: value})
    return process, mark


def processes_with(mark):
    """Live processes that inherited this variable."""
    found = []
    for pid in all_pids():
        try:
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
        except OSError:
            pass
    return found


@pytest.mark.time_limit(180)
def test_demo_once():
    process, mark = demo("--once")
    output, _ = process.communicate(timeout=150 * patience())
    assert process.returncode == 0, output
    assert "FAIL" not in output
    assert "All 8 steps held" in output
    assert processes_with(mark) == []


@pytest.mark.time_limit(240)
def test_demo_of_several_sketchers():
    process, mark = demo("--scale-out", "--once")
    output, _ = process.communicate(timeout=200 * patience())
    assert process.returncode == 0, output
    assert "FAIL" not in output
    assert "All 6 steps held" in output
    assert processes_with(mark) == []


@pytest.mark.time_limit(180)
def test_demo_measures_its_own_pages():
    process, mark = demo("--measure", "--seconds", "12", "--once")
    output, _ = process.communicate(timeout=150 * patience())
    assert process.returncode == 0, output
    assert "4 URLs, 24 answers, " in output
    assert (ROOT / ".run" / "demo-measure" / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert processes_with(mark) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL],
                         ids=["interrupt", "terminate", "kill"])
def test_demo_stopped_by_a_signal_leaves_nothing(number):
    process, mark = demo()
    try:
        for line in process.stdout:
            if found := re.search(r"all files under (\S+)", line):
                break
        assert len(processes_with(mark)) >= 10
    finally:
        process.send_signal(number)
        process.communicate(timeout=60 * patience())
    wait_until(lambda: not processes_with(mark), 20, "the demo's processes to end")
    folder = Path(found[1])
    if number == signal.SIGKILL:  # who is killed cannot clean up
        shutil.rmtree(folder)
    assert not folder.exists()
