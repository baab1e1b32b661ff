"""Limits for connections, and for what they hold in all: who is over them harms nobody else."""

import contextlib
import random
import resource
import struct
import subprocess
import threading
import time

import pytest

from harness import Deployment
from harness.build import instrumented
from harness.http2_client import (ACK, DATA, FRAME_BYTES_MAX, HEADERS, NO_TABLE, SETTINGS,
                                  Http2Client, frame)
from harness.http_client import RawConnection, curl
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.scripted_origin import ScriptedOrigin

PAGE = b"page\n"
LIMIT = 5
MIB = 1 << 20
VOTE = {"group": {"kind": "vote", "file": None, "client_id": None, "key_file": None}}


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with contextlib.closing(PortReservation(1)) as reservation:
        [metrics] = reservation.ports
        changes = {"limits": {"connections_per_address_max": LIMIT},
                   "sketcher": {"metrics": f"127.0.0.1:{metrics}"}}
        with Deployment(content={"/index.html": PAGE}, sketcher_changes=changes) as deployment:
            yield deployment


def worker(deployment):
    [only] = deployment.sketcher.status()["workers"]
    return only


def test_one_address_cannot_take_the_room_of_others(deployment):
    def from_other_address():
        return RawConnection(deployment.sketcher.port, source="127.0.0.2")

    wait_until(lambda: worker(deployment)["connections"] == 0, 10, "earlier connections to end")
    before = worker(deployment)
    greedy = [from_other_address() for _ in range(LIMIT)]
    for connection in greedy:
        assert connection.get("/").body == PAGE
    for _ in range(3):
        with from_other_address() as connection:
            assert connection.ended()
    assert curl(deployment.url + "/").body == PAGE
    assert greedy[0].get("/").body == PAGE

    after = worker(deployment)
    assert after["connections_refused"] - before["connections_refused"] == 3
    assert after["accepted"] - before["accepted"] == LIMIT + 1
    metrics = curl(f"http://{deployment.sketcher.settings['sketcher']['metrics']}/metrics").body
    expected = f'prophecy_connections_refused_total{{worker="0"}} {after["connections_refused"]}'
    assert expected in metrics.decode().splitlines()

    greedy.pop().close()
    wait_until(lambda: worker(deployment)["connections"] < LIMIT, 10, "one of them to be gone")
    with from_other_address() as connection:
        assert connection.get("/").body == PAGE
    for connection in greedy:
        connection.close()


def test_fast_reads_hold_so_many_connections_to_an_origin_and_no_more():
    """Counted where they arrive; what finds none free waits."""
    lock, open_now, most = threading.Lock(), {}, {}

    class Counting(ScriptedOrigin):
        def _serve(self, connection):
            with lock:
                open_now[self] = open_now.get(self, 0) + 1
                most[self] = max(most.get(self, 0), open_now[self])
            super()._serve(connection)
            with lock:
                open_now[self] -= 1

    def answer(_head):
        time.sleep(0.02)
        return [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\npage\n"]

    changes = {"origins": {"connections_max": 2}, "route": [{"name": "off", "mode": "off", "hedge": False}], **VOTE}
    with Deployment(agents=False, start=False, sketcher_changes=changes) as deployment:
        servers = [Counting(origin.port, answer) for origin in deployment.origins]
        try:
            deployment.sketcher.start()
            load = subprocess.run(["h2load", "--h1", "-n", "600", "-c", "30", deployment.url + "/"],
                                  stdin=subprocess.DEVNULL, capture_output=True, check=True)
            assert b"600 succeeded" in load.stdout, load.stdout
            assert [most[server] for server in servers] == [2] * 4
        finally:
            deployment.sketcher.stop()
            for server in servers:
                server.close()


def test_workers_may_open_as_many_files_as_their_configuration_needs():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with Deployment(content={"/index.html": PAGE}) as deployment:
            [worker] = deployment.sketcher.workers()
            allowed = resource.prlimit(worker, resource.RLIMIT_NOFILE)
            # 10,000 clients, 256 connections to each of four origins, 1024 bodies in files, 256 of
            # its own. Root raises the hard limit, too.
            needed = 10_000 + 4 * 256 + 1024 + 256
            assert allowed[1] >= hard and allowed[0] == min(needed, allowed[1])
            warned = "too-few-descriptors" in deployment.sketcher.child.log()
            assert warned == (allowed[1] < needed)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
@pytest.mark.parametrize("version", ["1.1", "2"])
def test_of_those_who_take_nothing_the_slowest_are_shed(version):
    """When all that is held of answers is too much; long before their time is over."""
    body = random.Random(1).randbytes(6 * MIB)
    changes = {"limits": {"untaken": "16MiB"}, **VOTE}
    with Deployment(content={"/file": body, "/small": b"small"}, agents=False,
                    sketcher_changes=changes) as deployment:
        assert curl(deployment.url + "/file").body == body
        wait_until(lambda: worker(deployment)["untaken_bytes"] == 0, 10, "nothing to be untaken")
        clients = []
        try:
            for _ in range(16):
                if version == "2":
                    clients.append(Http2Client(deployment.sketcher.port))
                    clients[-1].request("/file")
                else:
                    clients.append(RawConnection(deployment.sketcher.port))
                    clients[-1].send(b"GET /file HTTP/1.1\r\nHost: localhost\r\n\r\n")
            wait_until(lambda: worker(deployment)["shed"] >= 4, 20, "some to be shed")
            wait_until(lambda: worker(deployment)["untaken_bytes"] <= 16 * MIB, 5, "the rest to fit")
            assert worker(deployment)["shed"] < 16
            assert curl(deployment.url + "/small").body == b"small"
        finally:
            for client in clients:
                client.close()
        wait_until(lambda: worker(deployment)["untaken_bytes"] == 0, 10, "nothing to be untaken")


PLACES = 16


def taken_places(deployment, kind):
    """Connections that take all places, and ask for nothing."""
    for _ in range(PLACES):
        if kind == "http2":
            client = Http2Client(deployment.sketcher.port)
            assert client.answers([client.request("/")])
        else:
            client = RawConnection(deployment.sketcher.port)
            if kind == "served":
                assert client.get("/").body == PAGE
        yield client


@pytest.mark.parametrize("kind", ["served", "silent", "http2"])
def test_idle_clients_give_their_places_up(kind):
    changes = {"limits": {"connections_max": PLACES}, **VOTE}
    with Deployment(content={"/index.html": PAGE}, agents=False,
                    sketcher_changes=changes) as deployment:
        idle = []
        try:
            for client in taken_places(deployment, kind):
                idle.append(client)
            if kind == "silent":
                time.sleep(1.5)  # each has a second to begin
            for _ in range(2 * PLACES):
                idle.append(RawConnection(deployment.sketcher.port))
                begin = time.monotonic()
                assert idle[-1].get("/").body == PAGE
                assert time.monotonic() - begin < 4
            assert worker(deployment)["connections"] <= PLACES
            assert worker(deployment)["shed_connections"] > 0
        finally:
            for client in idle:
                client.close()


def test_a_connection_that_has_lost_its_session_counts_as_idle_since_its_last_answer():
    """It loses it after a second, and is older all the same than one that was answered in between."""
    changes = {"limits": {"connections_max": PLACES}, **VOTE}
    with Deployment(content={"/index.html": PAGE}, agents=False, sketcher_changes=changes) as deployment, \
            contextlib.ExitStack() as stack:
        resting = stack.enter_context(RawConnection(deployment.sketcher.port))
        assert resting.get("/").body == PAGE
        time.sleep(0.6)
        younger = Http2Client(deployment.sketcher.port, NO_TABLE)
        stack.callback(younger.close)
        assert younger.answers([younger.request("/")])
        time.sleep(1)
        for _ in range(PLACES):
            stack.enter_context(RawConnection(deployment.sketcher.port))
            if worker(deployment)["shed_connections"] > 0:
                break
        assert worker(deployment)["shed_connections"] == 1
        assert resting.ended()
        assert younger.answers([younger.request("/")])


def test_a_client_with_a_request_under_way_keeps_its_place():
    """All of them have one: others wait, and find a place as soon as one is idle."""
    may_answer = threading.Event()

    def answer(head):
        if b" /slow" in head:
            may_answer.wait()
        return [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\npage\n"]

    changes = {"limits": {"connections_max": PLACES}, "route": [{"name": "off", "mode": "off"}], **VOTE}
    with Deployment(agents=False, start=False, sketcher_changes=changes) as deployment:
        servers = [ScriptedOrigin(origin.port, answer) for origin in deployment.origins]
        try:
            deployment.sketcher.start()
            with contextlib.ExitStack() as stack:
                busy = [stack.enter_context(RawConnection(deployment.sketcher.port))
                        for _ in range(PLACES)]
                for client in busy:
                    client.send(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
                wait_until(lambda: worker(deployment)["connections"] == PLACES, 5, "all places to be taken")
                late = stack.enter_context(RawConnection(deployment.sketcher.port))
                late.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                time.sleep(1.5)
                told = worker(deployment)
                assert (told["connections"], told["shed_connections"]) == (PLACES, 0)
                may_answer.set()
                assert late.answer().body == PAGE
                for client in busy:
                    assert client.answer().body == PAGE
        finally:
            may_answer.set()
            deployment.sketcher.stop()
            for server in servers:
                server.close()


def memory_of(deployment):
    """What the worker has in memory now, in bytes."""
    [process_id] = deployment.sketcher.workers()
    with open(f"/proc/{process_id}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


SLOW_PART = b"x" * (10 * FRAME_BYTES_MAX)


def begin_posts(port, version, count):
    """Connections with so many requests in all, of each of which SLOW_PART has come."""
    if version == "1.1":
        for _ in range(count):
            connection = RawConnection(port)
            yield connection
            connection.send(b"POST / HTTP/1.1\r\nHost: localhost\r\n"
                            b"Content-Length: 200000\r\n\r\n" + SLOW_PART)
        return
    for _ in range(count // 25):
        connection = Http2Client(port)
        connection.send(frame(SETTINGS, ACK, 0))  # of the larger windows
        yield connection
        for _ in range(25):
            stream = connection.request("/", end=False, method="POST")
            for begin in range(0, len(SLOW_PART), FRAME_BYTES_MAX):
                connection.send(frame(DATA, 0, stream, SLOW_PART[begin:begin + FRAME_BYTES_MAX]))


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
@pytest.mark.parametrize("version", ["1.1", "2"])
def test_requests_that_do_not_become_whole_hold_so_much_memory_and_no_more(version):
    """400 that would hold 63 MiB; those give way who stand still, not who sends."""
    limit = 16 * MIB
    changes = {"limits": {"arriving": f"{limit}B"}, "group": VOTE["group"] | {"writes": "all"}}
    with Deployment(content={"/index.html": PAGE}, agents=False,
                    sketcher_changes=changes) as deployment:
        assert curl(deployment.url + "/").body == PAGE
        before = memory_of(deployment)
        slow = []
        try:
            with RawConnection(deployment.sketcher.port) as honest:
                body = bytes(200 << 10)
                honest.send(b"PUT /honest HTTP/1.1\r\nHost: localhost\r\n"
                            b"Content-Length: %d\r\n\r\n" % len(body))
                sent = 0
                for connection in begin_posts(deployment.sketcher.port, version, 400):
                    slow.append(connection)
                    if version == "2" or len(slow) % 25 == 0:
                        honest.send(body[sent:sent + 8192])
                        sent += 8192
                        time.sleep(0.1)
                wait_until(lambda: worker(deployment)["shed_requests"] >= 250, 20,
                           "most to be shed")
                wait_until(lambda: worker(deployment)["arriving_bytes"] <= limit, 5,
                           "the rest to fit")
                grown = memory_of(deployment) - before
                assert grown < 2 * limit, grown
                honest.send(body[sent:])
                assert honest.answer().status == 201
            assert deployment.sketcher.status()["refusals"]["request-timeout"] >= 250
            assert curl(deployment.url + "/").body == PAGE
            if version == "1.1":
                assert b" 408 " in slow[0].rest().split(b"\r\n")[0]
        finally:
            for connection in slow:
                connection.close()
        wait_until(lambda: worker(deployment)["arriving_bytes"] == 0, 10, "nothing to be held")


def test_requests_whose_answers_are_awaited_hold_so_much_and_then_wait():
    """500 of 28 KB on five connections, for what no origin answers; who has none of them is served."""
    may_answer = threading.Event()

    def answer(head):
        if b" /slow" in head:
            may_answer.wait()
        return [b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\npage\n"]

    fields = [(f"x-{number}", 7000 * "x") for number in range(4)]
    changes = {"limits": {"arriving": "10MiB"}, "route": [{"name": "off", "mode": "off"}], **VOTE}
    with Deployment(agents=False, start=False, sketcher_changes=changes) as deployment:
        servers = [ScriptedOrigin(origin.port, answer) for origin in deployment.origins]
        try:
            deployment.sketcher.start()
            with contextlib.ExitStack() as stack:
                clients = [stack.enter_context(Http2Client(deployment.sketcher.port, NO_TABLE))
                           for _ in range(5)]
                asked = [[client.request("/slow", more=fields) for _ in range(100)]
                         for client in clients]
                wait_until(lambda: worker(deployment)["asking_bytes"] > 10 * MIB, 20, "the bound")
                other = stack.enter_context(Http2Client(deployment.sketcher.port))
                assert other.body(other.request("/")) == PAGE
                assert worker(deployment)["asking_bytes"] < 11 * MIB
                may_answer.set()
                for client, streams in zip(clients, asked, strict=True):
                    assert all(status for status, _ in client.answers(streams).values())
            wait_until(lambda: worker(deployment)["asking_bytes"] == 0, 10, "nothing to be held")
        finally:
            may_answer.set()
            deployment.sketcher.stop()
            for server in servers:
                server.close()


SHUT = struct.pack(">HI", 4, 0)  # SETTINGS: streams' windows are


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
def test_of_a_request_over_http2_nothing_is_left_once_it_is_answered():
    """2000 of 28 KB, whose answers wait for windows that do not open."""
    fields = [(f"x-{number}", 7000 * "x") for number in range(4)]
    with Deployment(content={"/index.html": PAGE}, agents=False,
                    sketcher_changes=VOTE) as deployment:
        assert curl(deployment.url + "/").body == PAGE
        before = memory_of(deployment)
        clients = []
        try:
            for _ in range(20):
                clients.append(Http2Client(deployment.sketcher.port, SHUT))
                for _ in range(100):
                    clients[-1].request("/", more=fields)
                for _ in range(100):
                    assert clients[-1].wait_for(HEADERS)
            grown = memory_of(deployment) - before
            assert grown < 32 * MIB, grown
        finally:
            for client in clients:
                client.close()


def while_it_lingers(deployment, end_connection):
    """What the worker tells while a connection that it has ended is still open."""
    for _ in range(20):
        wait_until(lambda: worker(deployment)["connections"] == 0, 10, "no connection")
        connection = end_connection(deployment)
        try:
            told = worker(deployment)
        finally:
            connection.close()
        if told["connections"] == 1:
            return told
    pytest.fail("it is never seen")


def end_http1(deployment):
    connection = RawConnection(deployment.sketcher.port)
    connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nno request\r\n" + 40_000 * b"x")
    assert connection.answer().status == 200
    assert connection.answer().status == 501
    assert connection.ended()
    return connection


def end_http2(deployment):
    """Of two requests, one does not become whole, and the other's answer is not taken."""
    before = ended_by_violation(deployment)
    client = Http2Client(deployment.sketcher.port, SHUT)
    client.request("/", end=False, method="PUT")
    client.send(frame(DATA, 0, 1, FRAME_BYTES_MAX * b"x"))
    assert client.wait_for(HEADERS, client.request("/"))
    assert worker(deployment)["arriving_bytes"] > FRAME_BYTES_MAX
    assert worker(deployment)["untaken_bytes"] > 0
    client.send(frame(DATA, 0, 0, b"not of a stream"))
    wait_until(lambda: ended_by_violation(deployment) > before, 10, "the end")
    return client


def ended_by_violation(deployment):
    return deployment.sketcher.status()["transport"]["http2"]["ends"]["violation"]


@pytest.mark.parametrize("end_connection", [end_http1, end_http2])
def test_a_connection_that_lingers_holds_nothing(end_connection):
    group = VOTE["group"] | {"writes": "all"}
    with Deployment(content={"/index.html": PAGE}, agents=False,
                    sketcher_changes={"group": group}) as deployment:
        assert curl(deployment.url + "/").body == PAGE
        told = while_it_lingers(deployment, end_connection)
        assert (told["arriving_bytes"], told["untaken_bytes"]) == (0, 0)


def test_pipelined_requests_that_wait_have_no_right_to_the_last_of_the_room():
    """Then the connection ends behind the answer, and the client may ask again."""
    changes = {"limits": {"arriving": "1MiB"}, **VOTE}
    with Deployment(content={"/index.html": PAGE}, agents=False,
                    sketcher_changes=changes) as deployment:
        request = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        heads = []
        try:
            # 24 heads of 30 KB each that are never finished: more than half, and less than all.
            for _ in range(24):
                heads.append(RawConnection(deployment.sketcher.port))
                heads[-1].send(request[:-2] + b"X: " + b"x" * 30_000)
            wait_until(lambda: worker(deployment)["arriving_bytes"] > MIB // 2, 5, "the heads")
            with RawConnection(deployment.sketcher.port) as connection:
                connection.send(request + request)
                assert connection.answer().body == PAGE
                assert connection.ended()
            assert deployment.sketcher.status()["refusals"]["too-much-arriving"] == 1
        finally:
            for connection in heads:
                connection.close()
        wait_until(lambda: worker(deployment)["arriving_bytes"] == 0, 5, "the heads to be gone")
        with RawConnection(deployment.sketcher.port) as connection:
            connection.send(request + request)
            assert connection.answer().body == connection.answer().body == PAGE
