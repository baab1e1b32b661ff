"""An operator brings the origins up to date one after another, behind everybody's back. Each is early or
late for a while; none of them lies."""

import contextlib
import threading
import time

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import wait_until
from harness.replicas import ctl
from harness.sketcher import json_lines

OLD, NEW = b"<p>The old page.</p>\n", b"<p>The new page.</p>\n"
KINDS = {
    "vote": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None},
    "pbft": {},
}
PATHS = ["/static/a", "/static/b", "/static/c"]
DRAWABLE_MIN = 2


def deployment_of(kind, **health):
    return Deployment(content={path: OLD for path in PATHS}, agents=kind == "pbft",
                      sketcher_changes={"group": {**KINDS[kind], "health": health}})


class Readers:
    """Clients that read all the time, and look at each answer."""

    def __init__(self, deployment):
        self.deployment = deployment
        self.wrong = []
        self.answers = 0
        self.fewest_drawn = 99
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(path,)) for path in PATHS]
        self._threads.append(threading.Thread(target=self._watch))

    def _read(self, path):
        while not self._over.is_set():
            answer = curl(self.deployment.url + path)
            self.answers += 1
            if (answer.status, answer.body) not in ((200, OLD), (200, NEW)):
                self.wrong.append((answer.status, answer.body[:80]))

    def _watch(self):
        while not self._over.is_set():
            origins = self.deployment.sketcher.status()["origins"]
            self.fewest_drawn = min(self.fewest_drawn, sum(origin["drawn"] for origin in origins))
            time.sleep(0.1)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()


def origins(deployment):
    return deployment.sketcher.status()["origins"]


def states(deployment):
    return [origin["state"] for origin in origins(deployment)]


def update(origin):
    for path in PATHS:
        origin.write(path, NEW)


def all_ready(deployment):
    now = origins(deployment)
    return all(origin["state"] == "ready" and origin["drawn"] for origin in now)


@pytest.mark.parametrize("kind", ["vote", "pbft"])
def test_a_rolling_change(kind):
    """No answer fails, enough origins are drawn all the time, and when it is over each origin comes back
    within its sit-out."""
    with deployment_of(kind, disputes_max=4, sit_out="2s", sit_out_max="4s") as deployment:
        with Readers(deployment) as readers:
            time.sleep(1)
            for number, origin in enumerate(deployment.origins):
                update(origin)
                if number == 0:
                    wait_until(lambda: states(deployment)[0] == "quarantined", 20,
                               "the early origin to be quarantined")
                    assert "lost disputes" in origins(deployment)[0]["reason"]
                    assert "lost disputes" in ctl("origin", "list", "--admin",
                                                  deployment.sketcher.admin)
                    assert {event["replica"] for event in
                            json_lines(deployment.sketcher.divergence_log)} == {0}
                time.sleep(3)
            # The longest sit-out, and the time to see it.
            wait_until(lambda: all_ready(deployment), 4 + 3, "all origins to be drawn again")
        assert readers.wrong == []
        assert readers.answers > 100
        assert readers.fewest_drawn >= DRAWABLE_MIN
        for path in PATHS:
            wait_until(lambda path=path: curl(deployment.url + path).body == NEW, 5,
                       "the new page")
        assert deployment.sketcher.counters()["failed"] == 0


@pytest.mark.parametrize("kind", ["vote", "pbft"])
def test_an_early_origin_is_drawn_again_once_the_others_have_come_after(kind):
    """However long its sit-out is: what it was held against is what the group says now."""
    with deployment_of(kind, disputes_max=4, sit_out="10m") as deployment:
        with contextlib.ExitStack() as reading:
            readers = reading.enter_context(Readers(deployment))
            time.sleep(1)
            update(deployment.origins[0])
            wait_until(lambda: states(deployment)[0] == "quarantined", 20,
                       "the early origin to be quarantined")
            # The others at once, so that none of them is late.
            for origin in deployment.origins[1:]:
                update(origin)
            wait_until(lambda: states(deployment)[0] == "ready", 10, "it to be drawn again")
        early = origins(deployment)[0]
        assert (early["reason"], early["probation"]) == ("the group agreed on its answer later", True)
        assert early["vindications"] > 0
        assert readers.wrong == []


def wait_for_rest(deployment):
    """Until a second has gone by without a dispute: what was under way has been judged."""
    disputes = None
    while disputes != (disputes := origins(deployment)[0]["divergences"]):
        time.sleep(1)


def test_an_operator_ends_a_quarantine():
    with deployment_of("vote", disputes_max=4, sit_out="10m") as deployment:
        with Readers(deployment):
            time.sleep(0.5)
            update(deployment.origins[0])
            wait_until(lambda: states(deployment)[0] == "quarantined", 20, "the quarantine")
        for path in PATHS:
            deployment.origins[0].write(path, OLD)
        wait_for_rest(deployment)
        ctl("origin", "set", "--admin", deployment.sketcher.admin, "default/0", "ready",
            "--reason", "rolled back")
        assert (states(deployment)[0], origins(deployment)[0]["reason"]) == ("ready", "rolled back")
