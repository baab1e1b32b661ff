"""The table of malformed requests: each gets its status, ends its connection, is counted by its
reason, and not one byte of it reaches an origin; neither does what a client put behind it."""

import pytest
from malformed_requests import (BODY_MAX, COUNT_MAX, HEADER_MAX, PLANTED, REFUSED, SERVED,
                                TARGET_MAX)
from harness.recording_world import recording_world

from harness.http_client import parse_head
from harness.processes import wait_until

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture(scope="module", name="world")
def _world():
    with recording_world({"target": f"{TARGET_MAX}B", "header": f"{HEADER_MAX}B",
                          "header_count": COUNT_MAX, "body": f"{BODY_MAX}B"}) as world:
        yield world


def thirds(request):
    third = len(request) // 3 + 1
    return request[:third], request[third:2 * third], request[2 * third:]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(world, name):
    request, status = REFUSED[name]
    before = world.recorded()
    refusals = world.deployment.sketcher.status()["refusals"]
    reasons = []
    # As it is, in pieces, and with a request behind it.
    for pieces in [(request,), thirds(request), (request + SMUGGLED,)]:
        head, end, body = world.talk(*pieces).partition(b"\r\n\r\n")
        assert end, f"no answer to {request!r}"
        answer = parse_head(head)
        reasons.append(answer.field("prophecy-reason"))
        assert answer.status == status, reasons
        assert answer.field("connection") == "close"
        assert reasons[-1]
        # One answer, and nothing behind it.
        assert len(body) == int(answer.field("content-length")) or request.startswith(b"HEAD")
    assert world.recorded() == before, f"an origin was asked for {request!r}"
    after = world.deployment.sketcher.status()["refusals"]
    for reason in set(reasons):
        assert after[reason] - refusals.get(reason, 0) == reasons.count(reason), after


@pytest.mark.parametrize("name", sorted(SERVED))
def test_served_without_what_is_wrong(world, name):
    request = SERVED[name].replace(b"Host: a\r\n", b"Host: a\r\nConnection: close\r\n", 1)
    before = world.recorded()
    answer = world.talk(request)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n"), answer
    assert answer.endswith(b"\r\n\r\npage")
    new = [piece for origin, count in zip(world.origins, before)
           for piece in origin.received[count:]]
    assert new
    for piece in new:
        assert piece.startswith((b"GET /x HTTP/1.1\r\nhost: a\r\n",
                                 b"POST /x HTTP/1.1\r\nhost: a\r\n"))
        assert PLANTED not in piece.lower()


def test_what_is_pipelined_behind_a_refusal_is_not_served(world):
    good = b"GET /good HTTP/1.1\r\nHost: a\r\n\r\n"
    bad = b"GET /bad HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"
    received = world.talk(good * 2 + bad + SMUGGLED * 3)
    statuses = [line.split()[1] for line in received.split(b"\r\n") if line.startswith(b"HTTP/1.1")
                or line.startswith(b"pageHTTP/1.1")]
    assert statuses == [b"200", b"200", b"400"], received


def test_nothing_smuggled_reached_an_origin(world):
    """Behind all the others: their leftovers had time enough."""
    assert world.talk(b"GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    # The answer took the votes of two: the others may come later.
    wait_until(lambda: all(b"/end" in b"".join(origin.received) for origin in world.origins), 10,
               "the last request at every origin")
    for origin in world.origins:
        text = b"".join(origin.received)
        assert b"smuggled" not in text
        assert b"/bad" not in text
