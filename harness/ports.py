"""Ports that stay ours.

Asking the kernel for a free port and closing the socket again leaves a gap in which somebody else
may be given the same port. The sockets here stay bound, without listening, for as long as the
ports are needed: the kernel hands such a port to nobody, while a server that sets SO_REUSEADDR
(all of ours, and Apache) may still listen on it. A client that connects while no server listens
is refused, as it should be.
"""

import socket


class PortReservation:
    def __init__(self, count):
        self._sockets = []
        for _ in range(count):
            reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            self._sockets.append(reserved)

    @property
    def ports(self):
        return [reserved.getsockname()[1] for reserved in self._sockets]

    def close(self):
        for reserved in self._sockets:
            reserved.close()


def accepts_connections(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False
