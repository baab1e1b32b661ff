"""The time limit of each test (tests/conftest.py): code that goes on after an exception does not outlast it."""

import os
import subprocess
import sys
from pathlib import Path

from harness.build import patience

ROOT = Path(__file__).resolve().parents[3]

TESTS = """
import time

import pytest

from harness import Deployment
from harness.processes import HarnessError, wait_until


def sleep():
    time.sleep(1000)


@pytest.mark.time_limit(1)
def test_goes_on_after_any_exception():
    while True:
        try:
            sleep()
        except Exception:
            pass


@pytest.mark.time_limit(1)
def test_ends_in_the_fixture(hanging):
    pass


@pytest.fixture(name="hanging")
def _hanging():
    try:
        sleep()
    except (Exception, HarnessError):
        yield


@pytest.mark.time_limit(1)
def test_waits():
    wait_until(lambda: False, 1000, "nothing")


@pytest.mark.time_limit(1)
def test_starts_a_deployment():
    Deployment(make_origins=lambda folder, ports: sleep())


def test_is_quick():
    pass
"""


def test_tests_that_hang_fail_and_others_go_on(tmp_path):
    file = tmp_path / "test_hanging.py"
    file.write_text(TESTS)
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "conftest", file],
                           cwd=tmp_path, env={**environment, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
                           stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * patience(),
                           check=False)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    lines = ended.stdout.splitlines()
    assert lines[-1].startswith(("3 failed, 1 passed, 1 error", "4 failed, 1 passed")), ended.stdout
    for name in ("goes_on_after_any_exception", "ends_in_the_fixture", "waits", "starts_a_deployment"):
        assert f"test_{name} took longer than" in ended.stdout, ended.stdout
