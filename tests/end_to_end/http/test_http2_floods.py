"""What a client of HTTP/2 may send for nothing, again and again, and what it may have us reset: each has
its bound, at which the connection ends in order, and others notice nothing."""

import os
import struct

import pytest

from harness import Deployment
from harness.http2_client import (CONTINUATION, DATA, END_HEADERS, END_STREAM, ENHANCE_YOUR_CALM,
                                  HEADERS, NO_ERROR, PADDED, PRIORITY, PROTOCOL_ERROR, RST_STREAM,
                                  WINDOW_UPDATE, Http2Client, field, frame, request_fields)
from harness.http_client import curl
from harness.processes import wait_until

PAGE = b"<p>One page.</p>\n"
LARGE = os.urandom(1 << 20)
PRIORITY_UPDATE = 0x10
RESETS_MAX = 200  # at once, and then 20 a second
FRAMES_MAX = 1000  # at once, and then 200 a second


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment(content={"/index.html": PAGE, "/large": LARGE}) as deployment:
        yield deployment


@pytest.fixture(name="client")
def _client(deployment):
    with Http2Client(deployment.sketcher.port) as client:
        yield client
    assert curl(deployment.url + "/", "--http2-prior-knowledge").body == PAGE


def ends(deployment):
    return deployment.sketcher.status()["transport"]["http2"]["ends"]


def window(stream, size):
    return frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", size))


def flood(client, pieces):
    """Sends until the peer has had enough; the code of its GOAWAY, None when a reset overtook it."""
    try:
        for piece in pieces:
            client.send(piece)
    except ConnectionError:
        pass
    return client.end_code()


def counted(deployment, before, *reasons):
    wait_until(lambda: sum(ends(deployment)[reason] - before[reason] for reason in reasons) == 1,
               10, f"the end by {reasons}")


@pytest.mark.parametrize("useless", {
    "windows": window(0, 1),
    "windows-of-a-stream": window(1, 1),
    "priorities": frame(PRIORITY, 0, 1, b"\0\0\0\0\x10"),
    "priorities-of-idle-streams": frame(PRIORITY, 0, 99, b"\0\0\0\0\x10"),
    "padding": frame(DATA, PADDED, 1, b"\0"),
    "more-padding": frame(DATA, PADDED, 1, b"\x14" + bytes(20)),
    "priority-updates": frame(PRIORITY_UPDATE, 0, 0, b"\0\0\0\1u=1"),
}.items(), ids=lambda item: item[0])
def test_frames_that_carry_nothing(deployment, client, useless):
    before = ends(deployment)
    client.request(end=False, method="PUT", path="/flood")
    assert flood(client, [100 * useless[1]] * 60) in (ENHANCE_YOUR_CALM, None)
    counted(deployment, before, "frames")
    assert all(origin.read("/flood") is None for origin in deployment.origins)


def test_as_many_as_a_client_has_reason_to_are_taken(client):
    stream = client.request(end=False, method="PUT", path="/some")
    client.send(window(0, 1) * (FRAMES_MAX // 2) + frame(DATA, END_STREAM, stream, b"whole"))
    client.body(stream)
    assert client.body(client.request("/")) == PAGE


@pytest.mark.parametrize("first", [b"", field("x", "a")], ids=["alone", "behind-fields"])
def test_empty_continuations(deployment, client, first):
    """Fields without end that never grow: no limit of bytes stops them (CVE-2024-27316 and others)."""
    before = ends(deployment)
    block = request_fields() + first
    pieces = [frame(HEADERS, END_STREAM, 1, block)] + [100 * frame(CONTINUATION, 0, 1)] * 100
    assert flood(client, pieces) in (ENHANCE_YOUR_CALM, PROTOCOL_ERROR, None)
    counted(deployment, before, "frames", "violation")


def streams(client, count, frames):
    """Opens so many, each with what is sent behind its fields."""
    for _ in range(count):
        opened = client.request_frames("/large")
        yield opened + frames(client.next_stream - 2)


def unfinished(more, *behind):
    """A request whose body is to come, and frames of its stream."""
    def frames(stream):
        block = request_fields("/flood", "PUT", more=more)
        return frame(HEADERS, END_HEADERS, stream, block) + b"".join(
            frame(kind, flags, stream, payload) for kind, flags, payload in behind)
    return frames


# "Made you reset": it is us who reset each stream, and the client that has asked for it.
MADE_TO_RESET = {
    "window-too-large": lambda stream: frame(
        HEADERS, END_HEADERS | END_STREAM, stream, request_fields("/large"))
        + window(stream, (1 << 31) - 1),
    "window-of-nothing": lambda stream: frame(
        HEADERS, END_HEADERS | END_STREAM, stream, request_fields("/large")) + window(stream, 0),
    "more-than-its-length": unfinished([("content-length", "1")], (DATA, 0, b"ab")),
    "less-than-its-length": unfinished([("content-length", "3")], (DATA, END_STREAM, b"ab")),
    "trailers-without-end": unfinished((), (HEADERS, END_HEADERS, field("x", "a"))),
    "malformed-trailers": unfinished((), (HEADERS, END_HEADERS | END_STREAM, field(":x", "a"))),
    "malformed": unfinished([("connection", "close")]),
    "depends-on-itself": lambda stream: frame(
        HEADERS, END_HEADERS | END_STREAM | 0x20, stream,
        struct.pack(">IB", stream, 1) + request_fields("/large")),
}


@pytest.mark.parametrize("way", sorted(MADE_TO_RESET))
def test_streams_that_we_are_made_to_reset(deployment, client, way):
    before, asked = ends(deployment), deployment.sketcher.counters()
    code = flood(client, (MADE_TO_RESET[way](2 * number + 1) for number in range(3000)))
    assert code != NO_ERROR
    # Resets count when they are sent, frames when they are read: of many in one turn, either is first.
    counted(deployment, before, "resets", "violation", "frames")
    # Not one of them more has been asked for than may be reset, and none is still under way.
    def settled():
        now = deployment.sketcher.counters()
        ended = [now[end] - asked[end] for end in ("fast", "replicated", "abandoned", "failed")]
        return now["reads"] + now["writes"] - asked["reads"] - asked["writes"] == sum(ended)
    wait_until(settled, 20, "the end of all that was asked for")
    now = deployment.sketcher.counters()
    assert now["reads"] - asked["reads"] <= 2 * RESETS_MAX
    assert now["writes"] == asked["writes"]
    assert all(origin.read("/flood") is None for origin in deployment.origins)


def test_a_few_of_them_are_forgiven(client):
    """Who is reset now and then, and takes answers in between, goes on."""
    for _ in range(20):
        stream, client.next_stream = client.next_stream, client.next_stream + 2
        client.send(MADE_TO_RESET["malformed"](stream))
        assert client.wait_for(RST_STREAM, stream)
        assert client.body(client.request("/")) == PAGE
