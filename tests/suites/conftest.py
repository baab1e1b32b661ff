"""What the suites found is told at the end, one line a gate, whether it passed or not."""

import pytest

LINES = pytest.StashKey()


def pytest_configure(config):
    config.stash[LINES] = []


@pytest.fixture(name="tell")
def _tell(request):
    """tell("146 of 146") adds to the line of the test."""
    def tell(text):
        request.config.stash[LINES].append(f"{request.node.name}: {text}")
    return tell


def pytest_terminal_summary(terminalreporter, config):
    terminalreporter.section("what the suites say")
    for line in config.stash[LINES]:
        terminalreporter.write_line(line)
