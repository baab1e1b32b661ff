"""Clients of the boards in examples/applications/: they write, read and upload, and keep what they were
told, so that it can be compared with the origins in the end.

Each client has notes and uploads of its own. A write without an answer of success may take effect at
any time: its note is not touched again, and may be in either state. Beside them all clients edit some
shared notes, and read them by the order: that history has to be linearizable.
"""

import contextlib
import http.client
import random
import re
import threading
import time
from urllib.parse import urlencode

from harness.build import patience
from harness.register_history import Operation, contradictions

TEXT = re.compile(rb'<p class="text">(.*?)</p>')
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
BOUNDARY = "a-boundary-of-parts"
AUDITED = "audit.example"
GONE = None  # the text of a note that is deleted
OWN_MAX = 30
UPLOAD_MAX = 100_000


class Connection:
    """One client's connection, which is made anew after each failure."""

    def __init__(self, port, timeout_s=30):
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s * patience())

    def ask(self, method, path, content=b"", fields=None):
        """The status, the fields and the body; a status of 0 without an answer."""
        try:
            self._http.request(method, path, content, fields or {})
            answer = self._http.getresponse()
            return answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException):
            self._http.close()
            return 0, {}, b""

    def close(self):
        self._http.close()


def upload_of(kind, name, content):
    """The body and fields of POST /uploads, as the application wants it."""
    if kind == "node":
        return content, {"Content-Type": "application/octet-stream"}
    head = (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n").encode()
    return (head + content + f"\r\n--{BOUNDARY}--\r\n".encode(),
            {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"})


def form(**values):
    return urlencode(values).encode(), FORM


class Kept:
    """A note or an upload: what it may be now, and what it was at some time."""

    def __init__(self, content):
        self.allowed = {content}
        self.ever = {content}
        self.certain = True

    def write(self, content, acknowledged):
        self.ever.add(content)
        self.certain = acknowledged
        self.allowed = {content} if acknowledged else self.allowed | {content}


class Client(threading.Thread):
    """One user."""

    def __init__(self, clients, number):
        super().__init__(daemon=True)
        self.clients = clients
        self.number = number
        self.draw = random.Random(f"{clients.seed} {number}")
        self.connection = Connection(clients.port)
        self.cookie = None
        self.kept = {}  # path: Kept
        self.count = 0

    def run(self):
        try:
            while not self.clients.stopping.is_set():
                with self.clients.gate.passing():
                    self.step()
                time.sleep(self.draw.uniform(0, 2 * self.clients.pause_s))
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.clients.wrong.append(f"client {self.number}: {error!r}")
        finally:
            self.connection.close()

    def ask(self, method, path, content=b"", fields=None, host=None):
        fields = {**(fields or {}), **({"Host": host} if host else {}),
                  **({"Cookie": self.cookie} if self.cookie else {})}
        answer = self.connection.ask(method, path, content, fields)
        self.clients.count(method, answer[0])
        if answer[0] == 0 or answer[0] >= 500:
            time.sleep(0.1)
        return answer

    def step(self):
        if self.cookie is None:
            return self.login()
        own = list(self.kept)
        certain = [path for path in own if self.kept[path].certain and GONE not in self.kept[path].allowed]
        actions = [(self.edit_shared, 2), (self.read_shared, 2), (self.list_notes, 1)]
        if len(certain) < OWN_MAX:
            actions += [(self.create, 3), (self.upload, 1)]
        if certain:
            path = self.draw.choice(certain)
            actions += [(lambda: self.delete(path), 2 if len(certain) > OWN_MAX // 2 else 1)]
            if path.startswith("/notes/"):
                actions += [(lambda: self.edit(path), 2)]
        if own:
            actions += [(lambda: self.read(self.draw.choice(own)), 6)]
        action, _ = self.draw.choices(actions, [weight for _, weight in actions])[0]
        return action()

    def text(self):
        self.count += 1
        return f"text-{self.number}-{self.count}"

    def login(self):
        status, fields, _ = self.ask("POST", "/login", *form(name=f"user-{self.number}"))
        if status == 303:
            self.cookie = fields["Set-Cookie"].split(";")[0]

    def keep(self, answer, content):
        status, fields, _ = answer
        if status == 303:
            path = fields["Location"]
            if path in self.kept:
                self.clients.wrong.append(f"{path} was given twice")
            self.kept[path] = Kept(content)
        elif status and status < 500:
            self.clients.wrong.append(f"a new page was answered with {status}")

    def create(self):
        text = self.text()
        self.keep(self.ask("POST", "/notes", *form(text=text)), text.encode())

    def upload(self):
        content = self.draw.randbytes(self.draw.randint(1, UPLOAD_MAX))
        # Django gives the name of a deleted file once more.
        self.count += 1
        name = f"file-{self.number}-{self.count}"
        self.keep(self.ask("POST", "/uploads", *upload_of(self.clients.kind, name, content)), content)

    def change(self, path, verb, content, *body):
        status, _, _ = self.ask("POST", f"{path}/{verb}", *body)
        self.kept[path].write(content, status == 303)
        if status and status < 500 and status != 303:
            self.clients.wrong.append(f"{verb} of {path} was answered with {status}")

    def edit(self, path):
        text = self.text()
        self.change(path, "edit", text.encode(), *form(text=text))

    def delete(self, path):
        self.change(path, "delete", GONE)

    def read(self, path):
        status, _, body = self.ask("GET", path)
        if status == 0 or status >= 500:
            return
        seen = content_of(path, status, body)
        # Reads of this route may be as old as the write before.
        if seen not in self.kept[path].ever:
            self.clients.wrong.append(f"{path} was {body[-80:]!r}, and never that")

    def list_notes(self):
        status, _, body = self.ask("GET", "/")
        if status == 200 and f"user-{self.number}".encode() not in body:
            self.clients.wrong.append(f"user {self.number} was logged out")

    def edit_shared(self):
        path, text = self.draw.choice(self.clients.shared), self.text()
        begin = time.monotonic()
        status, _, _ = self.ask("POST", f"{path}/edit", *form(text=text))
        end = time.monotonic() if status == 303 else float("inf")
        self.clients.history.append(Operation(path, text.encode(), True, begin, end))

    def read_shared(self):
        path, begin = self.draw.choice(self.clients.shared), time.monotonic()
        status, _, body = self.ask("GET", path, host=AUDITED)
        if status == 200:
            seen = content_of(path, status, body)
            self.clients.history.append(Operation(path, seen, False, begin, time.monotonic()))


def content_of(path, status, body):
    """What a page says of its note or upload."""
    if status == 404:
        return GONE
    if path.startswith("/notes/"):
        found = TEXT.search(body)
        return found[1] if found else body
    return body


class RudeClient(Client):
    """Asks for what is slow, and for what crashes the origins' handlers, again and again."""

    def step(self):
        time.sleep(self.clients.rude_pause_s)
        if not self.clients.crashing or self.draw.random() < 0.5:
            text = self.text()
            seconds = self.draw.choice(self.clients.slow_s)
            self.keep(self.ask("POST", "/slow", *form(text=text, seconds=seconds)), text.encode())
            return
        status, _, _ = self.ask("POST", "/crash", *form(text="half"))
        self.clients.crashes += 1
        if 0 < status < 500:
            self.clients.wrong.append(f"a crash was answered with {status}")


class Gate:
    """Lets clients through, until it is closed: then nobody is behind it."""

    def __init__(self):
        self._changed = threading.Condition()
        self._inside = 0
        self._open = True

    @contextlib.contextmanager
    def passing(self):
        with self._changed:
            self._changed.wait_for(lambda: self._open)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def closed(self):
        with self._changed:
            self._open = False
            self._changed.wait_for(lambda: self._inside == 0)
        try:
            yield
        finally:
            with self._changed:
                self._open = True
                self._changed.notify_all()


class BoardClients:
    """Options: `rude` is whether somebody asks for what takes one of `slow_s` seconds, every
    `rude_pause_s` seconds; or, where it is `crashing`, crashes a handler."""

    def __init__(self, port, kind, seed, count=4, pause_s=0.05, rude=True, crashing=True, slow_s=(1,),
                 rude_pause_s=2.0):
        self.port = port
        self.kind = kind
        self.seed = seed
        self.pause_s = pause_s
        self.crashing = crashing
        self.slow_s = slow_s
        self.rude_pause_s = rude_pause_s
        self.stopping = threading.Event()
        self.gate = Gate()
        self.wrong = []
        self.history = []
        self.crashes = 0
        self.statuses = {}
        self.writes = 0
        self.longest_gap_s = 0
        self._last_write = time.monotonic()
        self._lock = threading.Lock()
        connection = Connection(port)
        answers = [connection.ask("POST", "/notes", *form(text="initial")) for _ in range(2)]
        connection.close()
        assert [status for status, _, _ in answers] == [303, 303], answers
        self.shared = [fields["Location"] for _, fields, _ in answers]
        self.threads = [Client(self, number) for number in range(count)]
        if rude:
            self.threads.append(RudeClient(self, count))
        for thread in self.threads:
            thread.start()

    def count(self, method, status):
        with self._lock:
            self.statuses[method, status] = self.statuses.get((method, status), 0) + 1
            if method == "POST" and status == 303:
                now = time.monotonic()
                self.longest_gap_s = max(self.longest_gap_s, now - self._last_write)
                self._last_write = now
                self.writes += 1

    def resume_counting(self):
        """Nobody could write: that is no gap."""
        with self._lock:
            self._last_write = time.monotonic()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60 * patience())
        if any(thread.is_alive() for thread in self.threads):
            self.wrong.append("a client still waits for an answer")

    def mistakes(self):
        """What was wrong already while the clients ran."""
        return self.wrong + contradictions(self.history, b"initial")

    def lost(self, port, host=None):
        """What the origin or sketcher at this port does not hold, or holds otherwise."""
        connection = Connection(port)
        lines = []
        for client in self.threads:
            for path, kept in client.kept.items():
                status, _, body = connection.ask("GET", path, fields={"Host": host} if host else None)
                if content_of(path, status, body) not in kept.allowed:
                    lines.append(f"{path} is {status} {body[-200:]!r}; "
                                 f"{[content and content[:40] for content in kept.allowed]} was written")
        connection.close()
        return lines
