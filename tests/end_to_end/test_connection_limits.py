"""Limits for the number of connections: who is over them harms nobody else."""

from contextlib import closing

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl
from harness.ports import PortReservation
from harness.processes import wait_until

PAGE = b"page\n"
LIMIT = 5


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with closing(PortReservation(1)) as reservation:
        [metrics] = reservation.ports
        changes = {"limits": {"connections_per_address_max": LIMIT},
                   "sketcher": {"metrics": f"127.0.0.1:{metrics}"}}
        with Deployment(content={"/index.html": PAGE}, sketcher_changes=changes) as deployment:
            yield deployment


def worker(deployment):
    [only] = deployment.sketcher.status()["workers"]
    return only


def test_one_address_cannot_take_the_room_of_others(deployment):
    def from_other_address():
        return RawConnection(deployment.sketcher.port, source="127.0.0.2")

    wait_until(lambda: worker(deployment)["connections"] == 0, 10, "earlier connections to end")
    before = worker(deployment)
    greedy = [from_other_address() for _ in range(LIMIT)]
    for connection in greedy:
        assert connection.get("/").body == PAGE
    for _ in range(3):
        with from_other_address() as connection:
            assert connection.ended()
    assert curl(deployment.url + "/").body == PAGE
    assert greedy[0].get("/").body == PAGE

    after = worker(deployment)
    assert after["connections_refused"] - before["connections_refused"] == 3
    assert after["accepted"] - before["accepted"] == LIMIT + 1
    metrics = curl(f"http://{deployment.sketcher.settings['sketcher']['metrics']}/metrics").body
    expected = f'prophecy_connections_refused_total{{worker="0"}} {after["connections_refused"]}'
    assert expected in metrics.decode().splitlines()

    greedy.pop().close()
    wait_until(lambda: worker(deployment)["connections"] < LIMIT, 10, "one of them to be gone")
    with from_other_address() as connection:
        assert connection.get("/").body == PAGE
    for connection in greedy:
        connection.close()
