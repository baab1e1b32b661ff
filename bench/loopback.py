"""What two processes take to wake each other over the loopback: on a machine whose idle processors
are slow to wake, most of what a client waits for when it is alone. An ordered operation takes two
and a half such round trips in a row, one after the other."""

import socket
import statistics
import time
from multiprocessing import get_context

from bench.figures import Figure

MESSAGE = bytes(200)


def round_trip(options):
    count = 500 if options.quick else 20000
    with socket.create_server(("127.0.0.1", 0)) as listener:
        echo = get_context("fork").Process(target=_echo, args=(listener,), daemon=True)
        echo.start()
        times = _measure(listener.getsockname(), count)
        echo.join(10)
    return Figure("loopback round trip", round(statistics.median(times), 1), "us",
                  {"bytes": len(MESSAGE), "rounds": count})


def _echo(listener):
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while message := connection.recv(len(MESSAGE)):
        connection.sendall(message)


def _measure(address, count):
    """In microseconds."""
    times = []
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(count):
            began = time.monotonic_ns()
            connection.sendall(MESSAGE)
            connection.recv(len(MESSAGE), socket.MSG_WAITALL)
            times.append((time.monotonic_ns() - began) / 1e3)
    return times
