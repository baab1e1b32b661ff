"""Clients that write and read a few pages at once, and record what they saw.

The record is what prophecy-consistency checks (tests/consistency/history.hpp): all times are of one
monotonic clock. Whatever a client is not sure of is left open: a write without an answer of success
may take effect at any time.
"""

import contextlib
import random
import re
import threading
import time

from harness.http_client import RawConnection
from harness.processes import HarnessError
from harness.programs import run_program

WORD = re.compile(rb"[A-Za-z0-9_.-]{1,64}")


def word(body):
    """A body as a word of the record, whatever it is."""
    return body.decode() if WORD.fullmatch(body) else "0x" + body[:64].hex()


@contextlib.contextmanager
def checked_clients(ports, pages, initial, file, clients=4, pause_s=0.004):
    """Readers and writers at these sketchers. Their history holds, by prophecy-consistency. Yields the clients."""
    mixed = [(kind, port, "localhost", weight) for port in ports for kind, weight in (("read", 3), ("publish", 1))]
    with RecordingClients(pages, initial, [mixed] * clients, seed=int(time.monotonic() * 1000),
                          pause_s=pause_s) as recording:
        yield recording
    file.write_text(recording.record())
    checked = run_program("prophecy-consistency", "check", file, timeout_s=300)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert recording.operations() > 100


class RecordingClients:
    """`kinds` are lists of (kind, port, host, weight): each client draws from the one that it is
    given. Kinds are publish, a write through the sketcher that is read from, write, one past it, read,
    and audit, a read that is linearizable."""

    def __init__(self, pages, initial, kinds, seed, pause_s=0.0):
        self.pages = pages
        self.initial = initial
        self.pause_s = pause_s
        self._stopping = threading.Event()
        self._lines = [[] for _ in kinds]
        self.wrong = []
        self.failures = []  # (kind, port, page, status or exception, begin, end), in seconds
        self._threads = [threading.Thread(target=self._run, args=(number, kind, seed), daemon=True)
                         for number, kind in enumerate(kinds)]
        for thread in self._threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        assert self.wrong == []

    def record(self):
        lines = [f"initial {page} {self.initial}" for page in self.pages]
        return "\n".join(lines + [line for own in self._lines for line in own]) + "\n"

    def operations(self):
        return sum(map(len, self._lines))

    def _run(self, number, kinds, seed):
        try:
            draw = random.Random(f"{seed} {number}")
            connections = {}
            count = 0
            while not self._stopping.is_set():
                count += 1
                kind, port, host, _ = draw.choices(kinds, [weight for *_, weight in kinds])[0]
                page = draw.choice(self.pages)
                self._operate(number, connections, kind, (port, host), page, f"w{number}-{count}")
                if self.pause_s:
                    time.sleep(draw.uniform(0, 2 * self.pause_s))
            for connection in connections.values():
                connection.close()
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.wrong.append(error)

    def _operate(self, number, connections, kind, where, page, value):
        begin = time.monotonic_ns()
        answer, problem = None, None
        try:
            if where not in connections:
                connections[where] = RawConnection(where[0], timeout_s=20)
            method, content = ("GET", b"") if kind in ("read", "audit") else ("PUT", value.encode())
            answer = connections[where].ask(method, page, content, host=where[1])
        except (OSError, HarnessError) as error:
            problem = repr(error)
            if where in connections:
                connections.pop(where).close()
        end = time.monotonic_ns()
        if answer is not None and answer.status >= 400:
            problem = f"{answer.status} {answer.field('prophecy-reason')}"
        if problem:
            self.failures.append((kind, where[0], page, problem, begin / 1e9, end / 1e9))
        line = self._line(kind, page, value, answer, begin, end)
        if line:
            self._lines[number].append(line)
        if answer is None or answer.status >= 500:
            time.sleep(0.02)

    def _line(self, kind, page, value, answer, begin, end):
        is_right = answer is not None and 200 <= answer.status < 300
        if kind in ("write", "publish"):
            return f"{kind} {page} {value} {begin} {end if is_right else '-'}"
        if is_right:
            return f"{kind} {page} {word(answer.body)} {begin} {end}"
        # Whatever else an origin can have said is what was read: a page that is gone, say.
        if answer is not None and answer.status < 500:
            return f"{kind} {page} status-{answer.status} {begin} {end}"
        # A read that was answered with an error is over; an audit without an answer tells nothing.
        if kind == "audit":
            return None
        return f"read {page} ? {begin} {'-' if answer is None else end}"
