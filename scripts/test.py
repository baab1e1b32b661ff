"""Runs all tests of a build and counts them: rules of the tree, unit and simulation, end-to-end.

usage: test.py [--quick | --suites] [--check] [--long] [NAME...]

--suites runs the public test suites instead, which scripts/suites has installed. --check adds the
checks of scripts/gates.py; --long the tests that take minutes each. With names, only tests whose names
contain one of them run. A line each minute says how far the run is. At the end a line "failed: NAME"
names each that has failed; the last line is "N passed, N failed" (and ", N skipped" where there are
such). The exit status is 0 only when something ran and nothing failed. The build folder comes from PROPHECY_BUILD.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import clang_tidy  # noqa: E402  (lies beside this file)
import gates  # noqa: E402
import tidy  # noqa: E402

from harness.build import ROOT, build_folder, patience  # noqa: E402

AT_ONCE = "3"
# Much of an end-to-end test is waiting. What tests of one file share stays with one process.
IN_PARALLEL = ("-n", "4", "--dist", "loadfile")
PYTEST_TIMEOUT_S = 1800
UNIT_TIMEOUT_S = 1800
# With --long, each of the two above.
LONG_TIMEOUT_S = 4 * 3600
# Of clang-tidy with --check: CI has half an hour for everything.
CLANG_TIDY_S = 60
PROGRESS_S = 60
# For a build with sanitizers: what they find ends the program.
SANITIZERS = {"UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
              "TSAN_OPTIONS": f"halt_on_error=1:suppressions={ROOT}/scripts/thread-sanitizer.list"}


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    # A line for each failure. The end of the run repeats them: a long log may lose its beginning.
    failures: list = field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.failures += other.failures


def wanted(name, names):
    return not names or any(part in name for part in names)


def outcome_of(check, breaches):
    if not breaches:
        return Count(passed=1)
    return Count(failed=1, failures=[f"{check}: {breaches[0]}"])


def run_tidy(names):
    count = Count()
    for rule in tidy.RULES:
        if not wanted(f"tidy {rule.__name__}", names):
            continue
        mistakes = rule(ROOT)
        count.add(outcome_of(rule.__name__, mistakes))
        for mistake in mistakes:
            print(mistake)
    if count.passed + count.failed:
        print(f"tidy: {count.passed + count.failed} rules of the tree, {count.failed} broken")
    return count


def run_gates():
    """Format, ruff, commit subjects, and clang-tidy over the changed files that it has time for."""
    breaches = {rule.__name__: rule(ROOT) for rule in gates.RULES}
    breaches["clang-tidy"], left = clang_tidy.read(
        ROOT, build_folder(), gates.changed_sources(ROOT), CLANG_TIDY_S)
    count = Count()
    for check, lines in breaches.items():
        count.add(outcome_of(check, lines))
        for line in lines:
            print(line)
    print(f"checks: {len(breaches)} of format, ruff, commit subjects and clang-tidy, "
          f"{count.failed} failed")
    if left:
        print(f"clang-tidy has not read {len(left)} of the changed files; ./run check reads them all")
    return count


class Progress:
    """Prints a line each minute, while the block runs: how many of `total` are done, and an estimate
    of the time that is left, as if all took equally long."""

    def __init__(self, what, total, count_done):
        self.what = what
        self.total = total
        self.count_done = count_done
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.report, daemon=True)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def report(self):
        start = time.monotonic()
        while not self.over.wait(PROGRESS_S):
            print(progress_line(self.what, self.count_done(), self.total,
                                time.monotonic() - start), flush=True)


def progress_line(what, done, total, seconds):
    left = f", about {seconds * (total - done) / done / 60:.0f} min left" if done else ""
    return f"\n[{seconds / 60:.0f} min] {what}: {done} of {total}{left}"


def run_timed(command, timeout_s, environment=None):
    """Runs a command in a process group of its own, so that a time-out ends all of it."""
    timeout_s *= patience()
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL,
                               start_new_session=True,
                               env={**SANITIZERS, **os.environ, **(environment or {})})
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        print(f"ended after {timeout_s} s: {command[0]}")
        return None
    finally:
        end_group(process)


def end_group(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            pass
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def count_catch_cases(text, succeeded):
    """Catch's own summary; a program without one, or one that crashed, counts as a single case."""
    count = Count()
    for total in re.findall(r"^All tests passed \(.* in (\d+) test cases?\)", text, re.M):
        count.passed += int(total)
    for line in re.findall(r"^test cases: +(\d+ \|.*)$", text, re.M):
        for number, what in re.findall(r"(\d+) (passed|failed)", line):
            setattr(count, what, getattr(count, what) + int(number))
    if count.passed + count.failed == 0 or (not succeeded and count.failed == 0):
        count.add(Count(passed=1) if succeeded else Count(failed=1))
    return count


def nothing(names):
    """No test was found: as wished, or a folder of tests is lost."""
    return Count() if names else Count(failed=1, failures=["no test was found"])


LONG_SUITE = "long"


def run_meson(names, long):
    listing = subprocess.run(["/usr/bin/meson", "introspect", "--tests", build_folder()],
                             capture_output=True, text=True, check=True)
    tests = [test["name"] for test in json.loads(listing.stdout)
             if long or not any(suite.endswith(LONG_SUITE) for suite in test["suite"])]
    tests = [name for name in tests if wanted(name, names)]
    if not tests:
        return nothing(names)
    # A log of our own: another run in the same folder writes its own as well.
    log_name = f"testlog-{os.getpid()}"
    logs = build_folder() / "meson-logs"
    log = logs / f"{log_name}.json"
    with Progress("programs of unit tests and simulations", len(tests),
                  lambda: len(read_lines(log))):
        status = run_timed(["/usr/bin/meson", "test", "-C", str(build_folder()), "--no-rebuild",
                            "--num-processes", AT_ONCE, "--timeout-multiplier", str(patience()),
                            "--print-errorlogs", "--logbase", log_name, *tests],
                           LONG_TIMEOUT_S if long else UNIT_TIMEOUT_S)
    count = Count()
    for line in read_lines(log):
        result = json.loads(line)
        if result["result"] == "SKIP":
            count.skipped += 1
        else:
            succeeded = result["result"] in ("OK", "EXPECTEDFAIL")
            count.add(count_catch_cases(result.get("stdout", ""), succeeded))
            if not succeeded:
                count.failures.append(result["name"])
    for path in logs.glob(f"{log_name}*"):
        path.unlink()
    if status != 0 and count.failed == 0:
        count.add(Count(failed=1, failures=[f"meson test ended with {status}"]))
    return count


def read_lines(path):
    return path.read_text().splitlines() if path.exists() else []


def run_pytest(tests, names, long, *options):
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        # In an empty list of words everything is chosen.
        chosen = ["-k", " or ".join(names)] if names else []
        status = run_timed([sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
                            "--tb=short", f"--junit-xml={report}", *options, *chosen,
                            *(["--long"] if long else []), tests],
                           LONG_TIMEOUT_S if long else PYTEST_TIMEOUT_S,
                           {"PYTHONPATH": str(ROOT)})
        count = Count()
        if report.exists():
            for suite in xml.etree.ElementTree.parse(report).iter("testsuite"):
                failed = int(suite.get("failures")) + int(suite.get("errors"))
                skipped = int(suite.get("skipped"))
                count.add(Count(int(suite.get("tests")) - failed - skipped, failed, skipped,
                                failed_cases(suite)))
    if status == 5:
        return nothing(names)
    if status != 0 and count.failed == 0:
        count.add(Count(failed=1, failures=[f"pytest of {tests} ended with {status}"]))
    return count


def failed_cases(suite):
    return [f"{case.get('classname')}::{case.get('name')}" for case in suite.iter("testcase")
            if case.find("failure") is not None or case.find("error") is not None]


def main():
    parser = argparse.ArgumentParser(prog="./run test", description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="leave out the end-to-end tests")
    parser.add_argument("--suites", action="store_true", help="run the public suites instead")
    parser.add_argument("--check", action="store_true",
                        help="format, ruff, commit subjects, clang-tidy of changed files, too")
    parser.add_argument("--long", action="store_true", help="tests that take minutes, too")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    total = Count()
    if options.suites:
        total.add(run_pytest("tests/suites", options.names, options.long, "-v", "-rxs"))
    else:
        total.add(run_tidy(options.names))
        if options.check:
            total.add(run_gates())
        sys.stdout.flush()
        total.add(run_meson(options.names, options.long))
        sys.stdout.flush()
        if not options.quick:
            total.add(run_pytest("tests/end_to_end", options.names, options.long, "-q",
                                 *IN_PARALLEL))
    for failure in total.failures:
        print(f"failed: {failure}")
    skipped = f", {total.skipped} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {total.failed} failed{skipped}")
    sys.exit(0 if total.passed and not total.failed else 1)


if __name__ == "__main__":
    main()
