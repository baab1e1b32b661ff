"""TLS towards origins: they have to be who the configuration says. In front of each Apache stands a
small end of TLS."""

import select
import socket
import ssl
import threading

import pytest

from harness import Deployment
from harness.certificates import Authority
from harness.http_client import curl
from harness.ports import PortReservation

PAGE = b"<p>A page from behind TLS.</p>\n"


class TlsEnd:
    """Takes TLS connections and hands what is inside to a plain port."""

    def __init__(self, port, target_port, certificate, client_ca=None):
        self._target_port = target_port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate["chain"], certificate["key"])
        if client_ca:
            self._context.verify_mode = ssl.CERT_REQUIRED
            self._context.load_verify_locations(client_ca)
        self.names = []  # what clients said by SNI
        self.resumed = 0
        self._context.sni_callback = lambda _socket, name, _context: self.names.append(name)
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen(64)
        self._running = True
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while self._running:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, raw):
        try:
            raw.settimeout(60)
            with self._context.wrap_socket(raw, server_side=True) as client, \
                    socket.create_connection(("127.0.0.1", self._target_port)) as origin:
                self.resumed += client.session_reused
                while self._running:
                    readable = [client] if client.pending() else \
                        select.select([client, origin], [], [], 1)[0]
                    for source, sink in ((client, origin), (origin, client)):
                        if source not in readable:
                            continue
                        data = source.recv(16384)
                        if not data:
                            return
                        sink.sendall(data)
        except OSError:
            pass

    def close(self):
        self._running = False
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


class World:
    """Four Apaches behind TLS. `certificates` are those of origins other than the default."""

    def __init__(self, authority, certificates=None, client_ca=None, **tls):
        good = authority.issue("origin", ["origin.example"])
        self.ports = PortReservation(4)
        self.deployment = Deployment(content={"/static/page": PAGE}, start=False)
        self.ends = []
        origins = self.deployment.sketcher.settings["group"][0]["origin"]
        for number, (port, origin) in enumerate(zip(self.ports.ports, self.deployment.origins)):
            certificate = (certificates or {}).get(number, good)
            self.ends.append(TlsEnd(port, origin.port, certificate, client_ca))
            origins[number] = {"replica": number, "address": f"127.0.0.1:{port}",
                               "tls": {"ca": str(authority.certificate),
                                       "server_name": "origin.example", **tls}}
        self.deployment.sketcher.write_configuration()

    def __enter__(self):
        self.deployment.start()
        return self

    def read_often(self, count=30):
        for number in range(count):
            answer = curl(f"{self.deployment.url}/static/page?{number % 3}")
            assert (answer.status, answer.body) == (200, PAGE)

    def ends_of_reads(self, replica):
        status = self.deployment.sketcher.status()
        [origin] = [each for each in status["origins"] if each["replica"] == replica]
        return origin

    def __exit__(self, *arguments):
        try:
            self.deployment.__exit__(*arguments)
        finally:
            for end in self.ends:
                end.close()
            self.ports.close()


@pytest.fixture(scope="module", name="authority")
def _authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


def test_fast_reads_through_tls(authority):
    with World(authority) as world:
        world.read_often()
        assert world.deployment.sketcher.counters()["fast"] >= 25
        assert {name for end in world.ends for name in end.names} == {"origin.example"}


def test_a_stranger_in_an_origins_place_is_asked_nothing(authority, tmp_path):
    impostor = Authority(tmp_path / "other", "other").issue("origin", ["origin.example"])
    elsewhere = authority.issue("elsewhere", ["elsewhere.example"])
    # The common name of a subject is free text, and no name of a host.
    nameless = authority.issue("origin.example", purpose="serverAuth")
    with World(authority, certificates={1: impostor, 2: elsewhere, 3: nameless}) as world:
        world.read_often(60)
        for replica, failure in ((1, "untrusted-certificate"), (2, "wrong-name"), (3, "wrong-name")):
            origin = world.ends_of_reads(replica)
            assert origin["fast_answers"] == 0
            assert origin["fast_failures"][failure] > 0
        assert world.ends_of_reads(0)["fast_answers"] > 0


def test_our_own_certificate_is_shown(authority, tmp_path):
    clients = Authority(tmp_path / "clients", "client-ca")
    own = clients.issue("sketcher")
    with World(authority, client_ca=str(clients.certificate), certificate=own["chain"],
               key=own["key"]) as world:
        world.read_often()
        assert world.deployment.sketcher.counters()["fast"] >= 25
    with World(authority, client_ca=str(clients.certificate)) as world:
        world.read_often(5)
        assert world.deployment.sketcher.counters()["fast"] == 0
