"""The public suites, where scripts/suites has put them."""

import os
import shutil
import subprocess

import pytest

from harness.build import ROOT

FOLDER = ROOT / ".run/suites"
# Of every type and size that the suites have, in every coding that a client takes, and never for want of time.
COMPRESSED = {"route": {"compression": {"from": "1B", "types": [
    "text/html", "text/plain", "text/css", "application/json", "application/octet-stream"]}},
    "compression": {"processor_share": 1.0}}
# For what has to hold with compression as well as without: changes over the sketcher's configuration.
with_and_without_compression = pytest.mark.parametrize(
    "compression", [{}, COMPRESSED], ids=["plain", "compressed"])


def tried_codings(sketcher):
    """Answers that the sketcher has coded, or tried to: a body of a few bytes gets no smaller."""
    counts = sketcher.status()["compression"]
    return counts["delivered"] + counts["not_smaller"]


def suite_folder(name):
    """The folder of an installed suite, whose version is part of its name."""
    found = [path for path in FOLDER.glob(f"{name}-*") if path.is_dir() and path.suffix != ".part"]
    assert len(found) == 1, f"{name} is not installed: ./run test --suites does that"
    return found[0]


def debian_program(name):
    path = shutil.which(name, path="/usr/bin:/usr/sbin")
    assert path, f"{name} is not installed: ./run test --suites does that"
    return path


def run(command, timeout_s, environment=None, cwd=None):
    """Runs a suite to its end, in a session of its own that does not outlive it."""
    with subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "--", *map(str, command)],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", cwd=cwd,
                          start_new_session=True,
                          env={**os.environ, **(environment or {})}) as process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except BaseException as problem:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
            if isinstance(problem, subprocess.TimeoutExpired):
                pytest.fail(f"{command[0]} did not end within {timeout_s} s:\n{output[-4000:]}")
            raise
        return process.returncode, output
