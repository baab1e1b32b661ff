"""Strangers who talk to the agents' ports: their frames are dropped and counted."""

import random
import socket
import struct

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import wait_until
from harness.replicas import WIRE_VERSION, links_are_encrypted

PAGE = b"page\n"


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment(content={"/index.html": PAGE}) as deployment:
        yield deployment


def send_to_agents(deployment, data):
    for agent in deployment.agents:
        with socket.create_connection(("127.0.0.1", agent.agent_port), timeout=5) as connection:
            connection.sendall(data)


def framed(frame):
    return struct.pack("<I", len(frame)) + frame


# A frame begins with its type, the version of the wire and the sender.
def header(kind, sender):
    return struct.pack("<BBI", kind, WIRE_VERSION, sender)


RANDOM = random.Random(7)
FRAMES = {
    "empty-frames": struct.pack("<I", 0) * 10,
    "endless-length": struct.pack("<I", 0xFFFFFFFF) + b"x" * 100,
    "random-bytes": RANDOM.randbytes(100_000),
    "random-frames": b"".join(framed(RANDOM.randbytes(size)) for size in range(1, 200)),
    "wrong-mac": b"".join(framed(header(kind, sender) + bytes(200))
                          for kind in range(16) for sender in (0, 1, 2, 3, 1024, 77)),
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
}


@pytest.mark.skipif(links_are_encrypted(), reason="it speaks to the agents in plain text itself")
@pytest.mark.parametrize("name", sorted(FRAMES))
def test_bad_frames_are_dropped_and_counted(deployment, name):
    before = [dropped(agent) for agent in deployment.agents]
    send_to_agents(deployment, FRAMES[name])
    wait_until(lambda: all(dropped(agent) > count
                           for agent, count in zip(deployment.agents, before)),
               10, "the frames to be counted as dropped by all agents")
    assert curl(deployment.url + f"/{name}.txt", "-X", "PUT", "--data-binary", name).status == 201
    assert curl(deployment.url + f"/{name}.txt").body == name.encode()


def dropped(agent):
    """What the agent has counted of frames and connections that come from no honest member."""
    status = agent.status()
    reasons = ("malformed", "bad_length", "unknown_sender", "bad_mac", "bad_signature")
    return (sum(status["dropped"][reason] for reason in reasons)
            + status["transport"]["closed_garbage"])


def test_agents_survived(deployment):
    for agent in deployment.agents:
        assert agent.child.running(), agent.child.log()
    assert curl(deployment.url + "/").body == PAGE
