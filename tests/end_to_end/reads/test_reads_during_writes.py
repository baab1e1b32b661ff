"""A fast read's answer that comes late: made before a write that has been answered meanwhile, or before
what another client has read (docs/consistency.md). It is compared with what the history holds then."""

import threading
from contextlib import contextmanager

from harness.build import patience
from harness.http_client import RawConnection
from harness.processes import wait_until
from harness.recording_world import recording_world

OLD, NEW = b"old", b"new"
PAGES = [f"/page-{number}" for number in range(4)]


class Pages:
    """What all origins serve. The answer to the first read of a page that is held is made at once,
    and sent when the page is let go."""

    def __init__(self):
        self.reads = {page: 0 for page in PAGES}
        self._content = {page: OLD for page in PAGES}
        self._lock = threading.Lock()
        self._held = None
        self._asked, self._let_go = threading.Event(), threading.Event()

    def answer(self, request):
        method, page, _ = request.decode().split(" ", 2)
        if method == "PUT":
            self.change(page, request.partition(b"\r\n\r\n")[2])
            return b"HTTP/1.1 204 No Content\r\n\r\n", False
        content = self._content[page]
        if self._is_to_wait(page):
            self._asked.set()
            self._let_go.wait(30 * patience())
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(content), content), False

    def _is_to_wait(self, page):
        with self._lock:
            self.reads[page] += 1
            is_held = page == self._held
            self._held = None if is_held else self._held
            return is_held

    def change(self, page, content):
        self._content[page] = content

    @contextmanager
    def held(self, page):
        self._asked.clear()
        self._let_go.clear()
        self._held = page
        try:
            yield
        finally:
            self._let_go.set()

    def wait_until_asked(self):
        assert self._asked.wait(30 * patience())


def late_reads(meanwhile):
    """What each page's reader gets whose origin has answered with the old content before
    `meanwhile(connection, pages, page)` made it new, and is heard after it; and what the sketcher
    counted."""
    pages = Pages()
    got = []
    with recording_world({}, pages.answer) as world:
        with RawConnection(world.port) as reader, RawConnection(world.port) as other:
            for page in PAGES:
                assert reader.get(page).body == OLD  # by the group: the history holds it
                # Two equal votes were enough.
                wait_until(lambda voted=page: pages.reads[voted] == len(world.origins), 30,
                           "the other votes")
                with pages.held(page):
                    reader.send(f"GET {page} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                    pages.wait_until_asked()
                    meanwhile(other, pages, page)
                got.append(reader.answer().body)
        return got, world.deployment.sketcher.status()


def test_it_is_not_delivered_once_a_write_was_answered():
    def write(other, _, page):
        assert other.ask("PUT", page, NEW).status == 204

    got, status = late_reads(write)
    assert got == [NEW] * len(PAGES)
    # The second look-up has found it so: at the first there was no write yet.
    assert status["history"]["out_of_date"] == len(PAGES)


def test_it_is_not_delivered_once_another_client_has_read_what_is_newer():
    def read_what_is_newer(other, pages, page):
        pages.change(page, NEW)
        assert other.get(page).body == NEW

    got, status = late_reads(read_what_is_newer)
    assert got == [NEW] * len(PAGES)
    assert status["requests"]["fast"] == 0
