"""Clients that leave while the group is asked, and clients that only look as if they did."""

import signal
import time

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl
from harness.processes import wait_until

PAGE = b"page\n"


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    # One session: a call holds it until it ends.
    with Deployment(content={"/index.html": PAGE},
                    sketcher_changes={"group": {"sessions": 1, "deadline": "60s"}}) as deployment:
        curl(deployment.url + "/")
        yield deployment


@pytest.fixture(name="stalled")
def _stalled(deployment):
    """The group answers nothing until wake() is called, or the test is over."""
    for agent in deployment.agents[2:]:
        agent.child.signal(signal.SIGSTOP)
    yield deployment
    wake(deployment)


def wake(deployment):
    for agent in deployment.agents[2:]:
        agent.child.signal(signal.SIGCONT)


def ask(deployment, target, times=1):
    """A connection that has asked for a page of which nothing is known."""
    connection = RawConnection(deployment.sketcher.port)
    connection.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * times)
    return connection


def in_progress(deployment):
    """Reads that have not ended yet."""
    counters = deployment.sketcher.counters()
    return counters["reads"] - sum(counters[name] for name in ("fast", "replicated", "failed",
                                                               "abandoned"))


def test_client_that_leaves_gives_up_its_place(stalled):
    before = stalled.sketcher.counters()
    # The second has sent more than was taken of it.
    leaving = [ask(stalled, "/?first"), ask(stalled, "/?second", times=2)]
    wait_until(lambda: in_progress(stalled) == 2, 10, "both reads to be under way")
    staying = ask(stalled, "/?third")
    for connection in leaving:
        connection.reset()
    wait_until(lambda: stalled.sketcher.counters()["abandoned"] - before["abandoned"] == 2, 10,
               "both to be noticed")
    wake(stalled)
    with staying:
        assert staying.answer().body == PAGE
        assert staying.get("/").body == PAGE


def test_client_that_only_stopped_sending_gets_its_answers(stalled):
    before = stalled.sketcher.counters()
    with ask(stalled, "/?fourth", times=2) as connection:
        connection.shut_down_sending()
        time.sleep(1)  # some looks at the socket
        assert in_progress(stalled) == 1
        wake(stalled)
        for _ in range(2):
            assert connection.answer().body == PAGE
        assert connection.ended()
    assert stalled.sketcher.counters()["abandoned"] == before["abandoned"]


def test_client_that_sends_on_is_served_in_order(stalled):
    with ask(stalled, "/?fifth") as connection:
        time.sleep(0.5)
        connection.send(b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(0.5)
        wake(stalled)
        assert connection.answer().body == PAGE
        assert connection.answer().status == 404
