"""Clients of a soak: well-behaved ones that check every byte, and others that break off, drip, end
their sending early or talk nonsense. Prints a JSON document at its end: what they did, and what was wrong."""

import argparse
import json
import random
import struct
import sys
import threading
import time
from collections import Counter

from bench.soak import other_ways
from bench.soak.content import is_written, written
from bench.soak.other_ways import FILES, TIMEOUT_S, OtherWays, Wrong
from harness.http_client import RawConnection, parse_head
from harness.processes import HarnessError

LARGE = max(FILES, key=lambda path: len(FILES[path]))
# What the group cannot do with one fault too many is said, and is no wrong byte.
UNAVAILABLE = (502, 503, 504)
# Behaviours and how often each is drawn.
WEIGHTS = {"read": 40, "pipeline": 6, "head": 4, "part": 8, "condition": 6, "write": 12,
           "break_off": 6, "reset_while_waiting": 4, "drip": 4, "half_close": 6,
           "nonsense": 4, "read_slowly": 4}


def get(path, *fields):
    return "".join([f"GET {path} HTTP/1.1\r\nHost: localhost\r\n",
                    *(f"{field}\r\n" for field in fields), "\r\n"]).encode()


def head_of(answer):
    """All fields but those of the moment."""
    return sorted((name, value) for name, value in answer.fields
                  if name not in ("date", "connection"))


class Client(OtherWays):
    def __init__(self, port, name, heads):
        self._port = port
        self.name = name
        self._heads = heads  # of each path
        self._random = random.Random(name)
        self._connection = None
        self._written = 0  # the number of the last content that was sent
        self.counts = Counter()
        self.wrong = []
        self.weights = WEIGHTS
        self.is_done = False

    def prepare(self, tls_port, authority):
        super().prepare(tls_port, authority)
        self.weights = {**WEIGHTS, **other_ways.WEIGHTS}

    def run(self, deadline):
        while time.monotonic() < deadline:
            [behaviour] = self._random.choices(list(self.weights), list(self.weights.values()))
            self.counts[behaviour] += 1
            try:
                getattr(self, f"_{behaviour}")()
            except Wrong as problem:
                self.wrong.append(f"{behaviour}: {problem}")
                self._leave()
            except (HarnessError, OSError) as problem:
                self.counts["broken"] += 1
                self.wrong.append(f"{behaviour}: {type(problem).__name__} {problem}"[:300])
                self._leave()
            time.sleep(self._random.uniform(0, 0.02))
        self._leave()
        self.is_done = True

    def _kept(self):
        if self._connection is None:
            self._connection = self._new()
        return self._connection

    def _new(self):
        return RawConnection(self._port, TIMEOUT_S)

    def _leave(self):
        if self._connection:
            self._connection.close()
        self._connection = None
        if self.weights is not WEIGHTS:
            self.leave_other_ways()

    def _path(self):
        return self._random.choice(list(FILES))

    def _available(self, status):
        """Counts an answer; False when the group could not give one."""
        self.counts["answers"] += 1
        self.counts["unavailable"] += status in UNAVAILABLE
        return status not in UNAVAILABLE

    def _check(self, answer, path, body=None, status=200):
        if not self._available(answer.status):
            return
        body = FILES[path] if body is None else body
        if answer.status != status or answer.body != body:
            raise Wrong(f"{path}: {answer.status}, {len(answer.body)} bytes for {len(body)}")
        if status == 200 and path in self._heads and head_of(answer) != self._heads[path]:
            raise Wrong(f"{path}: fields {head_of(answer)}")

    def _read(self):
        path = self._path()
        self._check(self._kept().get(path), path)

    def _pipeline(self):
        paths = [self._path() for _ in range(8)]
        self._kept().send(b"".join(map(get, paths)))
        for path in paths:
            self._check(self._kept().answer(), path)

    def _head(self):
        path = self._path()
        self._kept().send(get(path).replace(b"GET", b"HEAD", 1))
        answer = self._kept().answer(to_head=True)
        # Apache says nothing of the length of an empty file.
        if self._available(answer.status) and \
                int(answer.field("content-length") or 0) != len(FILES[path]):
            raise Wrong(f"HEAD {path}: length {answer.field('content-length')}")

    def _part(self):
        path = self._random.choice([path for path, body in FILES.items() if len(body) > 100])
        first = self._random.randrange(len(FILES[path]) - 1)
        last = self._random.randrange(first, len(FILES[path]))
        self._kept().send(get(path, f"Range: bytes={first}-{last}"))
        self._check(self._kept().answer(), path, FILES[path][first:last + 1], 206)

    def _condition(self):
        path = self._path()
        tag = dict(self._heads[path])["etag"]
        self._kept().send(get(path, f"If-None-Match: {tag}"))
        self._check(self._kept().answer(), path, b"", 304)

    def _write(self):
        """Its own page, which nobody else writes: what comes back may be old, and never made up."""
        path = f"/{self.name}.txt"
        self._written += 1
        answer = self._kept().ask("PUT", path, written(path, self._written))
        if self._available(answer.status) and answer.status not in (201, 204):
            raise Wrong(f"PUT {path}: {answer.status}")
        answer = self._kept().get(path)
        # Before the first write there was none.
        if self._available(answer.status) and answer.status != 404 and (
                answer.status != 200 or not is_written(path, answer.body, self._written)):
            raise Wrong(f"{path}: {answer.status}, {answer.body[:60]!r}")

    def _break_off(self):
        with self._new() as connection:
            connection.send(get(LARGE))
            received = connection.receive(self._random.choice([1, 1000, 20_000]))
            if not received.startswith(b"HTTP/1.1 "[:len(received)]):
                raise Wrong(f"{LARGE}: begins with {received[:20]!r}")
            if self._random.random() < 0.5:
                connection.reset()

    def _reset_while_waiting(self):
        connection = self._new()
        connection.send(get(f"/nothing/{self._random.getrandbits(64)}"))
        connection.reset()

    def _drip(self):
        path = self._path()
        with self._new() as connection:
            for byte in struct.iter_unpack("c", get(path)):
                connection.send(byte[0])
                time.sleep(0.005)
            self._check(connection.answer(), path)

    def _half_close(self):
        paths = [self._path() for _ in range(3)]
        with self._new() as connection:
            connection.send(b"".join(map(get, paths)))
            connection.shut_down_sending()
            for path in paths:
                self._check(connection.answer(), path)

    def _nonsense(self):
        with self._new() as connection:
            connection.send(self._random.choice([
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET / HTTP/1.1\r\n\r\n",
                b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", b"PRI * HTTP/9.9\r\n\r\n",
                b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"])
                            + b"\r\n\r\n")
            status = connection.answer().status
            if not 400 <= status < 600:
                raise Wrong(f"nonsense was answered with {status}")

    def _read_slowly(self):
        received = b""
        with self._new() as connection:
            connection.send(get(LARGE, "Connection: close"))
            while data := connection.receive(16 << 10):
                received += data
                time.sleep(0.01)
        head, _, answer_body = received.partition(b"\r\n\r\n")
        answer = parse_head(head)
        answer.body = answer_body
        self._check(answer, LARGE)


def reference(port):
    """The fields of each file's answer, before anything goes wrong."""
    heads = {}
    with RawConnection(port, TIMEOUT_S) as connection:
        for path, body in FILES.items():
            answer = connection.get(path)
            if (answer.status, answer.body) != (200, body):
                raise HarnessError(f"{path}: {answer.status} before any fault")
            heads[path] = head_of(answer)
    return heads


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--tls-port", type=int, help="the same through TLS, and all that a sketcher "
                        "does beyond what an Apache can")
    parser.add_argument("--authority", help="of the certificate there")
    options = parser.parse_args()
    heads = reference(options.port)
    print("ready", flush=True)
    sys.stdin.readline()
    deadline = time.monotonic() + options.seconds
    clients = [Client(options.port, f"{options.name}-{number}", heads)
               for number in range(options.clients)]
    if options.tls_port:
        for client in clients:
            client.prepare(options.tls_port, options.authority)
    threads = [threading.Thread(target=client.run, args=(deadline,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(client.is_done for client in clients):
        sys.exit("a client died")
    print(json.dumps({"counts": sum((client.counts for client in clients), Counter()),
                      "wrong": [f"{client.name} {text}" for client in clients for text in client.wrong]}))


if __name__ == "__main__":
    main()
