"""Bodies far beyond a frame: ordered by digest, fetched by every replica, the same everywhere."""

import os

import pytest

from harness import Deployment
from harness.build import instrumented, patience
from harness.http_client import RawConnection, curl
from harness.processes import wait_until

MIB = 1 << 20
SIZE = 100 * MIB
AGENT_BYTES_MAX = 128 * MIB


@pytest.fixture(name="deployment", scope="module")
def _deployment():
    time = f"{60 * patience()}s"
    changes = {"limits": {"body": "128MiB"}, "timeouts": {"body": time}, "group": {"deadline": time}}
    with Deployment(sketcher_changes=changes) as deployment:
        yield deployment


def peak_bytes(process_id):
    with open(f"/proc/{process_id}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def put(deployment, path, body):
    file = deployment.folder / "body"
    file.write_bytes(body)
    return curl(deployment.url + path, "-T", file, "-H", "Expect:", timeout_s=90)


@pytest.mark.time_limit(180)
def test_a_put_of_100_mib_is_the_same_at_all_origins(deployment):
    body = os.urandom(SIZE)
    assert put(deployment, "/large", body).status == 201
    wait_until(lambda: all(origin.read("/large") == body for origin in deployment.origins),
               30, "the body at all origins")
    if instrumented():
        return
    for agent in deployment.agents:
        assert peak_bytes(agent.child.pid) < AGENT_BYTES_MAX
    # Nobody was blamed for the time that it took.
    assert all(agent.status()["view"] == 0 for agent in deployment.agents)


def test_sizes_about_the_threshold(deployment):
    for size in (64 * 1024 - 1000, 64 * 1024, 128 * 1024, 128 * 1024 + 1, MIB, 5 * MIB + 1):
        body = os.urandom(size)
        path = f"/of-{size}"
        assert put(deployment, path, body).status == 201
        deployment.wait_for_write(path, body)
        answer = curl(deployment.url + path)
        assert (answer.status, answer.body) == (200, body)


def test_a_body_beyond_the_limit_is_refused(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"PUT /too-large HTTP/1.1\r\nHost: localhost\r\n"
                        b"Content-Length: %d\r\n\r\n" % (129 * MIB))
        assert connection.answer().status == 413
