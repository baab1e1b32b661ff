"""HTTP clients for demo and tests: curl as the real one, and a socket for what curl won't send."""

import re
import select
import socket
import struct
import subprocess
from dataclasses import dataclass, field

from harness.build import patience
from harness.processes import HarnessError


@dataclass
class Answer:
    status: int
    reason: str
    fields: list = field(default_factory=list)  # (lower-case name, value) in order of arrival
    body: bytes = b""

    def field_values(self, name):
        return [value for other, value in self.fields if other == name.lower()]

    def field(self, name):
        values = self.field_values(name)
        return values[0] if values else None


def parse_head(head):
    lines = head.decode("latin-1").split("\r\n")
    found = re.fullmatch(r"HTTP/(?:1\.[01]|2) (\d{3}) ?(.*)", lines[0])
    if not found:
        raise HarnessError(f"not an answer: {lines[0]!r}")
    fields = []
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields.append((name.lower(), value.strip()))
    return Answer(int(found[1]), found[2], fields)


def curl(url, *options, timeout_s=30):
    """One request by curl; interim answers (1xx) are skipped."""
    timeout_s *= patience()
    result = subprocess.run(["curl", "--silent", "--show-error", "--include", "--raw", "--http1.1",
                             "--noproxy", "*", "--max-time", str(timeout_s), *options, url],
                            stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if result.returncode != 0:
        raise HarnessError(f"curl {url}: status {result.returncode}: "
                           f"{result.stderr.decode(errors='replace').strip()}")
    rest = result.stdout
    while True:
        head, _, rest = rest.partition(b"\r\n\r\n")
        answer = parse_head(head)
        if answer.status >= 200:
            answer.body = rest
            return answer


class RawConnection:
    """A connection that sends exactly the bytes it is told to; inside TLS with a `context` of the
    module ssl."""

    def __init__(self, port, timeout_s=15, source=None, context=None):
        # Bound only where it matters: a port that is bound serves one connection, whatever its peer.
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=timeout_s * patience(),
                                                source_address=(source, 0) if source else None)
        if context:
            self._socket = context.wrap_socket(self._socket, server_hostname="localhost")
        self._buffer = b""

    def send(self, data):
        self._socket.sendall(data)

    def shut_down_sending(self):
        self._socket.shutdown(socket.SHUT_WR)

    def _fill(self):
        data = self._socket.recv(65536)
        self._buffer += data
        return bool(data)

    def readable(self, timeout_s):
        """Whether something is there to be read by then, if only the peer's end."""
        return bool(select.select([self._socket], [], [], timeout_s)[0])

    def receive(self, size):
        """Some bytes, as they come; none at the peer's end."""
        return self._socket.recv(size)

    def answer(self, to_head=False):
        """The next answer on the connection; its body has to be framed by Content-Length."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._fill():
                raise HarnessError(f"the connection ended inside a head: {self._buffer!r}")
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        answer = parse_head(head)
        if to_head or answer.status in (204, 304) or answer.status < 200:
            return answer
        if not (answer.field("content-length") or "").isdecimal():
            raise HarnessError(f"an answer without a length: {head!r}")
        length = int(answer.field("content-length"))
        body = bytearray(self._buffer)
        while len(body) < length:
            piece = self._socket.recv(1 << 20)
            if not piece:
                raise HarnessError("the connection ended inside a body")
            body += piece
        answer.body, self._buffer = bytes(body[:length]), bytes(body[length:])
        return answer

    def get(self, path, host="localhost"):
        self.send(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        return self.answer()

    def ask(self, method, path, content=b"", host="localhost"):
        self.send(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n"
                  f"Content-Length: {len(content)}\r\n\r\n".encode() + content)
        return self.answer()

    def ended(self):
        """Waits for the peer to close; True when it did so without another byte."""
        try:
            return not self._fill() and not self._buffer
        except ConnectionResetError:
            return not self._buffer
        except TimeoutError:
            return False

    def rest(self):
        """All that comes until the peer closes."""
        while self._fill():
            pass
        rest, self._buffer = self._buffer, b""
        return rest

    def close(self):
        self._socket.close()

    def reset(self):
        """Goes without a farewell: RST, and no FIN."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
