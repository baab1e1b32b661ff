"""A sketcher in front of origins that keep every byte that they are sent: what reaches none of them is
not in there."""

import socket
from contextlib import contextmanager

from harness import Deployment
from harness.recording_origin import RecordingOrigin


def answer_page(_request):
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\npage", False


class World:
    """A sketcher in front of origins that keep what they are sent, and take writes."""

    def __init__(self, deployment, answer):
        self.deployment = deployment
        self.port = deployment.sketcher.port
        self.origins = [RecordingOrigin(origin.port, answer) for origin in deployment.origins]
        deployment.sketcher.start()

    def close(self):
        self.deployment.sketcher.stop()
        for origin in self.origins:
            origin.close()

    def talk(self, *pieces):
        """All that comes back on a connection of its own, until the sketcher ends it."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.port), timeout=15) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                connection.sendall(piece)
            while data := connection.recv(65536):
                received += data
        return received

    def recorded(self):
        return [len(origin.received) for origin in self.origins]


@contextmanager
def recording_world(limits, answer=answer_page):
    """With these [limits], and origins that all answer so."""
    with Deployment(agents=False, start=False, sketcher_changes={
            "group": {"kind": "vote", "faults": 1, "writes": "all", "file": None,
                      "client_id": None, "key_file": None},
            "limits": limits}) as deployment:
        world = World(deployment, answer)
        try:
            yield world
        finally:
            world.close()
