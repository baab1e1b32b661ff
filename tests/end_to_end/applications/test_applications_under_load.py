"""Applications under load, with uploads, slow requests, disks that fill and files that are lost, while origins
and agents are killed: the group goes on, states are equal in the end, and nothing is lost that
was acknowledged (docs/applications.md)."""

import os
from contextlib import contextmanager

import pytest

from harness import Deployment
from harness.applications import APPLICATIONS, ApplicationCluster
from harness.board_clients import AUDITED, BoardClients
from harness.board_faults import BoardFaults
from harness.build import patience

SECONDS = int(os.environ.get("PROPHECY_APPLICATION_SECONDS", "600"))
SEED = os.environ.get("PROPHECY_APPLICATION_SEED", "1")
ROUTES = [{"name": "pages", "reads": "delay-once"},
          {"name": "audited", "hosts": [AUDITED], "reads": "replicated"}]
# Between two acknowledged writes of all clients together.
GAP_MAX_S = 30


@contextmanager
def deployed(kind):
    clusters = []

    def make_origins(folder, ports):
        clusters.append(ApplicationCluster(folder, ports, kind))
        return clusters[0]

    def agent_changes(number):
        return {"service": {**clusters[0][number].service(), "answer_timeout": "5s", "write_settle": "6s"}}

    with Deployment(make_origins=make_origins, agent_changes=agent_changes,
                    sketcher_changes={"route": ROUTES}) as deployment:
        yield deployment


def check(deployment, clients):
    """At the end of all faults, behind which all origins were in one state."""
    clients.stop()
    print(f"{clients.writes} writes, {clients.crashes} crashes, the longest pause "
          f"{clients.longest_gap_s:.1f} s: {clients.statuses}", flush=True)
    mistakes = clients.mistakes()
    assert mistakes == [], mistakes
    assert clients.lost(deployment.sketcher.port, AUDITED) == []
    for origin in deployment.origins:
        assert clients.lost(origin.port) == [], origin.number
    assert clients.writes > 50
    assert clients.longest_gap_s < GAP_MAX_S * patience()


def run(kind, seconds, **options):
    with deployed(kind) as deployment:
        clients = BoardClients(deployment.sketcher.port, kind, SEED, **options)
        try:
            BoardFaults(deployment, clients, SEED).run(seconds)
        finally:
            clients.stopping.set()
        check(deployment, clients)


@pytest.mark.long
@pytest.mark.time_limit(SECONDS + 600)
@pytest.mark.parametrize("kind", sorted(APPLICATIONS))
def test_an_application_outlasts_all_faults(kind):
    run(kind, SECONDS, rude_pause_s=5)


def test_an_application_is_repaired_under_load():
    """A short form, of the quickest one."""
    with deployed("node") as deployment:
        clients = BoardClients(deployment.sketcher.port, "node", SEED, rude=False)
        try:
            faults = BoardFaults(deployment, clients, SEED, pause_s=1)
            for number, fault in enumerate((faults.origin_killed, faults.agent_killed, faults.files_lost,
                                            faults.disk_full)):
                faults.inject(fault, number)
        finally:
            clients.stopping.set()
        check(deployment, clients)
