"""An origin inside the test's own process: it keeps every byte that it is sent, and answers with
whatever bytes the test says, HTTP or not. Apache could be made to do neither."""

import contextlib
import socket
import threading


class RecordingOrigin:
    """`answer` is called with each request's head and yields the answer's bytes, and whether the
    connection ends behind them."""

    def __init__(self, port, answer):
        self.received = []  # pieces, in the order in which they came on all connections
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", port), backlog=128)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        pending = b""
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                self.received.append(data)
                pending += data
                while request := whole_request(pending):
                    pending = pending[len(request):]
                    answer, closes = self._answer(request)
                    connection.sendall(answer)
                    if closes:
                        return

    def close(self):
        # Wakes the thread that accepts, which close() alone does not.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def whole_request(data):
    """The first request that is whole; the sketcher frames bodies by their length alone."""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end:
        return None
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return data[:len(head) + 4 + length] if len(rest) >= length else None
