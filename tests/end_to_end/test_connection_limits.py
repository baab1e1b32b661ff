"""Limits for connections, and for what they hold in all: who is over them harms nobody else."""

import random
import resource
from contextlib import closing

import pytest

from harness import Deployment
from harness.build import instrumented
from harness.http2_client import Http2Client
from harness.http_client import RawConnection, curl
from harness.ports import PortReservation
from harness.processes import wait_until

PAGE = b"page\n"
LIMIT = 5
MIB = 1 << 20
VOTE = {"group": {"kind": "vote", "file": None, "client_id": None, "key_file": None}}


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


def test_workers_may_open_as_many_files_as_the_system_allows():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with Deployment(content={"/index.html": PAGE}) as deployment:
            [worker] = deployment.sketcher.workers()
            assert resource.prlimit(worker, resource.RLIMIT_NOFILE) == (hard, hard)
            warned = "too-few-descriptors" in deployment.sketcher.child.log()
            # 10,000 clients, 256 connections to each of four origins, 256 of its own.
            assert warned == (hard < 10_000 + 4 * 256 + 256)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
@pytest.mark.parametrize("version", ["1.1", "2"])
def test_of_those_who_take_nothing_the_slowest_are_shed(version):
    """When all that is held of answers is too much; long before their time is over."""
    body = random.Random(1).randbytes(6 * MIB)
    changes = {"limits": {"untaken": "16MiB"}, **VOTE}
    with Deployment(content={"/file": body, "/small": b"small"}, agents=False,
                    sketcher_changes=changes) as deployment:
        assert curl(deployment.url + "/file").body == body
        wait_until(lambda: worker(deployment)["untaken_bytes"] == 0, 10, "nothing to be untaken")
        clients = []
        try:
            for _ in range(16):
                if version == "2":
                    clients.append(Http2Client(deployment.sketcher.port))
                    clients[-1].request("/file")
                else:
                    clients.append(RawConnection(deployment.sketcher.port))
                    clients[-1].send(b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: worker(deployment)["shed"] >= 4, 20, "some to be shed")
            wait_until(lambda: worker(deployment)["untaken_bytes"] <= 16 * MIB, 5, "the rest to fit")
            assert worker(deployment)["shed"] < 16
            assert curl(deployment.url + "/small").body == b"small"
        finally:
            for client in clients:
                client.close()
        wait_until(lambda: worker(deployment)["untaken_bytes"] == 0, 10, "nothing to be untaken")
