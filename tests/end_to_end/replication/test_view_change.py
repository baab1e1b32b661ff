"""The primary's agent dies or hangs: the others go on without it."""

import os
import signal
import time

from harness import Deployment
from harness.build import patience
from harness.http_client import RawConnection, curl
from harness.processes import wait_until, waited_for_processor_s
from harness.standstill import StandstillWatch
from harness.writers import Writers

# What is promised for the default settings, with disks synced; docs/protocol.md has what was measured.
RESUMES_WITHIN_S = 0.3


def put(deployment, path, content):
    return curl(deployment.url + path, "-X", "PUT", "--data-binary", content)


class WritingClients(Writers):
    """They write files of their own, one after the other, and keep what they were told."""

    def __init__(self, deployment, count=16):
        self.written = {}  # path: content
        self.failed = []
        self.longest_wait_s = 0.0
        self.connections = {}
        super().__init__(deployment, count)

    def write(self, writer, number):
        if writer not in self.connections:
            self.connections[writer] = RawConnection(self.deployment.sketcher.port)
        path, content = f"/writer-{writer}-{number}", f"content {writer}.{number}".encode()
        started = time.monotonic()
        answer = self.connections[writer].ask("PUT", path, content)
        self.longest_wait_s = max(self.longest_wait_s, time.monotonic() - started)
        if answer.status == 201:
            self.written[path] = content
        else:
            self.failed.append((path, answer.status, answer.field("prophecy-reason")))


def status_of(agent):
    status = agent.status()
    return status["state"], status["view"]


def check_writes(deployment, writers, origins):
    """Every write that was confirmed is there, on every origin whose agent is up, once."""
    assert not writers.failed
    assert len(writers.written) > 20
    for path, content in writers.written.items():
        deployment.wait_for_write(path, content, origins)


def test_killed_primary_under_load():
    with Deployment() as deployment, StandstillWatch(deployment.folder) as watch:
        writers = WritingClients(deployment)
        wait_until(lambda: len(writers.written) > 10, 20, "the first writes")
        writers.longest_wait_s = 0.0  # programs that have just started take their time
        deployment.agents[0].kill()
        before = len(writers.written)
        wait_until(lambda: len(writers.written) > before + 20, 20, "writes after the kill")
        writers.stop()
        check_writes(deployment, writers, (1, 2, 3))
        print(f"longest wait of a client: {writers.longest_wait_s:.3f} s")
        # The machine is answerable for the time that agents waited for a processor or the disk.
        starved = max(waited_for_processor_s(agent.child.pid) for agent in deployment.agents[1:])
        allowed = RESUMES_WITHIN_S * patience() + 2 * starved + watch.stood_still_s()
        assert writers.longest_wait_s < allowed
        for agent in deployment.agents[1:]:
            state, view = status_of(agent)
            assert state == "normal" and view >= 1
            assert agent.status()["primary"] == view % 4 != 0


def test_the_primary_is_given_the_time_that_is_configured():
    with Deployment(agent_changes={"replica": {"view_change_timeout": "2s"}}) as deployment:
        assert put(deployment, "/before", "x").status == 201
        deployment.agents[0].pause()
        started = time.monotonic()
        assert put(deployment, "/after", "x").status == 201
        assert time.monotonic() - started >= 2
        assert all(agent.status()["view"] >= 1 for agent in deployment.agents[1:])


def test_hanging_primary_comes_back():
    with Deployment() as deployment:
        assert put(deployment, "/file", "one").status == 201
        stopped = deployment.agents[0].child.pid
        os.kill(stopped, signal.SIGSTOP)
        try:
            for number in range(5):
                assert put(deployment, "/file", f"version {number}").status == 204
        finally:
            os.kill(stopped, signal.SIGCONT)
        # It is shown the new view, and what it has missed.
        deployment.wait_for_write("/file", b"version 4")
        wait_until(lambda: status_of(deployment.agents[0]) == ("normal", 1), 10, "the new view")
        assert put(deployment, "/file", "last").status == 204
        deployment.wait_for_write("/file", b"last")
