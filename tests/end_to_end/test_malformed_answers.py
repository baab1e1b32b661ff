"""The table of malformed answers: one origin of four gives them, and its clients get the verified
answer of the others, while what it did is counted against it; then all four give them, and clients
get a 502 or 503 with the reason. Nothing of them reaches a client in either case."""

import socket
import time

import pytest
from malformed_answers import ANSWERS, CLEAN, DIVERGES, FAILS, PAGE, page

from harness import Deployment
from harness.http_client import parse_head
from harness.processes import wait_until
from harness.recording_origin import RecordingOrigin

LIAR = 3
READS_MAX = 60


class World:
    """Origins that answer /lie/NAME by the table, at the liar, and /all/NAME at all of them."""

    def __init__(self, deployment):
        self.deployment = deployment
        self.asked = []  # the names under /lie/ that the liar was asked for
        self.origins = [RecordingOrigin(origin.port, lambda request, number=number:
                                        self._answer(number, request))
                        for number, origin in enumerate(deployment.origins)]
        deployment.sketcher.start()

    def _answer(self, number, request):
        _, kind, name = request.split(b" ")[1].decode().split("/")
        if kind == "lie" and number == LIAR:
            self.asked.append(name)
        if kind == "all" or (kind == "lie" and number == LIAR):
            _, answer, closes = ANSWERS[name]
            return answer, closes
        return page(), False

    def close(self):
        self.deployment.sketcher.stop()
        for origin in self.origins:
            origin.close()

    def get(self, path):
        """The raw bytes of an answer's head, and its body."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.deployment.sketcher.port),
                                      timeout=15) as connection:
            connection.sendall(b"GET %b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                               % path.encode())
            while data := connection.recv(65536):
                received += data
        head, end, body = received.partition(b"\r\n\r\n")
        assert end, received
        # A word in the path is ours, and a reason is a text of the sketcher's.
        assert b"planted" not in received.lower(), received
        return head, body

    def counted(self):
        """What the liar did, as the sketcher saw it."""
        origin = self.deployment.sketcher.status()["origins"][LIAR]
        return {FAILS: sum(origin["fast_failures"].values()),
                "votes": sum(origin["vote_failures"].values()),
                DIVERGES: origin["divergences"]}

    def settled(self):
        """Counted, once the votes of earlier tests have come in: they have 300 ms."""
        while True:
            before = self.counted()
            time.sleep(0.4)
            if self.counted() == before:
                return before


@pytest.fixture(scope="module", name="world")
def _world():
    with Deployment(agents=False, start=False, sketcher_changes={
            "group": {"kind": "vote", "faults": 1, "file": None, "client_id": None,
                      "key_file": None,
                      # It is to be asked again and again, whatever it does.
                      "health": {"quarantine": False, "failures_max": 100000}},
            "limits": {"header": "8KiB", "answer": "64KiB"},
            "timeouts": {"answer": "300ms"}}) as deployment:
        world = World(deployment)
        try:
            yield world
        finally:
            world.close()


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_one_origin_gives_it(world, name):
    kind = ANSWERS[name][0]
    before = world.settled() if kind == CLEAN else world.counted()
    # Once in the vote, and by and by in a fast read.
    for _ in range(READS_MAX):
        head, body = world.get("/lie/" + name)
        assert head.startswith(b"HTTP/1.1 200 OK\r\n"), head
        assert body == PAGE
        if kind == CLEAN and world.asked.count(name) >= 2:
            break
        if kind != CLEAN and world.counted()[kind] > before[kind]:
            break
    else:
        pytest.fail(f"never counted: {kind}")
    if kind == CLEAN:
        assert world.counted() == before
    if kind == FAILS:
        wait_until(lambda: world.counted()["votes"] > before["votes"], 5, "its vote to be counted")


@pytest.mark.parametrize("name", sorted(name for name, row in ANSWERS.items() if row[0] == FAILS))
def test_all_origins_give_it(world, name):
    head, body = world.get("/all/" + name)
    answer = parse_head(head)
    assert answer.status in (502, 503, 504)
    reason = answer.field("prophecy-reason")
    assert reason in ("too-few-replicas", "no-agreement")
    assert reason.encode() in body
