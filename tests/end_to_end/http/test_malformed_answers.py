"""The table of malformed answers: one origin of four gives them, and its clients get the verified
answer of the others, while what it did is counted against it; then all four give them, and clients
get an error with the reason. Nothing of them reaches a client in either case. Where a route is observed or
off, an origin's own well-formed answer is delivered, and never one that is none."""

import re
import socket
import time

import pytest
from malformed_answers import (ANSWERS, BEYOND_LIMITS, BROKEN, CLEAN, DIFFERS, DIVERGES, FAILS, LARGE,
                               LARGE_ANSWERS, LOOKS_LARGE, PAGE, REFUSED, WHOLE, page)

from harness import Deployment
from harness.build import patience
from harness.health import ALWAYS_DRAWN
from harness.http_client import parse_head
from harness.processes import wait_until
from harness.recording_origin import RecordingOrigin

LIAR = 3
READS_MAX = 60
VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
# Name to the changes to the sketcher's configuration; those with agents have a group of kind pbft.
WORLDS = {"votes": {"group": VOTE, "route": [{"hedge": False}]}, "agents": {"route": [{"hedge": False}]},
          "observed": {"group": VOTE, "route": [{"mode": "observe", "hedge": False}]},
          # A hedge that is quicker would take the failure's place.
          "off": {"group": VOTE, "route": [{"mode": "off", "hedge": False}]}}
VERIFIED = ("votes", "agents")
HEAD = re.compile(rb"HTTP/1\.1 \d{3} [A-Za-z -]+(\r\n[!#$%&'*+.^_`|~0-9a-z-]+: "
                  rb"[\t\x20-\x7e\x80-\xff]*)*")


class World:
    """Origins that answer /lie/NAME by the table, at the liar, and /all/NAME at all of them."""

    def __init__(self, deployment, kind):
        self.deployment = deployment
        self.kind = kind
        self.asked = []  # the names under /lie/ that the liar was asked for
        self.origins = [RecordingOrigin(origin.port, lambda request, number=number:
                                        self._answer(number, request))
                        for number, origin in enumerate(deployment.origins)]
        deployment.agents.start()
        deployment.sketcher.start()

    def _answer(self, number, request):
        _, kind, name = request.split(b" ")[1].decode().split("/")
        if kind == "large":
            return LARGE_ANSWERS[name][1:]
        if kind == "lie" and number == LIAR:
            self.asked.append(name)
        if kind == "all" or (kind == "lie" and number == LIAR):
            _, answer, closes = ANSWERS[name]
            return answer, closes
        return page(), False

    def close(self):
        self.deployment.sketcher.stop()
        self.deployment.agents.stop()
        for origin in self.origins:
            origin.close()

    def get(self, path):
        """The raw bytes of an answer's head, and its body; however it came, it is HTTP to the letter."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.deployment.sketcher.port),
                                      timeout=15 * patience()) as connection:
            connection.sendall(b"GET %b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                               % path.encode())
            while data := connection.recv(65536):
                received += data
        head, end, body = received.partition(b"\r\n\r\n")
        assert end, received
        assert HEAD.fullmatch(head), head
        answer = parse_head(head)
        assert answer.field("transfer-encoding") is None
        [length] = answer.field_values("content-length")
        # A body that is cut off is for the test to judge; one that goes on never is right.
        assert len(body) <= int(length)
        return head, body

    def get_nothing_planted(self, path):
        head, body = self.get(path)
        # A word in the path is ours, and a reason is a text of the sketcher's.
        assert b"planted" not in (head + body).lower()
        return head, body

    def counted(self):
        """What the liar did, as the sketcher saw it."""
        origin = self.deployment.sketcher.status()["origins"][LIAR]
        return {FAILS: sum(origin["fast_failures"].values()),
                "votes": sum(origin.get("vote_failures", {}).values()),
                DIVERGES: origin["divergences"], DIFFERS: origin["noise"]}

    def settled(self):
        """Counted, once the votes of earlier tests have come in: they have 300 ms."""
        while True:
            before = self.counted()
            time.sleep(0.4)
            if self.counted() == before:
                return before


@pytest.fixture(scope="module", name="world", params=sorted(WORLDS))
def _world(request):
    with_agents = request.param == "agents"
    health = {"health": ALWAYS_DRAWN}  # the liar is asked again and again
    changes = WORLDS[request.param]
    with Deployment(agents=with_agents, start=False,
                    agent_changes={"service": {"answer_timeout": "300ms"}},
                    sketcher_changes={**changes, "group": {**changes.get("group", {}), **health},
                                      "limits": {"header": "8KiB", "answer": "64KiB"},
                                      "timeouts": {"answer": "300ms"}}) as deployment:
        world = World(deployment, request.param)
        try:
            yield world
        finally:
            world.close()


def is_done(world, kind, name, before):
    """Once in the vote, and by and by in a fast read."""
    # Nothing is compared on a route that is off; a body without end has been taken for a large one.
    if kind == CLEAN or (world.kind == "off" and (kind in (DIVERGES, DIFFERS) or name == "until-close-flood")):
        return world.asked.count(name) >= 2
    return world.counted()[kind] > before[kind]


def is_cut_off(name, head, body):
    return name == LOOKS_LARGE and PAGE.startswith(body) \
        and parse_head(head).field("content-length") == "999999999"


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_one_origin_gives_it(world, name):
    kind = ANSWERS[name][0]
    before = world.settled() if kind == CLEAN else world.counted()
    asked = world.asked.count(name)
    for _ in range(READS_MAX):
        if kind in (DIVERGES, DIFFERS) and world.kind not in VERIFIED:
            world.get("/lie/" + name)  # of one origin, and unverified
        else:
            head, body = world.get_nothing_planted("/lie/" + name)
            status = parse_head(head).status
            if world.kind == "off" and world.asked.count(name) > asked and kind == FAILS:
                # There is no group to ask, but there may be another origin.
                assert status in (502, 504) or is_cut_off(name, head, body) or body == PAGE, head
            else:
                assert (status, body) == (200, PAGE), head
        asked = world.asked.count(name)
        if is_done(world, kind, name, before):
            break
    else:
        pytest.fail(f"never counted: {kind}")
    if kind == CLEAN:
        assert world.counted() == before
    if kind == FAILS and world.kind == "votes":
        wait_until(lambda: world.counted()["votes"] > before["votes"], 5, "its vote to be counted")


@pytest.mark.parametrize("name", sorted(name for name, row in ANSWERS.items() if row[0] == FAILS))
def test_all_origins_give_it(world, name):
    if world.kind == "agents" and name in BEYOND_LIMITS:
        assert parse_head(world.get("/all/" + name)[0]).status == 200  # it is what they agree on
        return
    head, body = world.get_nothing_planted("/all/" + name)
    answer = parse_head(head)
    if world.kind == "off" and is_cut_off(name, head, body):
        return
    assert answer.status in (502, 503, 504)
    reason = answer.field("prophecy-reason")
    assert reason in (("origin-answer-unusable", "origin-too-slow", "answer-too-large")
                      if world.kind == "off" else ("too-few-replicas", "no-agreement"))
    assert reason.encode() in body


@pytest.mark.parametrize("world", ["off"], indirect=True)
@pytest.mark.parametrize("name", sorted(LARGE_ANSWERS))
def test_a_large_one_on_a_route_that_is_off(world, name):
    expected, _, _ = LARGE_ANSWERS[name]
    head, body = world.get_nothing_planted("/large/" + name)
    answer = parse_head(head)
    if expected == REFUSED:
        assert answer.status == 502
        assert answer.field("prophecy-reason") in ("origin-answer-unusable", "answer-too-large")
        return
    assert answer.status == 200
    assert answer.field("content-length") == str(len(LARGE))
    assert body == LARGE if expected == WHOLE else LARGE.startswith(body) and len(body) < len(LARGE)
    assert expected in (WHOLE, BROKEN)
