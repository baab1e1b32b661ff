"""scripts/install-packages with a dpkg, an apt and a policy for services of the test's own: no package is installed."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.build import patience
from harness.processes import wait_until

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"
POLICY = "/usr/sbin/policy-rc.d"

# What the script runs. apt-get says with which policy it was run, and waits if the test wants it to.
PROGRAMS = {
    "dpkg-query": "exit 0",
    "apt-cache": "exit 0",
    "sudo": 'exec "$@"',
    "systemctl": "exit 0",
    "apt-get": 'cat policy-rc.d >>seen; echo . >>runs; while [ -e hangs ]; do sleep 0.05; done',
}


@pytest.fixture(name="place")
def _place(tmp_path):
    """A copy of the script with a policy in this folder."""
    scripts = tmp_path / "scripts"
    (scripts / "packages").mkdir(parents=True)
    (scripts / "packages" / "some").write_text("some-package\n")
    shutil.copy(SCRIPTS / "common.sh", scripts)
    text = (SCRIPTS / "install-packages").read_text()
    assert text.count(POLICY) == 1
    (scripts / "install-packages").write_text(text.replace(POLICY, str(tmp_path / "policy-rc.d")))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, body in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n")
        (programs / name).chmod(0o755)
    return tmp_path


def start(place):
    path = f"{place / 'bin'}:{os.environ['PATH']}"
    return subprocess.Popen(["/bin/bash", place / "scripts" / "install-packages", "some"], cwd=place,
                            env={**os.environ, "PATH": path}, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def install(place):
    started = start(place)
    _, errors = started.communicate(timeout=30 * patience())
    assert started.returncode == 0, errors


def test_no_service_starts_meanwhile_and_all_may_afterwards(place):
    install(place)
    assert "exit 101" in (place / "seen").read_text()
    assert not (place / "policy-rc.d").exists()


def test_what_a_killed_run_has_left_goes_with_the_next_one(place):
    (place / "hangs").touch()
    killed = start(place)
    try:
        wait_until((place / "runs").exists, 10, "apt-get to run")
    finally:
        os.killpg(killed.pid, signal.SIGKILL)
        killed.communicate(timeout=10)
    assert "exit 101" in (place / "policy-rc.d").read_text()
    (place / "hangs").unlink()
    install(place)
    assert not (place / "policy-rc.d").exists()


def test_an_administrators_policy_stays(place):
    (place / "policy-rc.d").write_text("#!/bin/sh\nexit 0\n")
    before = (place / "policy-rc.d").stat().st_mtime_ns
    time.sleep(0.02)
    install(place)
    assert (place / "seen").read_text() == "#!/bin/sh\nexit 0\n"
    assert (place / "policy-rc.d").stat().st_mtime_ns == before
