"""What clients of a soak do beside HTTP/1.1 in plain text: TLS, HTTP/2, tunnels, answers in blocks, and
bodies that go to a file."""

import ssl
import struct
import time

from harness.http2_client import (CANCEL, NO_TABLE, RST_STREAM, WIDE, WINDOW_UPDATE, Http2Client,
                                  frame)
from harness.http_client import RawConnection

from bench.soak.content import is_written, large_files, static_files, written_large

TIMEOUT_S = 40
FILES = static_files()
LARGE_FILES = large_files()
STREAMS_MAX = 8
# Of one HTTP/2 connection: its window is opened once.
REQUESTS_MAX = 60
CONNECTION_WINDOW = 1 << 30
ECHO_BYTES_MAX = 60_000
WEIGHTS = {"read_through_tls": 8, "read_over_http2": 14, "http2_taken_back": 3, "tunnel": 4, "read_large": 3,
           "part_of_large": 3, "large_over_http2": 2, "write_large": 2}


class Wrong(Exception):
    """A client got what it may never get."""


class OtherWays:
    """A part of Client, which has the counting, and the drawing of what is done next."""

    def prepare(self, tls_port, authority):
        self._tls_port = tls_port
        self._contexts = {protocol: ssl.create_default_context(cafile=authority)
                          for protocol in ("http/1.1", "h2")}
        for protocol, context in self._contexts.items():
            context.set_alpn_protocols([protocol])
        self._tls = self._http2 = None
        self._large_written = 0

    def leave_other_ways(self):
        for connection in (self._tls, self._http2):
            if connection:
                connection.close()
        self._tls = self._http2 = None

    def _kept_tls(self):
        if self._tls is None:
            self._tls = RawConnection(self._tls_port, TIMEOUT_S, context=self._contexts["http/1.1"])
        return self._tls

    def _new_http2(self):
        tls = self._random.random() < 0.5
        client = Http2Client(self._tls_port if tls else self._port, NO_TABLE + WIDE, TIMEOUT_S,
                             self._contexts["h2"] if tls else None)
        client.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", CONNECTION_WINDOW)))
        return client

    def _kept_http2(self):
        if self._http2 and self._http2.next_stream > 2 * REQUESTS_MAX:
            self._http2.close()
            self._http2 = None
        if self._http2 is None:
            self._http2 = self._new_http2()
        return self._http2

    def _check_body(self, path, found, expected, status=200):
        got, body = found
        if self._available(got) and (got, body) != (status, expected):
            raise Wrong(f"{path}: {got}, {len(body)} bytes for {len(expected)}")

    def _read_through_tls(self):
        for _ in range(3):
            path = self._path()
            self._check(self._kept_tls().get(path), path)

    def _ask_over_http2(self, files, count):
        client = self._kept_http2()
        paths = [self._random.choice(list(files)) for _ in range(count)]
        streams = [client.request(path) for path in paths]
        answers = client.answers(streams)
        for path, stream in zip(paths, streams):
            self._check_body(path, answers[stream], files[path])

    def _read_over_http2(self):
        self._ask_over_http2(FILES, self._random.randint(1, STREAMS_MAX))

    def _large_over_http2(self):
        self._ask_over_http2(LARGE_FILES, 2)

    def _http2_taken_back(self):
        """Some of several, as soon as they are asked for or a moment later."""
        client = self._kept_http2()
        files = LARGE_FILES if self._random.random() < 0.2 else FILES
        paths = [self._random.choice(list(files)) for _ in range(3)]
        streams = [client.request(path) for path in paths]
        time.sleep(self._random.choice([0, 0.002, 0.02]))
        client.send(frame(RST_STREAM, 0, streams[0], struct.pack(">I", CANCEL)))
        answers = client.answers(streams[1:])
        for path, stream in zip(paths[1:], streams[1:]):
            self._check_body(path, answers[stream], files[path])

    def _tunnel(self):
        with RawConnection(self._tls_port, TIMEOUT_S, context=self._contexts["http/1.1"]) \
                if self._random.random() < 0.5 else self._new() as connection:
            connection.send(b"GET /echo HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\n"
                            b"Upgrade: echo\r\n\r\n")
            if not self._available((answer := connection.answer(to_head=True)).status):
                return
            if answer.status != 101:
                raise Wrong(f"a tunnel was answered with {answer.status}")
            for _ in range(self._random.randint(1, 20)):
                sent = self._random.randbytes(self._random.randint(1, ECHO_BYTES_MAX))
                connection.send(sent)
                received = b""
                while len(received) < len(sent):
                    received += (piece := connection.receive(len(sent) - len(received)))
                    if not piece:
                        raise Wrong(f"a tunnel ended after {len(received)} of {len(sent)} bytes")
                if received != sent:
                    raise Wrong("other bytes out of a tunnel")
            if self._random.random() < 0.3:
                connection.reset()

    def _large_connection(self):
        return self._kept_tls() if self._random.random() < 0.5 else self._kept()

    def _read_large(self):
        path = self._random.choice(list(LARGE_FILES))
        answer = self._large_connection().get(path)
        self._check_body(path, (answer.status, answer.body), LARGE_FILES[path])

    def _part_of_large(self):
        path = self._random.choice(list(LARGE_FILES))
        first = self._random.randrange(len(LARGE_FILES[path]) - 1)
        last = self._random.randrange(first, len(LARGE_FILES[path]))
        connection = self._large_connection()
        connection.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n"
                        f"Range: bytes={first}-{last}\r\n\r\n".encode())
        answer = connection.answer()
        self._check_body(path, (answer.status, answer.body), LARGE_FILES[path][first:last + 1], 206)

    def _write_large(self):
        """Its own, as with those that are small."""
        path = f"/{self.name}.bin"
        self._large_written += 1
        connection = self._large_connection()
        answer = connection.ask("PUT", path, written_large(path, self._large_written))
        if self._available(answer.status) and answer.status not in (201, 204):
            raise Wrong(f"PUT {path}: {answer.status}")
        answer = connection.get(path)
        if self._available(answer.status) and answer.status != 404 and (
                answer.status != 200
                or not is_written(path, answer.body, self._large_written, written_large)):
            raise Wrong(f"{path}: {answer.status}, {len(answer.body)} bytes, {answer.body[:60]!r}")
