"""Answers in blocks to clients of HTTP/2: as their windows allow, several at once on one connection, and
what is cut off is one stream. With curl, nghttp, h2load, and frames made by hand."""

import hashlib
import os
import random
import shutil
import struct
import subprocess

import pytest

from harness import Deployment
from harness.build import instrumented, patience
from harness.http2_client import (CANCEL, DATA, END_STREAM, HEADERS, RST_STREAM, WINDOW_UPDATE,
                                  Http2Client, frame)
from harness.http_client import curl
from harness.processes import read_memory, wait_until

KIB = 1 << 10
MIB = 1 << 20
BLOCK = 256 * KIB
SIZE = 20 * MIB + 123
INTERNAL_ERROR = 2
H2 = "--http2-prior-knowledge"
# SETTINGS: streams' windows are wide open.
WIDE = struct.pack(">HI", 4, (1 << 31) - 1)
VOTE = {"group": {"kind": "vote", "file": None, "client_id": None, "key_file": None,
                  "canonical": {"whole_answer": "1MiB"}}}

BODY = random.Random(1).randbytes(SIZE)


@pytest.fixture(name="deployment")
def _deployment():
    with Deployment(content={"/large": BODY, "/small": b"small"}, agents=False,
                    sketcher_changes=VOTE) as deployment:
        yield deployment


def large(deployment):
    return deployment.sketcher.status()["large"]


def opened(client, stream, size):
    """More room for a stream, and for the connection."""
    client.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", size))
                + frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", size)))


def read_whole(client, streams):
    """All of the large file on each of them, and what is left of others' in between."""
    client.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))
    places = dict.fromkeys(streams, 0)
    while places:
        kind, flags, stream, payload = client.read_frame()
        if stream not in places:
            continue
        assert kind != RST_STREAM
        if kind != DATA:
            continue
        begin = places[stream]
        places[stream] += len(payload)
        assert payload == BODY[begin:places[stream]]
        if flags & END_STREAM:
            assert places.pop(stream) == SIZE


def test_with_agents_too():
    with Deployment(content={"/large": BODY}, canonical={"whole_answer": "1MiB"}) as deployment:
        for _ in range(3):
            assert curl(deployment.url + "/large", H2).body == BODY
        counters = deployment.sketcher.counters()
        assert (counters["replicated"], counters["fast"]) == (1, 2)


def test_answers_are_those_of_http1(deployment):
    tag = curl(deployment.url + "/large").field("etag")
    for options in ([], ["--head"], ["--range", "0-0"], ["--range", f"{BLOCK - 1}-{BLOCK}"],
                    ["--range", f"{3 * BLOCK}-{4 * BLOCK - 1}"], ["--range", "-100"],
                    ["--range", f"{MIB + 17}-{7 * MIB + 3}"], ["--range", f"{SIZE}-"],
                    ["--header", f"if-none-match: {tag}"], ["--header", 'if-match: "other"'],
                    ["--header", 'if-range: "other"', "--range", "0-9"]):
        one, two = (curl(deployment.url + "/large", version, *options)
                    for version in ("--http1.1", H2))
        assert (one.status, one.body) == (two.status, two.body)
        def fields(answer):
            return sorted((name.lower(), value) for name, value in answer.fields
                          if name.lower() not in ("date", "connection"))
        assert fields(one) == fields(two)
    assert deployment.sketcher.divergences() == []
    assert large(deployment)["broken"] == 0


def test_what_asks_for_the_rest_counts_as_untaken(deployment):
    """Of a request whose answer goes out as its windows allow: 28 KB that origins are asked with."""
    assert curl(deployment.url + "/large", H2).body == BODY
    names = ("accept", "accept-language", "authorization", "cookie")

    def untaken():
        [worker] = deployment.sketcher.status()["workers"]
        return worker["untaken_bytes"]

    def held_for(more):
        wait_until(lambda: untaken() == 0, 10, "nothing to be held")
        with Http2Client(deployment.sketcher.port) as client:
            stream = client.request("/large", more=more)
            assert client.wait_for(DATA, stream)
            seen = [0, 0]
            def settled():
                seen[:] = [seen[1], untaken()]
                return seen[0] == seen[1] >= BLOCK
            wait_until(settled, 20, "a block that is not taken")
            return seen[1]

    small, with_fields = (held_for(more) for more in ([], [(name, 7000 * "x") for name in names]))
    assert with_fields - small > 2 * 28_000


def test_many_at_once_on_one_connection(deployment):
    """More than the connection has room for: the others begin when these have ended."""
    with Http2Client(deployment.sketcher.port, WIDE) as client:
        read_whole(client, [client.request("/large") for _ in range(20)])
    status = deployment.sketcher.status()
    assert status["large"]["completed"] == 20
    assert status["requests"]["abandoned"] == 0


@pytest.mark.skipif(not shutil.which("h2load"), reason="the package nghttp2-client is not installed")
def test_other_clients(deployment):
    text = subprocess.run(["nghttp", "--verbose", "--null-out", "--multiply=3",
                           deployment.url + "/large"], capture_output=True, text=True,
                          timeout=60 * patience(), check=True).stdout
    assert text.count(":status: 200") == 3
    text = subprocess.run(["h2load", "--requests=15", "--clients=3", "--max-concurrent-streams=5",
                           deployment.url + "/large"], capture_output=True, text=True,
                          timeout=60 * patience(), check=True).stdout
    assert "15 succeeded, 0 failed" in text
    assert f"({15 * SIZE}) data" in text
    assert large(deployment)["broken"] == 0


def test_one_block_of_a_lie_is_replaced(deployment):
    assert curl(deployment.url + "/large", H2).body == BODY
    place = 10 * MIB + 5
    deployment.origins[2].write("/large", BODY[:place] + b"lie" + BODY[place + 3:])
    def read():
        assert curl(deployment.url + "/large", H2).body == BODY

    events = deployment.read_until_divergence(read)
    assert {event["replica"] for event in events} == {2}
    assert large(deployment)["switched"] > 0


def test_nothing_but_the_stream_is_cut_off(deployment):
    """All origins change the file on the way: no byte of the new one follows, and others go on."""
    assert curl(deployment.url + "/large", H2).body == BODY
    with Http2Client(deployment.sketcher.port) as client:
        stream = client.request("/large")
        got = b""
        while len(got) < 65535:
            kind, _, of_stream, payload = client.read_frame()
            if (kind, of_stream) == (DATA, stream):
                got += payload
        for number, origin in enumerate(deployment.origins):
            origin.kill()
            origin.write("/large", random.Random(number + 2).randbytes(SIZE))
            origin.start()
        opened(client, stream, SIZE)
        while True:
            kind, flags, of_stream, payload = client.read_frame()
            if of_stream != stream:
                continue
            assert not flags & END_STREAM or kind not in (DATA, HEADERS)
            if kind == RST_STREAM:
                assert int.from_bytes(payload, "big") == INTERNAL_ERROR
                break
            got += payload
        assert len(got) < SIZE and BODY.startswith(got)
        assert large(deployment)["broken"] == 1
        assert client.body(client.request("/small")) == b"small"


def test_one_that_is_taken_back_makes_room(deployment):
    with Http2Client(deployment.sketcher.port, WIDE) as client:
        streams = [client.request("/large") for _ in range(30)]
        wait_until(lambda: large(deployment)["begun"] == 16, 20, "as many as there is room for")
        for stream in streams[:25]:
            client.send(frame(RST_STREAM, 0, stream, CANCEL.to_bytes(4, "big")))
        read_whole(client, streams[25:])


def test_those_that_wait_for_room_count_as_untaken_and_have_their_turn():
    fields = [(name, 7000 * "x") for name in ("accept", "accept-language", "authorization", "cookie")]
    changes = {**VOTE, "timeouts": {"send": "2s"}}
    with Deployment(content={"/large": BODY}, agents=False,
                    sketcher_changes=changes) as deployment:
        assert curl(deployment.url + "/large", H2).body == BODY

        def held():
            [worker] = deployment.sketcher.status()["workers"]
            return worker["asking_bytes"], worker["untaken_bytes"]

        with Http2Client(deployment.sketcher.port) as client:
            streams = [client.request("/large", more=fields) for _ in range(24)]
            wait_until(lambda: held()[0] == 0 and held()[1] > len(streams) * 28_000, 10,
                       "all of them to wait for the client")
            # It takes nothing, so those that began end one by one, and these do instead.
            wait_until(lambda: large(deployment)["begun"] == 1 + len(streams), 30, "their turn")


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
def test_windows_that_are_shut_hold_little_memory(deployment):
    assert curl(deployment.url + "/large", H2).body == BODY
    worker, = deployment.sketcher.workers()
    before = read_memory(worker, "VmRSS")
    with Http2Client(deployment.sketcher.port) as client:
        for _ in range(60):
            client.request("/large")
        wait_until(lambda: large(deployment)["begun"] == 17, 20, "as many as there is room for")
        assert read_memory(worker, "VmHWM") - before < 16 * MIB
        # What is small has its turn all the same.
        small = client.request("/small")
        opened(client, small, 2 * MIB)  # of which the others take their share
        assert client.body(small) == b"small"


@pytest.mark.time_limit(240)
@pytest.mark.skipif(instrumented(), reason="a sanitizer makes minutes of it")
def test_a_large_file_in_little_memory():
    size = 256 * MIB
    changes = {"group": {**VOTE["group"], "deadline": None}, "timeouts": {"answer": "60s", "total": "60s"}}
    with Deployment(agents=False, sketcher_changes=changes) as deployment:
        # One file with four names: sparse, but for a stamp in each block.
        file = deployment.folder / "file"
        with open(file, "wb") as out:
            out.truncate(size)
            for offset in range(0, size, BLOCK):
                out.seek(offset + 100)
                out.write(offset.to_bytes(8, "little"))
        expected = hashlib.sha256(file.read_bytes()).hexdigest()
        file.chmod(0o644)
        for origin in deployment.origins:
            os.link(file, origin.htdocs / "file")
        for _ in range(3):
            answer = curl(deployment.url + "/file", H2, "--max-time", str(100 * patience()))
            assert answer.status == 200
            assert hashlib.sha256(answer.body).hexdigest() == expected
        worker, = deployment.sketcher.workers()
        assert read_memory(worker, "VmHWM") < 48 * MIB
