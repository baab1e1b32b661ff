"""Where a request comes from: what load balancers in front tell, what origins are told of it, and
requests that run in circles."""

import socket
import subprocess

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl
from harness.processes import wait_until
from harness.recording_origin import RecordingOrigin

PAGE = b"page"
VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
V2_LOCAL = b"\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"
V2_PROXY = (b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c"
            + bytes([192, 0, 2, 9, 10, 0, 0, 1, 0xc3, 0x50, 0, 80]))


class World:
    """A sketcher with these settings in front of origins that keep what they are sent. Each read
    goes to one origin: the group is told nothing of a client."""

    def __init__(self, **changes):
        self.deployment = Deployment(agents=False, start=False, sketcher_changes={
            "group": VOTE, "route": {"mode": "off"}, **changes})

    def __enter__(self):
        self.deployment.__enter__()
        self.origins = [RecordingOrigin(origin.port, self._answer)
                        for origin in self.deployment.origins]
        self.sketcher = self.deployment.sketcher
        self.sketcher.start()
        return self

    @staticmethod
    def _answer(_request):
        return b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n" + PAGE, False

    def __exit__(self, *error):
        for origin in self.origins:
            origin.close()
        self.deployment.__exit__(*error)

    def told(self, path, lines=b"", preface=b"", source="127.0.0.1"):
        """The fields that an origin gets with a request of its own path."""
        with RawConnection(self.sketcher.port, source=source) as client:
            client.send(preface + b"GET %b HTTP/1.1\r\nHost: Site:81\r\n%b\r\n"
                        % (path.encode(), lines))
            assert client.answer().body == PAGE
        return self.fields_of(path)

    def fields_of(self, path):
        pieces = [piece for origin in self.origins for piece in origin.received
                  if piece.startswith(b"GET %b " % path.encode())]
        head = pieces[0].decode("latin-1").split("\r\n\r\n")[0]
        return dict(line.split(": ", 1) for line in head.split("\r\n")[1:])


def test_a_client_cannot_say_where_it_comes_from():
    with World() as world:
        fields = world.told("/a", b"X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Host: evil\r\n"
                                  b"X-Forwarded-Proto: https\r\nX-Forwarded-Port: 6\r\n"
                                  b"Forwarded: for=6.6.6.6\r\nVia: 1.0 evil\r\n")
        assert {name: value for name, value in fields.items()
                if name.startswith("x-") or name in ("via", "forwarded")} == {
            "via": "1.1 prophecy", "x-forwarded-for": "127.0.0.1", "x-forwarded-host": "site:81",
            "x-forwarded-port": "81", "x-forwarded-proto": "http"}


def test_a_trusted_peer_can():
    with World(listener={"trusted_peers": ["127.0.0.1", "10.0.0.0/8"]}) as world:
        chain = b"X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.0.0.3\r\n"
        assert (world.told("/trusted", chain)["x-forwarded-for"]
                == "6.6.6.6, 192.0.2.1, 10.0.0.3, 127.0.0.1")
        # Not its neighbour, whatever it has heard.
        assert (world.told("/other", chain, source="127.0.0.2")["x-forwarded-for"]
                == "127.0.0.2")


def test_forwarded_in_place_of_it():
    with World(listener={"trusted_peers": ["127.0.0.1"]},
               forwarding={"style": "forwarded", "pseudonym": "edge"}) as world:
        own = 'for=127.0.0.1;host="site:81";proto=http'
        fields = world.told("/a", b'Forwarded: for="[2001:db8::1]:4711"\r\n'
                                  b"X-Forwarded-For: 6.6.6.6\r\n")
        assert fields["forwarded"] == 'for="[2001:db8::1]:4711", ' + own
        assert fields["via"] == "1.1 edge"
        assert not any(name.startswith("x-forwarded") for name in fields)
        # An open quotation mark would swallow what we add.
        assert world.told("/b", b'Forwarded: for="6.6.6.6\r\n')["forwarded"] == own
        assert curl(world.deployment.url + "/a", "-H", "Host: site:81").field("via") == "1.1 edge"


def test_a_request_that_comes_back_is_refused():
    with World(forwarding={"pseudonym": "edge"}) as world:
        for number, options in enumerate(([], ["-X", "DELETE"])):
            answer = curl(f"{world.deployment.url}/{number}", "-H", "Via: 1.0 x, 1.1 edge", *options)
            assert (answer.status, answer.field("prophecy-reason")) == (
                508, "the request has passed here before")
        assert not any(origin.received for origin in world.origins)
        assert curl(world.deployment.url + "/", "-H", "Via: 1.1 prophecy").status == 200


@pytest.fixture(scope="module", name="behind")
def _behind():
    """Behind load balancers that say by a PROXY header whose connection it is."""
    with World(listener={"trusted_peers": ["127.0.0.1"], "proxy_protocol": "required"},
               limits={"connections_per_address_max": 2}, timeouts={"header": "500ms"}) as world:
        yield world


@pytest.mark.parametrize("name, header, address", [
    ("v1", b"PROXY TCP4 192.0.2.1 10.0.0.1 50000 80\r\n", "192.0.2.1"),
    ("v1-v6", b"PROXY TCP6 2001:db8::1 ::1 50000 80\r\n", "2001:db8::1"),
    ("v1-mapped", b"PROXY TCP6 ::ffff:192.0.2.3 ::1 50000 80\r\n", "192.0.2.3"),
    ("v1-unknown", b"PROXY UNKNOWN\r\n", "127.0.0.1"),
    ("v2", V2_PROXY, "192.0.2.9"),
    ("v2-local", V2_LOCAL, "127.0.0.1"),
])
def test_a_proxy_header_names_the_client(behind, name, header, address):
    assert behind.told("/" + name, preface=header)["x-forwarded-for"] == address


def test_a_network_of_ipv6_is_one_client(behind):
    """Of two connections, as an address of IPv4 may have."""
    def announce(address):
        client = RawConnection(behind.sketcher.port)
        client.send(b"PROXY TCP6 %b ::1 50000 80\r\n" % address +
                    b"GET /network HTTP/1.1\r\nHost: a\r\n\r\n")
        return client

    with announce(b"2001:db8:0:1::1") as first, announce(b"2001:db8:0:1:ffff::2") as second:
        assert first.answer().body == second.answer().body == PAGE
        with announce(b"2001:db8:0:1:8000::3") as third, announce(b"2001:db8:0:2::1") as other:
            assert third.ended()
            assert other.answer().body == PAGE


@pytest.mark.parametrize("announced, told", [
    (b"192.0.2.1", "192.0.2.1"),  # a client: what it says of others is hearsay
    (b"10.0.0.3", "203.0.113.9, 10.0.0.3"),  # a proxy in front of the load balancer
])
def test_what_an_announced_address_says_of_others(announced, told):
    with World(listener={"trusted_peers": ["127.0.0.1", "10.0.0.0/8"],
                         "proxy_protocol": "required"}) as world:
        chain = b"X-Forwarded-For: 203.0.113.9\r\n"
        header = b"PROXY TCP4 %b 10.0.0.1 50000 80\r\n" % announced
        assert world.told("/", chain, preface=header)["x-forwarded-for"] == told
        # Nobody else can announce a proxy's address.
        with RawConnection(world.sketcher.port, source="127.0.0.2") as stranger:
            stranger.send(b"PROXY TCP4 10.0.0.3 10.0.0.1 50000 80\r\n"
                          b"GET /stranger HTTP/1.1\r\nHost: a\r\n" + chain + b"\r\n")
            assert stranger.ended()


def test_a_proxy_header_in_pieces(behind):
    with RawConnection(behind.sketcher.port) as client:
        for byte in V2_PROXY + b"GET /pieces HTTP/1.1\r\nHost: a\r\n\r\n":
            client.send(bytes([byte]))
        assert client.answer().body == PAGE
    assert behind.fields_of("/pieces")["x-forwarded-for"] == "192.0.2.9"


@pytest.mark.parametrize("option, version", [("--http1.1", "1.1"),
                                             ("--http2-prior-knowledge", "2")])
def test_a_real_client_with_a_proxy_header(behind, option, version):
    path = "/curl" + option
    result = subprocess.run(["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "30",
                             "--haproxy-protocol", option, "--write-out", " %{http_version}",
                             behind.deployment.url + path], stdin=subprocess.DEVNULL,
                            capture_output=True, check=False)
    assert result.stdout == PAGE + b" " + version.encode(), result.stderr
    assert behind.fields_of(path)["x-forwarded-for"] == "127.0.0.1"


def refusals(world):
    return world.sketcher.status()["refusals"]


@pytest.mark.parametrize("start, source, reason", [
    (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "127.0.0.1", "no PROXY header"),
    (b"PROXY TCP4 1.2.3.4 5.6.7.8 1\r\n", "127.0.0.1",
     "PROXY line with an invalid address or port"),
    (V2_LOCAL.replace(b"\x20", b"\x3f"), "127.0.0.1", "PROXY header of an unknown version"),
    (b"PROXY UNKNOWN\r\n", "127.0.0.2", "PROXY header from a peer that is not trusted"),
])
def test_connections_without_a_right_header_are_closed(behind, start, source, reason):
    before = refusals(behind).get(reason, 0)
    with RawConnection(behind.sketcher.port, source=source) as client:
        client.send(start)
        assert client.ended()
    wait_until(lambda: refusals(behind).get(reason, 0) == before + 1, 5, "it to be counted")


def test_a_header_that_does_not_come(behind):
    with RawConnection(behind.sketcher.port) as client:
        client.send(b"PROXY TCP4 1.")
        assert client.ended()


def test_the_limit_for_an_address_is_the_announced_ones(behind):
    header = b"PROXY TCP4 192.0.2.77 10.0.0.1 50000 80\r\n"
    held = [RawConnection(behind.sketcher.port) for _ in range(2)]
    try:
        for client in held:
            client.send(header)
            assert client.get("/limit").body == PAGE
        with RawConnection(behind.sketcher.port) as beyond:
            beyond.send(header)
            assert beyond.ended()
        # All come from one load balancer; another client has room.
        assert behind.told("/another", preface=V2_PROXY)["x-forwarded-for"] == "192.0.2.9"
    finally:
        for client in held:
            client.close()


REMOTE_IP = "LoadModule remoteip_module {modules}/mod_remoteip.so\nRemoteIPProxyProtocol On\n"


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_origins_that_require_a_proxy_header(version):
    """Apaches with mod_remoteip, which refuse a connection without one: from agents and from the
    sketcher."""
    modules = "/usr/lib/apache2/modules"
    additions = {number: REMOTE_IP.format(modules=modules) for number in range(4)}
    with Deployment(content={"/index.html": PAGE}, apache_additions=additions,
                    agent_changes={"service": {"send_proxy": version}},
                    sketcher_changes={"group": {"send_proxy": version}}) as deployment:
        for _ in range(20):
            assert curl(deployment.url + "/").body == PAGE
        assert curl(deployment.url + "/new", "-X", "PUT", "--data-binary", "x").status == 201
        counters = deployment.sketcher.counters()
        assert counters["fast"] >= 15
        assert counters["failed"] == 0
        with socket.create_connection(("127.0.0.1", deployment.origins[0].port)) as direct:
            direct.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert PAGE not in direct.recv(65536)
