"""Verified reads that share connections to origins (docs/pipelining.md): real Apaches that close after so many
answers, serve slow pages, or hang. No client notices, and no correct origin is accused."""

import statistics
import threading
import time

from harness import Deployment
from harness.apache import SLOW_PAGE
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection
from harness.processes import wait_until
from harness.scripted_origin import ScriptedOrigin

CLIENTS = 16
READS = 120
PAGES = {f"/page{number}": f"content of page {number} " * 20 for number in range(4)}
SLOW_S = 0.1


def changes(**origins):
    """Few connections, so that reads share them; and each origin is drawn whatever it does."""
    return {"sketcher": {"workers": 1},
            "group": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None,
                      "health": ALWAYS_DRAWN},
            "origins": {"connections_max": 4, **origins},
            "timeouts": {"answer": "2s"},
            "route": [{"hedge": False, "automatic_blacklist": False}]}


class Readers:
    """Clients that read pages in turn, and check every byte."""

    def __init__(self, port, pages):
        self.wrong = []
        self.seconds = {path: [] for path in pages}
        self._threads = [threading.Thread(target=self._read, args=(port, pages, number))
                         for number in range(CLIENTS)]

    def _read(self, port, pages, number):
        paths = list(pages)
        with RawConnection(port) as connection:
            for read in range(READS):
                path = paths[(number + read) % len(paths)]
                begin = time.monotonic()
                got = connection.get(path)
                self.seconds[path].append(time.monotonic() - begin)
                if got.status != 200 or got.body != pages[path].encode():
                    self.wrong.append((path, got.status, got.body[:100]))

    def run(self, meanwhile=lambda: None):
        for thread in self._threads:
            thread.start()
        meanwhile()
        for thread in self._threads:
            thread.join()
        assert self.wrong == []


def ends(deployment, end):
    return [origin["fast_failures"][end] for origin in deployment.sketcher.status()["origins"]]


def divergences(deployment):
    return [origin["divergences"] for origin in deployment.sketcher.status()["origins"]]


def warm_up(deployment, pages):
    """The history holds each page, and each origin is known to be quick."""
    with RawConnection(deployment.sketcher.port) as connection:
        for _ in range(10):
            for path in pages:
                assert connection.get(path).status == 200


def test_reads_share_connections_by_default():
    most = [0]

    def answer(head):
        body = head.split(b" ")[1]
        yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)

    class Counting(ScriptedOrigin):
        """Notes how many requests came at once."""

        def _serve(self, connection):
            class Noting:
                """The connection, as the other sees it."""

                def recv(self, size):
                    data = connection.recv(size)
                    most[0] = max(most[0], data.count(b"\r\n\r\n"))
                    return data

                def sendall(self, data):
                    connection.sendall(data)

                def __enter__(self):
                    return self

                def __exit__(self, *_):
                    connection.close()

            super()._serve(Noting())

    pages = {path: path for path in PAGES}
    with Deployment(agents=False, start=False, sketcher_changes=changes()) as deployment:
        servers = [Counting(origin.port, answer) for origin in deployment.origins]
        deployment.sketcher.start()
        warm_up(deployment, pages)
        Readers(deployment.sketcher.port, pages).run()
        for server in servers:
            server.close()
    assert most[0] > 1


def test_an_origin_that_closes_after_so_many_answers_costs_no_client_an_error():
    closing = dict.fromkeys(range(4), "MaxKeepAliveRequests 100\n")
    with Deployment(agents=False, content=PAGES, apache_additions=closing,
                    sketcher_changes=changes()) as deployment:
        warm_up(deployment, PAGES)
        Readers(deployment.sketcher.port, PAGES).run()
        assert divergences(deployment) == [0] * 4
        assert ends(deployment, "broken") == ends(deployment, "stale") == [0] * 4


def test_a_slow_page_does_not_hold_up_quick_ones():
    with Deployment(agents=False, content=PAGES, start=False, sketcher_changes=changes()) as deployment:
        for origin in deployment.origins:
            origin.add_slow_page(SLOW_S)
        deployment.start()
        pages = {**PAGES, SLOW_PAGE: "slow"}
        warm_up(deployment, pages)
        readers = Readers(deployment.sketcher.port, pages)
        readers.run()
        quick = [seconds for path in PAGES for seconds in readers.seconds[path]]
        assert statistics.median(quick) < SLOW_S
        assert divergences(deployment) == [0] * 4


def test_reads_behind_an_origin_that_hangs_are_answered_by_others():
    with Deployment(agents=False, content=PAGES, sketcher_changes=changes()) as deployment:
        warm_up(deployment, PAGES)

        def hang_at_times():
            for _ in range(3):
                deployment.origins[1].pause()
                time.sleep(0.5)
                deployment.origins[1].resume()
                time.sleep(0.2)

        for _ in range(10):
            Readers(deployment.sketcher.port, PAGES).run(hang_at_times)
            if sum(ends(deployment, "delayed")) > 0:
                break
        assert ends(deployment, "delayed")[1] > 0
        assert divergences(deployment) == [0] * 4
        # And it is asked again once it answers.
        before = deployment.sketcher.status()["origins"][1]["fast_answers"]
        wait_until(lambda: reads_of(deployment) > before, 20, "the origin to be asked again")


def reads_of(deployment):
    warm_up(deployment, PAGES)
    return deployment.sketcher.status()["origins"][1]["fast_answers"]
