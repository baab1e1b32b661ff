"""What all end-to-end tests share: a time limit for each, the long ones behind --long, a line of
progress each minute, and the programs' logs of a failure."""

import os
import signal
import sys
import threading
import time

import pytest

from harness import Deployment
from harness.build import patience

TEST_TIMEOUT_S = 120


class TestTimeout(BaseException):
    __test__ = False


PROGRESS_S = 60


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run the tests that take minutes, too")


def pytest_configure(config):
    config.addinivalue_line("markers", "time_limit(seconds): instead of the usual time limit")
    config.addinivalue_line("markers", "long: takes minutes; runs with --long")
    # Workers of pytest-xdist report to the process that started them.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Progress())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    # The files that take longest happen to be those with the last names. Begun last, they would
    # leave processors without work at the end.
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    items[:] = [item for path in reversed(files) for item in files[path]]
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


class Progress:
    """Prints a line each minute: what has ended and what runs."""

    def __init__(self):
        self.running = {}
        self.done = 0
        self.total = None
        self.start = time.monotonic()
        self.over = threading.Event()

    def pytest_sessionstart(self):
        threading.Thread(target=self.report, daemon=True).start()

    def pytest_sessionfinish(self):
        self.over.set()

    def pytest_collection_finish(self, session):
        self.total = len(session.items) or self.total

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids):
        self.total = len(ids)

    def pytest_runtest_logstart(self, nodeid):
        self.running[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid):
        if self.running.pop(nodeid, None) is not None:
            self.done += 1

    def report(self):
        while not self.over.wait(PROGRESS_S):
            now = time.monotonic()
            passed = now - self.start
            left = (f", about {passed * (self.total - self.done) / self.done / 60:.0f} min left"
                    if self.done and self.total else "")
            longest = min(self.running.items(), key=lambda item: item[1], default=None)
            runs = f"; {longest[0]} for {now - longest[1]:.0f} s" if longest else ""
            sys.stderr.write(f"\n[{passed / 60:.0f} min] end-to-end tests: {self.done} of "
                             f"{self.total}{left}{runs}\n")
            sys.stderr.flush()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    """Ends a test, with its fixtures, that hangs: everything started is stopped on the way out."""
    marker = item.get_closest_marker("time_limit")
    seconds = (marker.args[0] if marker else TEST_TIMEOUT_S) * patience()

    def expired(_signal, _frame):
        raise TestTimeout(f"{item.name} took longer than {seconds} s")

    previous = signal.signal(signal.SIGALRM, expired)
    signal.alarm(seconds)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if call.when == "call" and report.failed:
        for name, value in getattr(item, "funcargs", {}).items():
            if isinstance(value, Deployment):
                report.sections.append((f"logs of {name}", value.logs()))
