"""Tunnels: an upgraded connection on a route that is declared for them."""

import asyncio
import ssl
import threading
from contextlib import closing

import pytest
import websockets

from harness import Deployment
from harness.certificates import Authority
from harness.http_client import RawConnection, curl
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.replicas import ctl
from harness.scripted_origin import ScriptedOrigin

VOTE = {"group": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}}
ROUTES = {"route": [{"name": "socket", "path_prefix": "/socket", "mode": "tunnel",
                     "upgrades": ["websocket", "echo"]},
                    {"name": "rest"}]}
UPGRADE = (b"GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"
           b"Cookie: a=b\r\nX-Own: yes\r\n\r\n")
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"


class WebSocketOrigins:
    """A WebSocket server (the library's) at each of the ports: it repeats what it gets."""

    def __init__(self, ports):
        self._ports = ports
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(10)

    def _run(self):
        self._loop.run_until_complete(self._serve())
        self._started.set()
        self._loop.run_forever()

    async def _serve(self):
        async def repeat(socket):
            async for message in socket:
                await socket.send(message)
        self._servers = [await websockets.serve(repeat, "127.0.0.1", port, max_size=None)
                         for port in self._ports]

    def close(self):
        async def stop():
            for server in self._servers:
                server.close()
                await server.wait_closed()
        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture(name="sockets", params=[0, 1], ids=["all-up", "one-down"])
def _sockets(request):
    """A sketcher in front of WebSocket servers, of which so many are down."""
    with Deployment(agents=False, start=False, sketcher_changes={**VOTE, **ROUTES}) as deployment:
        servers = WebSocketOrigins([origin.port for origin in deployment.origins][request.param:])
        try:
            deployment.sketcher.start()
            yield deployment
        finally:
            deployment.sketcher.stop()
            servers.close()


def repeats(url, messages, compression=None, **options):
    """What a WebSocket client is sent back."""
    async def talk():
        async with websockets.connect(url, max_size=None, compression=compression,
                                      **options) as socket:
            answers = []
            for message in messages:
                await socket.send(message)
                answers.append(await socket.recv())
            return answers
    return asyncio.run(talk())


def test_websockets(sockets):
    for _ in range(12):  # some of the draws hit an origin that is down
        assert repeats(f"ws://127.0.0.1:{sockets.sketcher.port}/socket", ["a"]) == ["a"]
    messages = ["a", "b" * 70_000, b"\0" * (4 << 20)]
    url = f"ws://127.0.0.1:{sockets.sketcher.port}"
    assert repeats(f"{url}/socket", messages) == messages
    wait_until(lambda: not sum(worker["tunnels"] for worker in sockets.sketcher.status()["workers"]),
               5, "the tunnel's end")
    counters = sockets.sketcher.counters()
    assert (counters["tunnels"], counters["failed"]) == (13, 0)
    assert counters["tunnel_bytes_in"] > 4 << 20 and counters["tunnel_bytes_out"] > 4 << 20
    assert "tunnel-closed" in sockets.sketcher.child.log()
    # On another route the client's wish is not passed on.
    with pytest.raises(websockets.InvalidStatusCode):
        repeats(f"{url}/other", ["a"])
    ctl("route", "--admin", sockets.sketcher.admin, "socket", "enforce")
    with pytest.raises(websockets.InvalidStatusCode):
        repeats(f"{url}/socket", ["a"])
    # The kill switch is about verification, and there is none here.
    ctl("route", "--admin", sockets.sketcher.admin, "socket", "tunnel")
    ctl("bypass", "--admin", sockets.sketcher.admin, "on")
    assert repeats(f"{url}/socket", ["a"]) == ["a"]


def test_websockets_through_tls(tmp_path):
    """The tunnel is inside the listener's TLS, and plain towards the origins."""
    authority = Authority(tmp_path)
    certificates = [authority.issue("localhost", ["localhost"])]
    with closing(PortReservation(1)) as ports, \
            Deployment(agents=False, start=False, sketcher_changes={**VOTE, **ROUTES}) as deployment:
        deployment.sketcher.settings["listener"].append({
            "address": f"127.0.0.1:{ports.ports[0]}", "tls": {"certificates": certificates}})
        deployment.sketcher.write_configuration()
        with closing(WebSocketOrigins([origin.port for origin in deployment.origins])):
            deployment.sketcher.start()
            context = ssl.create_default_context(cafile=authority.certificate)
            messages = ["a", "b" * 70_000, b"\0" * (4 << 20)]
            for compression in (None, "deflate", None):
                assert repeats(f"wss://localhost:{ports.ports[0]}/socket", messages, compression,
                               ssl=context) == messages
            wait_until(lambda: not deployment.sketcher.status()["workers"][0]["tunnels"], 5,
                       "the tunnels' end")
            status = deployment.sketcher.status()
            deployment.sketcher.stop()
    assert (status["requests"]["tunnels"], status["requests"]["failed"]) == (3, 0)
    assert status["transport"]["tls"]["handshakes"] == 3
    assert status["requests"]["tunnel_bytes_out"] > 2 * sum(map(len, messages))


def test_tunnels_to_one_origin_are_bounded():
    """Two each; the ninth finds no origin, and an end makes room. No origin sees more."""
    lock, sockets = threading.Lock(), {}

    class Counting(ScriptedOrigin):
        def _serve(self, connection):
            with lock:
                sockets[self] = sockets.get(self, 0) + 1
            super()._serve(connection)

    changes = {**VOTE, **ROUTES, "origins": {"tunnels_max": 2}}
    with Deployment(agents=False, start=False, sketcher_changes=changes) as deployment:
        servers = [Counting(origin.port, lambda head: [SWITCH]) for origin in deployment.origins]
        clients = []

        def ask():
            client = RawConnection(deployment.sketcher.port)
            clients.append(client)
            client.send(UPGRADE)
            return client.answer()

        try:
            deployment.sketcher.start()
            assert [ask().status for _ in range(8)] == [101] * 8
            assert [sockets[server] for server in servers] == [2] * 4
            answer = ask()
            assert (answer.status, answer.field("prophecy-reason")) == (503, "too-many-tunnels")
            assert deployment.sketcher.status()["refusals"] == {"too-many-tunnels": 1}
            assert sum(sockets.values()) == 8
            clients[0].close()
            wait_until(lambda: deployment.sketcher.status()["workers"][0]["tunnels"] == 7, 10,
                       "the end of one")
            assert ask().status == 101
        finally:
            for client in clients:
                client.close()
            deployment.sketcher.stop()
            for server in servers:
                server.close()


def scripted(answer, **settings):
    """A sketcher in front of origins that answer requests to upgrade so."""
    deployment = Deployment(agents=False, start=False, sketcher_changes={
        **VOTE, **ROUTES, "timeouts": {"answer": "1s", "tunnel": "1s"}, **settings})
    deployment.servers = [ScriptedOrigin(origin.port, answer) for origin in deployment.origins]
    return deployment


def test_refusals_say_via_whom_they_came():
    def refuse(_):
        yield b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 3\r\n\r\nno\n"

    answer, _, _ = ask_scripted(refuse, forwarding={"pseudonym": "edge"})
    assert answer.field("via") == "1.1 edge"


def ask_scripted(answer, request=UPGRADE, **settings):
    """The sketcher's answer to the client, and what came behind it."""
    with scripted(answer, **settings) as deployment:
        try:
            deployment.sketcher.start()
            client = RawConnection(deployment.sketcher.port)
            client.send(request)
            answer = client.answer(to_head=True)
            rest = client.rest()
            failures = sum(sum(origin["fast_failures"].values())
                           for origin in deployment.sketcher.status()["origins"])
            return answer, rest, {**deployment.sketcher.counters(), "origin_failures": failures}
        finally:
            deployment.sketcher.stop()
            for server in deployment.servers:
                server.close()


def test_what_an_origin_gets_and_what_a_client_gets():
    asked = []

    def switch(head):
        asked.append(head)
        yield (b"HTTP/1.1 101 Sure\r\nConnection: upgrade\r\nUpgrade: Echo\r\nServer: secret\r\n"
               b"X-Theirs: yes\r\nContent-Length: 5\r\n\r\nhello")
        raise OSError  # ends the connection

    answer, rest, counters = ask_scripted(switch)
    assert (answer.status, answer.reason) == (101, "Switching Protocols")
    assert sorted(answer.fields) == [("connection", "upgrade"), ("upgrade", "Echo"),
                                     ("x-theirs", "yes")]
    assert rest == b"hello"
    [request] = asked
    fields = request.lower()
    assert b"x-own: yes" in fields and b"cookie: a=b" in fields and b"via: " in fields
    assert b"connection: upgrade" in fields and b"upgrade: echo" in fields
    assert (counters["tunnels"], counters["failed"]) == (1, 0)


@pytest.mark.parametrize("reply, status", [
    (b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 3\r\n\r\nno\n", 426),
    (b"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n", 502),
    (b"HTTP/1.1 101 OK\r\n\r\n", 502),
    (b"SSH-2.0-x\r\n", 502),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", 502),
    (b"", 502),
], ids=["refused", "another-protocol", "no-protocol", "no-http", "cut-short", "closed"])
def test_origins_that_do_not_switch(reply, status):
    def refuse(_):
        yield reply
        raise OSError

    answer, _, counters = ask_scripted(refuse)
    assert answer.status == status
    assert counters["tunnels"] == 0
    assert counters["failed"] == (0 if status == 426 else 1)
    assert counters["origin_failures"] == counters["failed"]


def test_origins_that_say_nothing():
    release = threading.Event()

    def hang(_):
        release.wait(10)
        yield b""

    try:
        answer, _, _ = ask_scripted(hang)
        assert answer.status == 504
    finally:
        release.set()


def test_a_tunnel_without_a_byte_is_closed():
    release = threading.Event()

    def switch(_):
        yield b"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
        release.wait(10)

    try:
        answer, rest, counters = ask_scripted(switch)
        assert (answer.status, rest, counters["client_timeouts"]) == (101, b"", 1)
    finally:
        release.set()


def test_ordinary_requests_on_such_a_route():
    with Deployment(content={"/socket/page": b"page\n"},
                    sketcher_changes={**ROUTES}) as deployment:
        for _ in range(3):
            assert curl(deployment.url + "/socket/page").body == b"page\n"
        counters = deployment.sketcher.counters()
        assert (counters["unverified"], counters["replicated"]) == (3, 0)
        # Apache does not know the protocol, and answers as if it had not been asked for it.
        answer = curl(deployment.url + "/socket/page", "-H", "Connection: Upgrade", "-H",
                      "Upgrade: echo")
        assert (answer.status, answer.body) == (200, b"page\n")
        assert answer.field("connection") == "close"


class Http2Origin(ScriptedOrigin):
    """Changes to HTTP/2 without HTTP2-Settings, as a lenient server does; repeats what comes then."""

    def __init__(self, port, asked):
        super().__init__(port, None)
        self._asked = asked

    def _serve(self, connection):
        received = b""
        with connection:
            while data := connection.recv(65536):
                received += data
                if b"\r\n\r\n" not in received:
                    continue
                head, _, received = received.partition(b"\r\n\r\n")
                self._asked.append(head)
                if b"\r\nupgrade: h2c" in head.lower():
                    connection.sendall(b"HTTP/1.1 101 OK\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n")
                    connection.sendall(connection.recv(65536))
                    return
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


@pytest.mark.parametrize("upgrade", ["h2c", "H2C", "h2c, websocket", "unknown, h2c"])
def test_a_tunnel_is_no_way_round_the_routes(upgrade):
    """A client that spoke HTTP/2 to an origin could ask for every path, whatever its route says."""
    asked = []
    route = [{"name": "socket", "path_prefix": "/socket", "mode": "tunnel"}, {"name": "rest"}]
    with Deployment(agents=False, start=False,
                    sketcher_changes={**VOTE, "route": route}) as deployment:
        servers = [Http2Origin(origin.port, asked) for origin in deployment.origins]
        try:
            deployment.sketcher.start()
            client = RawConnection(deployment.sketcher.port)
            client.send(b"GET /socket HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                        b"Upgrade: " + upgrade.encode() + b"\r\nHTTP2-Settings: AAMAAABk\r\n\r\n")
            assert client.answer().status == 200
            client.close()
        finally:
            deployment.sketcher.stop()
            for server in servers:
                server.close()
    [head] = asked
    fields = head.lower()
    assert b"h2c" not in fields and b"http2-settings" not in fields
    assert (b"\r\nupgrade: websocket" in fields) == ("websocket" in upgrade)
