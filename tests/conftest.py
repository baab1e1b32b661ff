"""What all end-to-end tests share: a time limit for each, and the programs' logs of a failure."""

import signal

import pytest

from harness import Deployment
from harness.build import patience

TEST_TIMEOUT_S = 120


class TestTimeout(Exception):
    __test__ = False


def pytest_configure(config):
    config.addinivalue_line("markers", "time_limit(seconds): instead of the usual time limit")


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
