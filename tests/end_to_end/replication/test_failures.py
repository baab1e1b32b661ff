"""Programs that die or are told to end, while others go on."""

import os
import signal
import threading
import time

import pytest

from harness import Deployment
from harness.build import patience
from harness.http_client import RawConnection, curl
from harness.processes import HarnessError, is_alive, wait_until

PAGE = b"<p>The page.</p>\n"
CONTENT = {"/index.html": PAGE, **{f"/{number}": f"page {number}" for number in range(10)}}


def put(deployment, path, content):
    return curl(deployment.url + path, "-X", "PUT", "--data-binary", content)


def test_killed_agent_of_a_backup():
    with Deployment(content=CONTENT) as deployment:
        deployment.agents[3].kill()
        for number in range(10):
            for _ in range(4):
                assert curl(f"{deployment.url}/{number}").body == b"page %d" % number
        assert put(deployment, "/new", "new").status == 201
        assert curl(deployment.url + "/new").body == b"new"


def test_agent_that_comes_back_does_not_disturb():
    with Deployment(content=CONTENT) as deployment:
        assert put(deployment, "/file", "one").status == 201
        deployment.agents[3].kill()
        assert put(deployment, "/file", "two").status == 204
        deployment.agents[3].start()
        for number in range(10):
            assert put(deployment, "/file", f"version {number}").status == 204
            deployment.wait_for_write("/file", b"version %d" % number, range(3))
            # Drawn at the one that came back, a read may be as old as the write before (delay-once).
            wait_until(lambda content=b"version %d" % number:
                       curl(deployment.url + "/file").body == content, 10, "the write to be read")


def test_too_few_agents():
    with Deployment(content=CONTENT,
                    sketcher_changes={"group": {"deadline": "1500ms"}}) as deployment:
        assert curl(deployment.url + "/").body == PAGE
        for number in (2, 3):
            deployment.agents[number].kill()
        for request in (lambda: curl(deployment.url + "/1"),
                        lambda: put(deployment, "/new", "new")):
            started = time.monotonic()
            answer = request()
            assert answer.status == 503
            assert answer.field("prophecy-reason")
            assert time.monotonic() - started < 5 * patience()
        # What was agreed on before stays readable: the origins are all there.
        assert curl(deployment.url + "/").body == PAGE


def test_two_origins_gone_behind_living_agents():
    """More than f. The agents order requests all the same, and f+1 equal replies are an answer."""
    with Deployment(content=CONTENT) as deployment:
        for number in (2, 3):
            deployment.origins[number].kill()
        assert curl(deployment.url + "/1").body == b"page 1"
        assert put(deployment, "/new", "new").status == 201
        deployment.wait_for_write("/new", b"new", range(2))


@pytest.mark.parametrize("request_by", [lambda deployment: curl(deployment.url + "/1"),
                                        lambda deployment: put(deployment, "/new", "new")],
                         ids=["first-read", "write"])
def test_too_few_origins_behind_living_agents(request_by):
    with Deployment(content=CONTENT,
                    sketcher_changes={"group": {"deadline": "1500ms"}}) as deployment:
        for number in (1, 2, 3):
            deployment.origins[number].kill()
        started = time.monotonic()
        answer = request_by(deployment)
        assert answer.status == 503
        assert answer.field("prophecy-reason") == "too-few-replicas"
        assert time.monotonic() - started < 5 * patience()


def test_all_agents_gone():
    with Deployment(content=CONTENT,
                    sketcher_changes={"group": {"deadline": "1s"}}) as deployment:
        for agent in deployment.agents:
            agent.kill()
        assert curl(deployment.url + "/").status == 503


class Reader(threading.Thread):
    """Reads on one kept-alive connection, and opens another when it breaks."""

    def __init__(self, port, stop):
        super().__init__()
        self._port = port
        self._stop_event = stop
        self.right = 0
        self.broken = 0
        self.wrong = []

    def run(self):
        while not self._stop_event.is_set():
            try:
                with RawConnection(self._port) as connection:
                    while not self._stop_event.is_set():
                        self._read(connection)
            except (OSError, HarnessError):
                self.broken += 1
                time.sleep(0.01)

    def _read(self, connection):
        number = self.right % 10
        answer = connection.get(f"/{number}")
        if (answer.status, answer.body) == (200, b"page %d" % number):
            self.right += 1
        else:
            self.wrong.append(answer)


def test_killed_worker_under_load():
    with Deployment(content=CONTENT, sketcher_changes={"sketcher": {"workers": 2}}) as deployment:
        stop = threading.Event()
        readers = [Reader(deployment.sketcher.port, stop) for _ in range(16)]
        for reader in readers:
            reader.start()
        try:
            first = wait_until(lambda: two_workers(deployment), 10, "two workers")
            time.sleep(0.5)
            for worker in first:
                os.kill(worker, signal.SIGKILL)
                wait_until(lambda gone=worker: gone not in deployment.sketcher.workers()
                           and two_workers(deployment), 10, "a replacement of the killed worker")
                time.sleep(0.5)
            before = sum(reader.right for reader in readers)
            wait_until(lambda: sum(reader.right for reader in readers) > before + 100, 10,
                       "reads after the workers were replaced")
        finally:
            stop.set()
            for reader in readers:
                reader.join()
        assert [answer for reader in readers for answer in reader.wrong] == []
        assert sum(reader.right for reader in readers) > 100
        assert sum(reader.broken for reader in readers) > 0, "no connection met a killed worker"
        assert not set(first) & set(deployment.sketcher.workers())
        assert put(deployment, "/new", "new").status == 201
        assert curl(deployment.url + "/new").body == b"new"


def ended_by_itself(owner, timeout_s):
    """The exit status of a program that was told to end, and is then forgotten."""
    status = owner.child.wait(timeout_s)
    owner.child = None
    return status


def two_workers(deployment):
    workers = deployment.sketcher.workers()
    return workers if len(workers) == 2 else None


def test_term_drains_requests_in_flight():
    with Deployment(content=CONTENT) as deployment:
        curl(deployment.url + "/")
        idle = RawConnection(deployment.sketcher.port)
        assert idle.get("/").body == PAGE
        for origin in deployment.origins:
            origin.pause()
        busy = RawConnection(deployment.sketcher.port, timeout_s=30)
        busy.send(b"GET /1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        time.sleep(0.3)
        deployment.sketcher.child.signal(signal.SIGTERM)
        assert idle.ended()
        time.sleep(0.3)
        assert deployment.sketcher.child.running()
        with pytest.raises(OSError):
            RawConnection(deployment.sketcher.port)
        for origin in deployment.origins:
            origin.resume()
        answer = busy.answer()
        assert (answer.status, answer.body) == (200, b"page 1")
        assert answer.field("connection") == "close"
        assert busy.ended()
        assert ended_by_itself(deployment.sketcher, 15) == 0


def test_term_does_not_wait_for_ever():
    with Deployment(content=CONTENT,
                    sketcher_changes={"timeouts": {"drain": "500ms"}}) as deployment:
        half = RawConnection(deployment.sketcher.port)
        half.send(b"PUT /half HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf")
        time.sleep(0.2)
        deployment.sketcher.child.signal(signal.SIGTERM)
        assert ended_by_itself(deployment.sketcher, 10) == 0


def test_replica_ends_on_term():
    with Deployment(content=CONTENT) as deployment:
        agent = deployment.agents[3]
        agent.child.signal(signal.SIGTERM)
        assert ended_by_itself(agent, 10) == 0
        assert not agent.admin.exists()
        assert curl(deployment.url + "/1").body == b"page 1"


def test_sketcher_leaves_nothing_behind():
    with Deployment(content=CONTENT) as deployment:
        workers = deployment.sketcher.workers()
        assert workers
        os.kill(deployment.sketcher.child.pid, signal.SIGKILL)
        # Workers that outlive a killed master end by themselves.
        wait_until(lambda: not any(is_alive(pid) for pid in workers), 10,
                   "the workers of a killed master to end")
        deployment.sketcher.kill()
        deployment.sketcher.start()
        assert curl(deployment.url + "/").body == PAGE


def test_agents_restarted_together_do_not_bring_old_answers_back():
    """The group's order begins anew below the sigmas that the history remembers."""
    with Deployment(content={"/page": b"old", "/other": b"other"},
                    agent_changes={"storage": None}) as deployment:
        for number in range(30):
            curl(f"{deployment.url}/other?{number}")
        assert [curl(deployment.url + "/page").body for _ in range(3)] == [b"old"] * 3
        for agent in deployment.agents:
            agent.stop()
        deployment.agents.start()
        # One that joins later does without the writes from before: its origin's state is not kept.
        wait_until(lambda: not any(agent.status()["recovery"]["rejoining"]
                                   for agent in deployment.agents), 20, "the group to begin anew")
        wait_until(lambda: put(deployment, "/page", "new").status == 204, 20, "a write")
        deployment.wait_for_write("/page", b"new")
        deployment.origins[3].write("/page", b"old")  # one origin is stuck
        # Until somebody has read the new page, the old one may still be given (delay-once).
        wait_until(lambda: curl(deployment.url + "/page").body == b"new", 20, "the new page")
        assert [curl(deployment.url + "/page").body for _ in range(40)] == [b"new"] * 40
        status = deployment.sketcher.status()
        assert status["history"]["group_restarts"] == 1
        assert deployment.sketcher.counters()["fast"] > 20


def test_client_that_goes_on_after_its_time_out():
    changes = {"timeouts": {"header": "200ms"}}
    with Deployment(content=CONTENT, sketcher_changes=changes) as deployment:
        workers = deployment.sketcher.workers()
        for _ in range(5):
            client = RawConnection(deployment.sketcher.port)
            client.send(b"GET / HTTP/1.1\r\nHo")
            time.sleep(0.5)
            client.send(b"st: localhost\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.answer().status == 408
            assert client.ended()
        assert deployment.sketcher.workers() == workers
        assert curl(deployment.url + "/").body == PAGE
