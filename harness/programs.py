"""The programs under test, from the build folder."""

import os
import subprocess

from harness.build import build_folder, patience
from harness.processes import HarnessError


def program(name):
    """The path of a program that the build has made."""
    for floor in ("sketcher", "pbft/replica", "tools", "measurement", "bench/load",
                  "tests/programs", "tests/byzantine", "tests/consistency"):
        path = build_folder() / floor / name
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise HarnessError(f"{name} is not in {build_folder()}: run ./run build first")


def run_program(name, *arguments, timeout_s=20, cwd=None):
    """Runs a program to its end, with its output as text."""
    return subprocess.run([program(name), *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=timeout_s * patience(),
                          cwd=cwd, check=False)
