"""HTTP/2 for clients: the same answers as HTTP/1.1 gives, strict requests, bounds on what a client can
make us hold or do. With curl, nghttp, h2load, and frames made by hand."""

import os
import re
import shutil
import signal
import struct
import subprocess
import time
from contextlib import ExitStack
from datetime import timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path

import hpack
import pytest

from bench.cost import process_memory_bytes
from harness import Deployment
from harness.build import instrumented, patience
from harness.http2_client import (CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM,
                                  ENHANCE_YOUR_CALM, HEADERS, NO_ERROR, PING, PROTOCOL_ERROR,
                                  REFUSED_STREAM, RST_STREAM, SETTINGS, STREAM_CLOSED, Http2Client,
                                  field, frame, request_fields, status_of)
from harness.http_client import curl
from harness.processes import read_memory, wait_until

PAGE = b"<p>One page.</p>\n"
LARGE = os.urandom(1 << 20)
H2 = "--http2-prior-knowledge"


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    content = {"/index.html": PAGE, "/large": LARGE, "/static/page": PAGE}
    changes = {"timeouts": dict.fromkeys(("body", "send", "header"), f"{patience() * 1000:.0f}ms")}
    with Deployment(content=content, sketcher_changes=changes) as deployment:
        yield deployment


@pytest.fixture(name="client")
def _client(deployment):
    with Http2Client(deployment.sketcher.port) as client:
        yield client


def ends(deployment):
    return deployment.sketcher.status()["transport"]["http2"]["ends"]


def counted(deployment, reason, before):
    wait_until(lambda: ends(deployment)[reason] == before + 1, 10, f"the end by {reason}")


def same_by_both(deployment, path, *options):
    one, two = (curl(deployment.url + path, version, *options) for version in ("--http1.1", H2))
    assert one.status == two.status
    assert one.body == two.body
    def fields(answer):
        return sorted((name, value) for name, value in answer.fields
                      if name.lower() not in ("date", "connection"))
    assert fields(one) == fields(two)
    return two


def test_what_the_sketcher_writes_itself_is_whole_as_well():
    freshness = ('Header set Cache-Control "max-age=60"\n'
                 'Header set Expires "Thu, 01 Dec 2033 16:00:00 GMT"\n')
    with Deployment(content={"/index.html": PAGE, "/large": LARGE},
                    apache_additions=dict.fromkeys(range(4), freshness),
                    canonical={"whole_answer": "64KiB"}) as deployment:
        for path, options in [("/", []), ("/", ["--head"]), ("/", ["--range", "1-3"]),
                              ("/large", []), ("/large", ["--range", "1-3"])] * 3:
            answer = curl(deployment.url + path, H2, *options)
            date, expires = (parsedate_to_datetime(answer.field(name))
                             for name in ("date", "expires"))
            assert expires - date == timedelta(seconds=60)


def test_a_connection_that_has_rested_goes_on_where_it_was(client):
    """Fields are still referred to by their places in the tables of both sides."""
    coder, decoder = hpack.Encoder(), hpack.Decoder()
    sizes = []
    for _ in range(3):
        frames = client.request_frames("/static/page", coder=coder, more=[("user-agent", "agent" * 20)])
        sizes.append(len(frames))
        client.send(frames)
        fields = dict(decoder.decode(client.wait_for(HEADERS)[3]))
        assert fields[":status"] == "200" and fields["content-length"] == str(len(PAGE))
        assert client.wait_for(DATA)[3] == PAGE
        time.sleep(1.5)  # after a second without a request its memory is packed
    assert sizes[1] < sizes[0] / 4


def test_answers_are_those_of_http1(deployment):
    page = same_by_both(deployment, "/static/page")
    assert page.body == PAGE
    tag = page.field("etag")
    for path, options in [("/static/page", ["--head"]), ("/static/page", ["--range", "3-5"]),
                          ("/static/page", ["--range", "99-"]), ("/nothing", []), ("/large", []),
                          ("/static/page", ["--header", f"if-none-match: {tag}"]),
                          ("/static/page", ["--header", 'if-match: "other"']),
                          ("/", ["--request", "TRACE"])]:
        same_by_both(deployment, path, *options)


def test_writes_with_bodies(deployment, tmp_path):
    body = os.urandom(3 << 20)
    (tmp_path / "body").write_bytes(body)
    assert curl(deployment.url + "/written", H2, "--upload-file", tmp_path / "body").status == 201
    deployment.wait_for_write("/written", body)
    assert curl(deployment.url + "/written", H2).body == body
    assert curl(deployment.url + "/written", H2, "--request", "DELETE").status == 204
    deployment.wait_for_write("/written", None)


@pytest.mark.skipif(not shutil.which("nghttp"), reason="the package nghttp2-client is not installed")
def test_other_clients(deployment):
    text = subprocess.run(["nghttp", "--verbose", "--null-out", "--multiply=20",
                           deployment.url + "/large"], capture_output=True, text=True,
                          timeout=60 * patience(), check=True).stdout
    assert len(re.findall(r":status: 200", text)) == 20
    text = subprocess.run(["h2load", "--requests=2000", "--clients=5", "--max-concurrent-streams=20",
                           deployment.url + "/index.html"], capture_output=True, text=True,
                          timeout=60 * patience(), check=True).stdout
    assert "2000 succeeded, 0 failed" in text


def test_crumbs_of_a_cookie_are_one_field(deployment, client):
    def ask(*crumbs):
        client.body(client.request("/static/page?cookie", more=[("cookie", c) for c in crumbs]))
        return deployment.sketcher.counters()
    before = ask("a=1; b=2")
    after = ask("a=1", "b=2")
    assert after["fast"] == before["fast"] + 1
    assert after["replicated"] == before["replicated"]


@pytest.mark.parametrize("options,status", [
    ({"more": [("host", "other")]}, 400), ({"authority": None}, None), ({"authority": "a@b"}, 400),
    ({"authority": ""}, None), ({"path": "/a#b"}, 400), ({"path": "http://localhost/"}, None),
    ({"method": "BREW"}, 501), ({"scheme": "https"}, 421), ({"path": "/" + "a" * 9000}, 414),
    ({"more": [("x", "a" * 40000)]}, 431), ({"more": [(f"x{i}", "a") for i in range(200)]}, 431),
    ({"more": [("expect", "miracles")]}, 417), ({"more": [("content-length", "99999999999")],
                                                "end": False, "method": "PUT"}, 413),
    ({"more": [("X-Upper", "a")]}, None), ({"more": [("connection", "close")]}, None),
    ({"more": [("transfer-encoding", "chunked")]}, None), ({"more": [("te", "gzip")]}, None),
    ({"more": [(":path", "/")]}, None), ({"more": [("a", "b\x00c")]}, 400),
    ({"more": [("a\x7fb", "c")]}, 400),
])
def test_requests_are_as_strict_as_http1(deployment, client, options, status):
    """Refused with a status, or reset where the message is no HTTP at all (RFC 9113, 8.1.1)."""
    before = deployment.sketcher.counters()
    reasons = deployment.sketcher.status()["refusals"]
    stream = client.request(**options)
    while True:
        kind, _, of_stream, payload = client.read_frame()
        if of_stream == stream and kind in (HEADERS, RST_STREAM):
            break
    if status is None:
        assert kind == RST_STREAM
        assert int.from_bytes(payload, "big") == PROTOCOL_ERROR
    else:
        assert kind == HEADERS
        assert status_of(payload) == status
    after = deployment.sketcher.counters()
    for path in ("fast", "replicated", "failed"):
        assert after[path] == before[path]
    # Once, and by one reason.
    assert after["refused"] == before["refused"] + 1
    now = deployment.sketcher.status()["refusals"]
    [reason] = [reason for reason in now if now[reason] != reasons.get(reason, 0)]
    assert now[reason] == reasons.get(reason, 0) + 1
    assert reason.startswith("HTTP/2: ") == (status is None)
    # The connection goes on.
    assert client.body(client.request("/static/page")) == PAGE


def test_requests_taken_back_one_after_another_end_the_connection(deployment, client):
    before = ends(deployment)["resets"]
    for _ in range(400):
        stream = client.request("/large", end=True)
        client.send(frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL)))
    assert client.end_code() == ENHANCE_YOUR_CALM
    counted(deployment, "resets", before)
    assert curl(deployment.url + "/large").body == LARGE


@pytest.mark.parametrize("flood", [
    frame(PING, 0, 0, b"8 octets"), frame(SETTINGS, 0, 0), frame(DATA, 0, 1), frame(0xfa, 0, 0),
])
def test_frames_without_content_end_the_connection(deployment, client, flood):
    before = ends(deployment)["frames"]
    client.request(end=False, method="PUT")
    try:
        for _ in range(60):
            client.send(100 * flood)
    except ConnectionError:
        pass
    code = client.end_code()
    assert code in (ENHANCE_YOUR_CALM, None)  # a reset may overtake it
    counted(deployment, "frames", before)


def test_endless_fields_end_the_connection(deployment, client):
    before = ends(deployment)
    block = b"".join(field(f"x{i}", "a" * 1000) for i in range(15))
    try:
        client.send(frame(HEADERS, END_STREAM, 1, request_fields() + block))
        for _ in range(200):
            client.send(frame(CONTINUATION, 0, 1, block))
    except ConnectionError:
        pass
    wait_until(lambda: sum(ends(deployment).values()) > sum(before.values()), 10, "the end")
    after = ends(deployment)
    assert after["fields"] + after["violation"] == before["fields"] + before["violation"] + 1


def test_more_streams_than_allowed_are_refused(client):
    streams = [client.request(end=False, method="PUT") for _ in range(101)]
    assert client.reset_code(streams[-1]) == REFUSED_STREAM


@pytest.mark.parametrize("rest", [frame(DATA, 0, 1, b"more"), frame(HEADERS, END_HEADERS, 1,
                                                                    request_fields())])
def test_frames_on_a_closed_stream_end_the_connection(client, rest):
    client.body(client.request("/static/page"))
    client.send(rest)
    assert client.end_code() == STREAM_CLOSED


def test_a_client_that_takes_nothing_holds_little(deployment):
    """Windows of one byte: all that is asked for has to wait here."""
    [worker] = deployment.sketcher.workers()
    curl(deployment.url + "/large")
    with Http2Client(deployment.sketcher.port, settings=struct.pack(">HI", 4, 1)) as client:
        before = process_memory_bytes(worker)
        streams = [client.request("/large") for _ in range(100)]
        wait_until(lambda: client.wait_for(DATA), 10, "the first byte")
        if not instrumented():
            assert process_memory_bytes(worker) - before < 130 << 20
        # Nobody waits for ever.
        assert client.reset_code(streams[0]) == ENHANCE_YOUR_CALM
    # What is kept for a second or two are buffers for large bodies, up to 64 MiB.
    wait_until(lambda: process_memory_bytes(worker) - before < 32 << 20 or instrumented(), 10,
               "the memory to be given back")


def test_an_idle_client_is_told_goodbye(client):
    assert client.end_code() == NO_ERROR


def test_a_broken_preface_is_no_http2(deployment):
    with Http2Client(deployment.sketcher.port) as client:
        client.send(b"PRI * HTTP/1.1\r\n\r\n")
        assert client.end_code() is not None


def test_what_has_begun_is_finished_when_the_sketcher_stops():
    with Deployment(content={"/large": LARGE}) as deployment:
        curl(deployment.url + "/large")
        with Http2Client(deployment.sketcher.port) as client:
            stream = client.request("/large")
            assert client.wait_for(DATA, stream)
            deployment.sketcher.child.signal(signal.SIGTERM)
            assert client.end_code() == NO_ERROR
            received = 0
            client.send(frame(8, 0, 0, struct.pack(">I", 1 << 24)))
            client.send(frame(8, 0, stream, struct.pack(">I", 1 << 24)))
            while (got := client.wait_for(DATA, stream)) is not None:
                received += len(got[3])
                if got[1] & END_STREAM:
                    break
            assert len(LARGE) - 3 * 65536 <= received <= len(LARGE)
        deployment.sketcher.child.wait(15)
        deployment.sketcher.child = None


def test_idle_clients_are_not_restored_at_once_when_the_sketcher_stops():
    """Each of their sessions takes 24 KiB while it is not packed: 400 of them 9 MiB."""
    with Deployment(content={"/page": PAGE}) as deployment, ExitStack() as stack:
        [worker] = deployment.sketcher.workers()
        clients = [stack.enter_context(Http2Client(deployment.sketcher.port)) for _ in range(400)]
        for client in clients:
            assert client.body(client.request("/page")) == PAGE
        time.sleep(1.5)  # until they are packed
        Path(f"/proc/{worker}/clear_refs").write_text("5", encoding="ascii")  # VmHWM begins anew
        before = read_memory(worker, "VmHWM")
        deployment.sketcher.child.signal(signal.SIGTERM)
        assert {client.end_code() for client in clients} == {NO_ERROR}
        growth = read_memory(worker, "VmHWM") - before
        assert growth < 3 << 20 or instrumented()
        stack.close()
        deployment.sketcher.child.wait(15)
        deployment.sketcher.child = None
