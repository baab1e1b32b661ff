"""The file of divergences as an operator rotates it."""

import itertools
import signal
import urllib.request
from contextlib import closing

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.sketcher import json_lines

PAGE = b"<p>The right page.</p>\n"
NUMBERS = itertools.count()


@pytest.fixture(name="changes")
def _changes():
    return {}


@pytest.fixture(name="deployment")
def _deployment(changes):
    with closing(PortReservation(1)) as reserved:
        changes = {"sketcher": {"metrics": f"127.0.0.1:{reserved.ports[0]}", **changes}}
        with Deployment(content={"/index.html": PAGE}, sketcher_changes=changes) as deployment:
            for _ in range(2):
                assert curl(deployment.url + "/").body == PAGE
            deployment.origins[2].write("/index.html", PAGE.replace(b"right", b"wrong"))
            yield deployment


def events_after(deployment, count):
    """Reads until the sketcher has more events than `count`: a page that its history holds by then."""
    target = f"/?{next(NUMBERS)}-{'x' * 900}"
    for _ in range(100):
        assert curl(deployment.url + target).body == PAGE
        if len(deployment.sketcher.divergences()) > count:
            return len(deployment.sketcher.divergences())
    raise AssertionError("no divergence in 100 reads")


def ids(events):
    return [event["id"] for event in events]


def wait_for_all(sketcher, *files):
    """Until the files together have all events. A read may be followed by more than one."""
    wait_until(lambda: sum((ids(json_lines(path)) for path in files), []) ==
               ids(sketcher.divergences()), 5, "the events in the file")


def test_renamed_and_reopened(deployment):
    sketcher = deployment.sketcher
    first = events_after(deployment, 0)
    log, old = sketcher.divergence_log, sketcher.divergence_log.with_suffix(".1")
    wait_for_all(sketcher, log)
    log.rename(old)
    sketcher.child.signal(signal.SIGHUP)
    wait_until(lambda: "divergence-log-reopened" in sketcher.child.log(), 5, "a new file")
    events_after(deployment, max(first, len(json_lines(old))))
    wait_for_all(sketcher, old, log)
    assert json_lines(old) and json_lines(log)


def test_link_in_its_place_is_not_followed(deployment, tmp_path):
    sketcher = deployment.sketcher
    first = events_after(deployment, 0)
    log, old = sketcher.divergence_log, sketcher.divergence_log.with_suffix(".1")
    log.rename(old)
    target = tmp_path / "target"
    target.write_text("")
    log.symlink_to(target)
    sketcher.child.signal(signal.SIGHUP)
    wait_until(lambda: "divergence-log-not-reopened" in sketcher.child.log(), 5, "a refusal")
    events_after(deployment, first)
    wait_for_all(sketcher, old)
    assert target.read_text() == ""


def metric(deployment, name):
    address = deployment.sketcher.settings["sketcher"]["metrics"]
    text = urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()
    (line,) = [line for line in text.splitlines() if line.startswith(name + " ")]
    return float(line.split()[1])


@pytest.mark.parametrize("changes", [{"divergence_log_bytes_max": "9KiB"}])
def test_size_is_bounded(deployment):
    sketcher = deployment.sketcher
    log = sketcher.divergence_log
    count = 0
    while metric(deployment, "prophecy_divergence_log_skipped_total") == 0:
        count = events_after(deployment, count)
        assert log.stat().st_size <= 9 << 10
    assert sketcher.child.log().count("divergence-log-full") == 1
    written = len(json_lines(log))
    assert written < count
    log.rename(log.with_suffix(".1"))
    sketcher.child.signal(signal.SIGHUP)
    wait_until(lambda: "divergence-log-reopened" in sketcher.child.log(), 5, "a new file")
    count = events_after(deployment, len(sketcher.divergences()))
    wait_until(lambda: count - 1 in ids(json_lines(log)), 5, "an event in the new file")
    # The log and prophecyctl have all of them.
    assert ids(sketcher.divergences())[:count] == list(range(count))
