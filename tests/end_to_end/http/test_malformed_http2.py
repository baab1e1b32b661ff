"""The table of malformed requests over HTTP/2: each is answered with its status, or its stream is reset;
no byte of it reaches an origin; and the connection goes on for others."""

import pytest
from malformed_http2 import (BODY_MAX, COUNT_MAX, ENDED, HEADER_MAX, PLANTED, REFUSED, RESET, SERVED,
                             TARGET_MAX)
from harness.recording_world import recording_world

from harness.http2_client import (HEADERS, PROTOCOL_ERROR, RST_STREAM, Http2Client, status_of)
from harness.processes import wait_until


@pytest.fixture(scope="module", name="world")
def _world():
    with recording_world({"target": f"{TARGET_MAX}B", "header": f"{HEADER_MAX}B",
                          "header_count": COUNT_MAX, "body": f"{BODY_MAX}B"}) as world:
        yield world


def outcome(client, stream):
    """The status of a stream's answer, or RESET with its code."""
    while got := client.read_frame():
        kind, _, of_stream, payload = got
        if of_stream != stream:
            continue
        if kind == HEADERS:
            return status_of(payload)
        if kind == RST_STREAM:
            return RESET, int.from_bytes(payload, "big")
    return "the connection ended"


def asked_for(world, path):
    """How many origins were asked for it."""
    return sum(f" {path} HTTP/1.1\r\n".encode() in b"".join(origin.received)
               for origin in world.origins)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(world, name):
    row = REFUSED[name]
    before = world.recorded()
    reasons = world.deployment.sketcher.status()["refusals"]
    expected = (RESET, PROTOCOL_ERROR) if row.expected == RESET else row.expected
    # Alone, and in front of a good one in the same packet.
    for way in ("alone", "together"):
        good = f"/good/{name}-{way}"
        with Http2Client(world.port) as client:
            bad, client.next_stream = client.next_stream, client.next_stream + 2
            if way == "alone":
                client.send(row.frames(bad))
                assert outcome(client, bad) == expected
                stream = client.request(good, authority="a")
            else:
                client.send(row.frames(bad) + client.request_frames(good, authority="a"))
                assert outcome(client, bad) == expected
                stream = client.next_stream - 2
            assert client.body(stream) == b"page"
        wait_until(lambda good=good: asked_for(world, good) == 4, 10, "the good one's votes")
    # Each once, for one reason.
    now = world.deployment.sketcher.status()["refusals"]
    [reason] = [reason for reason in now if now[reason] != reasons.get(reason, 0)]
    assert now[reason] == reasons.get(reason, 0) + 2
    assert reason.startswith("HTTP/2: ") == (row.expected == RESET)
    only_good_ones_arrived(world, before)


@pytest.mark.parametrize("name", sorted(ENDED))
def test_the_connection_ends(world, name):
    frames, code = ENDED[name]
    before = world.recorded()
    with Http2Client(world.port) as client:
        client.send(frames(client.next_stream))
        assert client.end_code() == code
        assert client.read_frame() is None
    only_good_ones_arrived(world, before)


@pytest.mark.parametrize("name", sorted(SERVED))
def test_served_without_what_is_wrong(world, name):
    row = SERVED[name]
    before = world.recorded()
    row.pairs = [(key, f"/good/{name}" if key == ":path" else value) for key, value in row.pairs]
    with Http2Client(world.port) as client:
        client.send(row.frames(1))
        assert client.body(1) == b"page"
    wait_until(lambda: asked_for(world, f"/good/{name}") == 4, 10, "its votes")
    only_good_ones_arrived(world, before)


def only_good_ones_arrived(world, before):
    for origin, count in zip(world.origins, before):
        for piece in origin.received[count:]:
            assert piece.startswith((b"GET /good/", b"POST /good/")), piece
            assert piece.count(b"HTTP/1.1\r\n") == 1
            assert PLANTED not in piece.lower()
            assert b"smuggled" not in piece
            assert piece.count(b"\r\nhost: a\r\n") == 1


def test_enough_rows_of_it():
    assert len(REFUSED) >= 100
