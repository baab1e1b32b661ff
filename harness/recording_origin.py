"""An origin inside the test's own process: it keeps every byte that it is sent, and answers with
whatever bytes the test says, HTTP or not. Apache could be made to do neither."""

import contextlib

from harness.scripted_origin import ScriptedOrigin


class RecordingOrigin(ScriptedOrigin):
    """`answer` is called with each whole request and yields the answer's bytes, and whether the
    connection ends behind them."""

    def __init__(self, port, answer):
        self.received = []  # pieces, in the order in which they came on all connections
        super().__init__(port, answer)

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
