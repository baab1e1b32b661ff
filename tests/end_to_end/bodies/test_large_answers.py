"""Answers beyond what is held whole: agreed on in blocks, and no byte released before its block."""

import hashlib
import os
import random
import subprocess
import time

import pytest

from harness import Deployment
from harness.build import instrumented, patience
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection, curl
from harness.processes import read_memory, wait_until
from harness.replicas import ctl

KIB = 1 << 10
MIB = 1 << 20
BLOCK = 256 * KIB
WHOLE = MIB
SIZE = 20 * MIB + 123
CANONICAL = {"whole_answer": "1MiB"}
VOTE = {"group": {"kind": "vote", "file": None, "client_id": None, "key_file": None,
                  "canonical": CANONICAL}}

BODY = random.Random(1).randbytes(SIZE)


@pytest.fixture(name="deployment", params=["pbft", "vote"])
def _deployment(request):
    options = {"content": {"/large": BODY, "/small": b"small"}}
    if request.param == "pbft":
        options["canonical"] = CANONICAL
    else:
        options.update(agents=False, sketcher_changes=VOTE)
    with Deployment(**options) as deployment:
        yield deployment


def large(deployment):
    return deployment.sketcher.status()["large"]


class Download:
    """curl at work, at most so fast."""

    def __init__(self, deployment, path, name, rate):
        self.file = deployment.folder / name
        self._curl = subprocess.Popen(  # pylint: disable=consider-using-with
            ["curl", "--silent", "--show-error", "--http1.1", "--noproxy", "*", "--limit-rate", rate,
             "--max-time", str(100 * patience()), "--output", self.file, deployment.url + path],
            stdin=subprocess.DEVNULL)

    def received(self):
        return self.file.stat().st_size if self.file.exists() else 0

    def wait_for(self, size):
        wait_until(lambda: self.received() >= size, 20, f"{size} bytes of the download")

    def status(self):
        return self._curl.wait()

    def end(self):
        self._curl.kill()
        self._curl.wait()


def test_it_is_agreed_on_once_and_fast_afterwards(deployment):
    for _ in range(6):
        answer = curl(deployment.url + "/large")
        assert answer.status == 200
        assert answer.body == BODY
        assert answer.field("accept-ranges") == "bytes"
    counters = deployment.sketcher.counters()
    assert (counters["replicated"], counters["fast"]) == (1, 5)
    # A client has the last byte before that is counted.
    wait_until(lambda: large(deployment)["completed"] == 6, 10, "all to be counted")
    assert large(deployment)["lists_found"] == 5
    assert deployment.sketcher.divergences() == []
    assert curl(deployment.url + "/small").body == b"small"


def test_answers_about_the_threshold(deployment):
    for size in (WHOLE - 1, WHOLE, WHOLE + 1, WHOLE + BLOCK, WHOLE + BLOCK + 1):
        body = random.Random(size).randbytes(size)
        for origin in deployment.origins:
            origin.write(f"/of-{size}", body)
        for _ in range(2):
            assert curl(f"{deployment.url}/of-{size}").body == body
    wait_until(lambda: large(deployment)["completed"] == 6, 10, "all to be counted")


def test_parts_and_conditions(deployment):
    whole = curl(deployment.url + "/large")
    tag = whole.field("etag")
    for first, last in ((0, 0), (5, 9), (BLOCK - 1, BLOCK), (3 * BLOCK, 4 * BLOCK - 1),
                        (MIB + 17, 7 * MIB + 3), (SIZE - 1, SIZE - 1), (SIZE - 5, SIZE + 100)):
        answer = curl(deployment.url + "/large", "--range", f"{first}-{last}")
        assert answer.status == 206
        assert answer.body == BODY[first:last + 1]
        assert answer.field("content-range") == f"bytes {first}-{min(last, SIZE - 1)}/{SIZE}"
        assert answer.field("etag") == tag
    tail = curl(deployment.url + "/large", "--range", "-100")
    assert (tail.status, tail.body) == (206, BODY[-100:])
    assert curl(deployment.url + "/large", "--range", f"{SIZE}-").status == 416
    assert curl(deployment.url + "/large", "-H", "If-Range: \"other\"", "--range",
                "0-9").body == BODY
    seen = curl(deployment.url + "/large", "-H", f"If-None-Match: {tag}")
    assert (seen.status, seen.body) == (304, b"")
    assert curl(deployment.url + "/large", "-H", "If-Match: \"other\"").status == 412
    head = curl(deployment.url + "/large", "--head")
    assert (head.status, head.field("content-length")) == (200, str(SIZE))
    counters = deployment.sketcher.counters()
    assert counters["replicated"] == 2  # the GET and the HEAD
    assert deployment.sketcher.divergences() == []


def test_a_kept_alive_connection_goes_on_behind_it(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        for _ in range(3):
            assert connection.get("/large").body == BODY
            assert connection.get("/small").body == b"small"
        connection.send(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n"
                        b"GET /small HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.answer().body == BODY
        assert connection.answer().body == b"small"


def read_large(deployment):
    assert curl(deployment.url + "/large").body == BODY


def test_one_block_of_a_lie_is_replaced_and_named(deployment):
    assert curl(deployment.url + "/large").body == BODY
    place = 10 * MIB + 5
    deployment.origins[2].write("/large", BODY[:place] + b"lie" + BODY[place + 3:])
    events = deployment.read_until_divergence(lambda: read_large(deployment))
    assert {event["replica"] for event in events} == {2}
    offset = place // BLOCK * BLOCK
    assert [{"part": "body", "offset": offset}] in [event["differs"] for event in events]
    assert large(deployment)["switched"] > 0
    assert deployment.sketcher.counters()["replicated"] == 1


@pytest.mark.parametrize("by", ["list", "mark"])
def test_one_block_of_a_lie_is_noise_where_the_history_is_not_asked(by):
    """It is replaced; but the list is of this very call, and an origin may be ahead of it."""
    group = {**VOTE["group"], "health": ALWAYS_DRAWN}
    route = {"blacklist": ["/large"]} if by == "list" else {}
    with Deployment(content={"/large": BODY}, agents=False,
                    sketcher_changes={"group": group, "route": route}) as deployment:
        if by == "mark":
            ctl("history", "blacklist", deployment.url + "/large", "-H", "Accept: */*", "--admin",
                deployment.sketcher.admin)
        place = 10 * MIB + 5
        deployment.origins[2].write("/large", BODY[:place] + b"lie" + BODY[place + 3:])
        for _ in range(24):
            assert curl(deployment.url + "/large").body == BODY
        assert deployment.sketcher.counters()["blacklisted"] == 24
        # What a list blacklists is in the history, so that votes may accuse; a mark's entry is not.
        events = deployment.sketcher.divergences()
        assert {(event["kind"], event["replica"]) for event in events} <= {("vote", 2)}
        assert by == "list" or not events
        noise = [origin["noise"] for origin in deployment.sketcher.status()["origins"]]
        assert noise[2] > 0 and noise[:2] + noise[3:] == [0, 0, 0]


def test_a_lie_in_the_beginning_goes_to_the_group(deployment):
    assert curl(deployment.url + "/large").body == BODY
    deployment.origins[1].write("/large", b"lie" + BODY[3:])
    events = deployment.read_until_divergence(lambda: read_large(deployment))
    assert {event["replica"] for event in events} == {1}
    assert [{"part": "body", "offset": 0}] in [event["differs"] for event in events]


def test_another_length_goes_to_the_group(deployment):
    assert curl(deployment.url + "/large").body == BODY
    deployment.origins[1].write("/large", BODY + b"more")
    events = deployment.read_until_divergence(lambda: read_large(deployment))
    assert {event["replica"] for event in events} == {1}


def test_an_origin_dies_on_the_way(deployment):
    assert curl(deployment.url + "/large").body == BODY
    for _ in range(6):  # one time in ten, no download has drawn it
        downloads = [Download(deployment, "/large", f"got-{number}", "8M") for number in range(8)]
        try:
            for download in downloads:
                download.wait_for(2 * MIB)
            deployment.origins[0].kill()
            for download in downloads:
                assert download.status() == 0
                assert download.file.read_bytes() == BODY
        finally:
            for download in downloads:
                download.end()
        if large(deployment)["switched"] > 0:
            return
        deployment.origins[0].start()
    pytest.fail("nothing was asked for anew")


def test_content_that_changes_on_the_way_breaks_the_connection(deployment):
    """Never a byte of the new file behind bytes of the old one."""
    assert curl(deployment.url + "/large").body == BODY
    download = Download(deployment, "/large", "got", "2M")
    try:
        download.wait_for(2 * MIB)
        for number, origin in enumerate(deployment.origins):
            origin.kill()
            origin.write("/large", random.Random(number + 2).randbytes(SIZE))
            origin.start()
        assert download.status() == 18  # curl: a partial file
    finally:
        download.end()
    got = download.file.read_bytes()
    assert 2 * MIB <= len(got) < SIZE
    assert BODY.startswith(got)
    assert large(deployment)["broken"] == 1


def test_new_content_is_agreed_on_anew(deployment):
    assert curl(deployment.url + "/large").body == BODY
    new = BODY[::-1]
    for origin in deployment.origins:
        origin.write("/large", new)
    for _ in range(4):
        assert curl(deployment.url + "/large").body == new
    for origin in deployment.origins:
        origin.write("/large", b"small now")
    for _ in range(4):
        assert curl(deployment.url + "/large").body == b"small now"
    # A vote that was late for the old content may have been on the new one.
    kinds = {event["kind"] for event in deployment.sketcher.divergences()}
    assert "fast_read" not in kinds


def test_a_list_that_was_evicted_is_agreed_on_anew():
    names = [f"/large-{number}" for number in range(40)]
    content = {name: random.Random(name).randbytes(300 * KIB) for name in names}
    changes = {"table": {"blocks": "64KiB"}}
    canonical = {"whole_answer": "1KiB", "answer_block": "4KiB"}
    with Deployment(content=content, canonical=canonical, sketcher_changes=changes) as deployment:
        for _ in range(3):
            for name in names:
                for _ in range(2):
                    assert curl(deployment.url + name).body == content[name]
        counters = deployment.sketcher.counters()
        # The second of two readings in a row, and what the store still holds of an earlier round.
        assert counters["fast"] >= 120
        assert 41 <= counters["replicated"] <= 120


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
def test_slow_clients_hold_little_memory(deployment):
    assert curl(deployment.url + "/large").body == BODY
    workers = deployment.sketcher.workers()
    connections = []
    try:
        before = sum(read_memory(worker, "VmRSS") for worker in workers)
        for _ in range(20):
            connections.append(RawConnection(deployment.sketcher.port, 60))
            connections[-1].send(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: large(deployment)["begun"] == 21, 20, "the beginnings of the answers")
        time.sleep(1)
        after = sum(read_memory(worker, "VmRSS") for worker in workers)
        assert after - before < 20 * 2 * MIB
        for connection in connections[:3]:
            assert connection.answer().body == BODY
    finally:
        for connection in connections:
            connection.close()


def test_slow_clients_hold_no_connection_to_an_origin(deployment):
    """Of twice as many as there are connections to origins, each goes on when it reads on."""
    deployment.sketcher.stop()
    deployment.sketcher.settings["origins"] = {"connections_max": 3}
    deployment.sketcher.write_configuration()
    deployment.sketcher.start()
    assert curl(deployment.url + "/large").body == BODY
    assert curl(deployment.url + "/small").body == b"small"
    connections = []
    try:
        for _ in range(24):
            connections.append(RawConnection(deployment.sketcher.port))
            connections[-1].send(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wait_until(lambda: large(deployment)["let_go"] >= 24, 20, "all to be let go")
        for _ in range(20):
            began = time.monotonic()
            assert curl(deployment.url + "/small").body == b"small"
            assert time.monotonic() - began < 1 * patience()
        for connection in connections[::6]:
            assert connection.answer().body == BODY
            assert connection.get("/small").body == b"small"
    finally:
        for connection in connections:
            connection.close()
    assert large(deployment)["broken"] == 0
    assert deployment.sketcher.divergences() == []


@pytest.mark.time_limit(240)
@pytest.mark.skipif(instrumented(), reason="a sanitizer makes minutes of a GiB")
def test_a_gibibyte():
    time_out = {"group": {"deadline": "60s"}}
    with Deployment(sketcher_changes=time_out) as deployment:
        # One file with four names: sparse, but for a stamp in each block.
        file = deployment.folder / "file"
        with open(file, "wb") as out:
            out.truncate(1 << 30)
            for offset in range(0, 1 << 30, BLOCK):
                out.seek(offset + 100)
                out.write(offset.to_bytes(8, "little"))
        expected = hashlib.sha256(file.read_bytes()).hexdigest()
        file.chmod(0o644)
        for origin in deployment.origins:
            os.link(file, origin.htdocs / "gibibyte")
        workers = deployment.sketcher.workers()
        for _ in range(2):
            download = Download(deployment, "/gibibyte", "got", "0")
            assert download.status() == 0
            assert hashlib.sha256(download.file.read_bytes()).hexdigest() == expected
        counters = deployment.sketcher.counters()
        assert (counters["replicated"], counters["fast"]) == (1, 1)
        for worker in workers:
            assert read_memory(worker, "VmHWM") < 64 * MIB
        # Nobody was blamed for the time that it took.
        assert all(agent.status()["view"] == 0 for agent in deployment.agents)
        answer = curl(deployment.url + "/gibibyte", "--range", "1073741000-")
        assert (answer.status, len(answer.body)) == (206, (1 << 30) - 1073741000)
