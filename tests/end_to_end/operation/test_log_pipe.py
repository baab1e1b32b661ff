"""A log that goes through a pipe, as to a supervisor: all its lines arrive, and its reader may leave."""

import os
from contextlib import contextmanager

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl
from harness.processes import wait_until


class Reader:
    """Of the named pipe that a program about to start takes for the file of its log."""

    def __init__(self, path):
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self._text = ""

    def text(self):
        try:
            while piece := os.read(self._fd, 65536):
                self._text += piece.decode()
        except BlockingIOError:
            pass
        return self._text

    def leave(self):
        os.close(self._fd)


@contextmanager
def started_with_pipe(deployment, program, name):
    program.stop()
    path = deployment.folder / name
    reader = Reader(path)
    program.start()
    path.unlink()  # it has it open, and nobody else is to
    try:
        yield reader
    finally:
        program.stop()


@pytest.mark.time_limit(60)
def test_the_lines_of_workers_are_there():
    with Deployment(content={"/index.html": b"x"}) as deployment:
        with started_with_pipe(deployment, deployment.sketcher, "sketcher.log") as log:
            wait_until(lambda: log.text().count("worker-0 agent-connected") == 4, 10, "the lines")
            with RawConnection(deployment.sketcher.port) as connection:
                assert connection.get("/index.html").body == b"x"
                deployment.agents[3].kill()
                wait_until(lambda: "worker-0 agent-lost" in log.text(), 10, "the line")
                deployment.sketcher.child.signal(15)
                wait_until(lambda: "worker-0 draining" in log.text(), 10, "the line")
                assert connection.ended()  # and nothing was said on it


@pytest.mark.time_limit(60)
def test_who_reads_an_agents_log_may_leave():
    with Deployment(content={"/index.html": b"x"}) as deployment:
        with started_with_pipe(deployment, deployment.agents[1], "replica-1.log") as log:
            wait_until(lambda: log.text().count(" peer-connected ") == 3, 10, "the peers")
            log.leave()
            deployment.agents[2].stop()
            deployment.agents[2].start()
            deployment.agents[3].kill()  # agreement needs all others
            answer = curl(deployment.url + "/new.txt", "-X", "PUT", "--data-binary", "x")
            assert answer.status == 201
            assert deployment.agents[1].child.running()
