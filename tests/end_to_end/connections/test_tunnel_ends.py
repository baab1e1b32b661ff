"""How tunnels end: by one side that ends its sending, one that is broken, or one that takes nothing."""

import contextlib
import fcntl
import os
import queue
import socket
import ssl
import struct
import termios
import threading
import time

import pytest

from harness import Deployment
from harness.build import patience
from harness.certificates import Authority
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.scripted_origin import ScriptedOrigin

KIB = 1 << 10
MIB = 1 << 20
VOTE = {"group": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}}
UPGRADE = (b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
TIMEOUT_S = 20
THROUGH = ["plain", "tls"]


class SwitchingOrigin(ScriptedOrigin):
    """Takes every tunnel, and leaves the connection to the test."""

    def __init__(self, port, taken):
        self._taken = taken
        super().__init__(port, None)

    def _serve(self, connection):
        received = b""
        while b"\r\n\r\n" not in received:
            data = connection.recv(65536)
            if not data:
                return
            received += data
        connection.sendall(SWITCH)
        connection.settimeout(TIMEOUT_S * patience())
        self._taken.put((connection, received.partition(b"\r\n\r\n")[2]))


class World:
    """A sketcher that each of its four origins lets have one tunnel."""

    def __init__(self, deployment, tls_port, context):
        self.deployment = deployment
        self._ports = {"plain": deployment.sketcher.port, "tls": tls_port}
        self._context = context
        self._taken = queue.Queue()
        self._origins = [SwitchingOrigin(origin.port, self._taken) for origin in deployment.origins]

    def open(self, through, behind=b""):
        """A tunnel's two ends."""
        client = socket.create_connection(("127.0.0.1", self._ports[through]),
                                          timeout=TIMEOUT_S * patience())
        if through == "tls":
            client = self._context.wrap_socket(client, server_hostname="localhost",
                                               suppress_ragged_eofs=False)
        client.sendall(UPGRADE + behind)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            data = client.recv(1)
            assert data, head
            head += data
        assert head.startswith(b"HTTP/1.1 101 "), head
        origin, received = self._taken.get(timeout=TIMEOUT_S * patience())
        while len(received) < len(behind):
            received += origin.recv(65536)
        assert received == behind
        return client, origin

    def worker(self):
        [worker] = self.deployment.sketcher.status()["workers"]
        return worker

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.worker()['pid']}/fd"))

    def wait_for_no_tunnel(self):
        wait_until(lambda: self.worker()["tunnels"] == 0, 10, "the tunnels' end")

    def close(self):
        for origin in self._origins:
            origin.close()


@contextlib.contextmanager
def made(folder, timeouts=None):
    authority = Authority(folder)
    changes = {**VOTE, "route": [{"mode": "tunnel", "upgrades": ["echo"]}], "origins": {"tunnels_max": 1},
               "timeouts": timeouts or {}}
    with contextlib.closing(PortReservation(1)) as ports, \
            Deployment(agents=False, start=False, sketcher_changes=changes) as deployment:
        deployment.sketcher.settings["listener"].append({
            "address": f"127.0.0.1:{ports.ports[0]}",
            "tls": {"certificates": [authority.issue("localhost", ["localhost"])]}})
        deployment.sketcher.write_configuration()
        context = ssl.create_default_context(cafile=authority.certificate)
        context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
        with contextlib.closing(World(deployment, ports.ports[0], context)) as world:
            deployment.sketcher.start()
            yield world
            deployment.sketcher.stop()


@pytest.fixture(scope="module", name="world")
def _world(tmp_path_factory):
    with made(tmp_path_factory.mktemp("certificates")) as world:
        yield world


@pytest.fixture(scope="module", name="impatient")
def _impatient(tmp_path_factory):
    with made(tmp_path_factory.mktemp("certificates"), {"idle": "1s", "send": "1s"}) as world:
        yield world


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def taken(connection, pause_s=0.0):
    """All that comes until the end, and whether the end is one that was said inside TLS."""
    received = bytearray()
    with contextlib.suppress(ssl.SSLError):
        while data := connection.recv(64 * KIB):
            received += data
            time.sleep(pause_s)
        return bytes(received), True
    return bytes(received), False


@pytest.mark.parametrize("through, broken, how", [
    ("plain", "client", reset), ("tls", "client", reset),
    # Python sends no close_notify of itself.
    ("tls", "client", socket.socket.close),
    ("plain", "origin", reset), ("tls", "origin", reset),
], ids=["client-resets", "client-resets-in-tls", "client-says-no-end-in-tls", "origin-resets",
        "origin-resets-client-in-tls"])
def test_a_side_that_is_broken_ends_the_tunnel(world, through, broken, how):
    """The other one is quiet, and learns of it. The second time, their places are needed."""
    world.wait_for_no_tunnel()
    before = world.descriptors()
    for _ in range(2):
        tunnels = [world.open(through) for _ in range(4)]
        assert world.worker()["tunnels"] == 4
        for client, origin in tunnels:
            how(client if broken == "client" else origin)
        for client, origin in tunnels:
            other = origin if broken == "client" else client
            # A reset is no end of what is said inside TLS.
            assert taken(other) == (b"", other is origin or through == "plain")
            other.close()
        world.wait_for_no_tunnel()
    wait_until(lambda: world.descriptors() == before, 10, "the descriptors to be closed")


def test_who_says_no_end_inside_tls_is_heard_to_its_last_byte(world):
    client, origin = world.open("tls")
    said = os.urandom(3 * MIB)
    # Python's shutdown() is that of the connection below.
    talk = threading.Thread(target=lambda: (client.sendall(said), client.shutdown(socket.SHUT_WR)))
    talk.start()
    try:
        assert taken(origin, 0.005)[0] == said
    finally:
        talk.join()
        client.close()
        origin.close()
    world.wait_for_no_tunnel()


@pytest.mark.parametrize("broken", ["client", "origin"])
def test_what_came_before_a_reset_arrives(world, broken):
    """It waits for the other side, in the sketcher and in its sockets."""
    client, origin = world.open("plain")
    sender, receiver = (client, origin) if broken == "client" else (origin, client)
    said, sent = os.urandom(64 * MIB), 0
    sender.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while sent < len(said):
            sent += sender.send(said[sent:sent + 64 * KIB])
    assert sent < len(said)  # all that there is room for
    left = struct.unpack("i", fcntl.ioctl(sender, termios.TIOCOUTQ, bytes(4)))[0]
    reset(sender)
    received, _ = taken(receiver)
    assert len(received) >= sent - left
    assert said.startswith(received)
    receiver.close()
    world.wait_for_no_tunnel()


@pytest.mark.parametrize("through", THROUGH)
def test_an_orderly_end_is_that_of_one_direction(world, through):
    """Through a slow reader, and both ways; inside TLS it is said."""
    client, origin = world.open(through)
    said, answered = os.urandom(5 * MIB), os.urandom(5 * MIB)

    def answer():
        got = taken(origin, 0.002)[0] if through == "plain" else b""
        origin.sendall(answered)
        origin.close()
        heard.append(got)

    heard = []
    talk = threading.Thread(target=answer)
    talk.start()
    try:
        if through == "plain":
            client.sendall(said)
            client.shutdown(socket.SHUT_WR)
        assert taken(client, 0.002) == (answered, True)
    finally:
        talk.join()
        client.close()
    assert heard == [said if through == "plain" else b""]
    world.wait_for_no_tunnel()


def test_a_half_that_is_quiet_lasts_no_longer_than_a_quiet_client(impatient):
    """It is `idle` then; while bytes come, it goes on."""
    world = impatient
    client, origin = world.open("plain")
    quiet, quiet_origin = world.open("plain")
    client.shutdown(socket.SHUT_WR)
    assert origin.recv(1) == b""
    for _ in range(8):
        origin.sendall(b"more")
        assert client.recv(4) == b"more"
        time.sleep(0.25)
    assert client.recv(1) == b""
    assert world.worker()["tunnels"] == 1
    quiet.sendall(b"still here")
    assert quiet_origin.recv(100) == b"still here"
    for connection in (client, origin, quiet, quiet_origin):
        connection.close()
    world.wait_for_no_tunnel()


def test_who_takes_nothing_does_not_hold_a_broken_tunnel(impatient):
    """It has the time `send` for what is left."""
    world = impatient
    client, origin = world.open("plain")
    before = world.worker()["untaken_bytes"]
    client.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while True:
            client.sendall(bytes(64 * KIB))
    assert world.worker()["untaken_bytes"] > before
    reset(client)
    world.wait_for_no_tunnel()
    assert world.worker()["untaken_bytes"] == before
    origin.close()


def test_a_tunnel_holds_nothing_of_what_was_before(world):
    behind = os.urandom(15 * KIB)  # comes with the request
    client, origin = world.open("plain", behind)
    wait_until(lambda: world.worker()["arriving_bytes"] == 0, 5, "nothing to be arriving")
    wait_until(lambda: world.worker()["untaken_bytes"] == 0, 5, "nothing to be held")
    client.close()
    origin.close()
    world.wait_for_no_tunnel()
