"""TLS for clients: names, protocols, resumption, clients' certificates, stapling, reload. With curl
and openssl s_client."""

import os
import re
import signal
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest

from harness import Deployment
from harness.build import patience
from harness.certificates import Authority
from harness.http_client import RawConnection
from harness.ports import PortReservation
from harness.processes import is_alive, wait_until
from harness.programs import program

PAGE = "<p>A page behind TLS.</p>\n"


class Tls:
    """A deployment whose first listener is plain; the others are described by `listeners`."""

    def __init__(self, folder, listeners, workers=1, routes=None):
        self.ports = PortReservation(len(listeners))
        self.folder = Path(folder)
        tables = [{"address": f"127.0.0.1:{port}", **listener}
                  for port, listener in zip(self.ports.ports, listeners)]
        changes = {"sketcher": {"workers": workers}}
        if routes:
            changes["route"] = routes
        self.deployment = Deployment(content={"/index.html": PAGE, "/secret/index.html": PAGE},
                                     sketcher_changes=changes, start=False)
        self.sketcher = self.deployment.sketcher
        self.sketcher.settings["listener"] += tables
        self.sketcher.write_configuration()

    def __enter__(self):
        self.deployment.start()
        return self

    def __exit__(self, *arguments):
        try:
            self.deployment.__exit__(*arguments)
        finally:
            self.ports.close()

    def curl(self, ca, *arguments, name="www.example.org", port=None, path="/"):
        port = port or self.ports.ports[0]
        return subprocess.run(
            ["curl", "--silent", "--show-error", "--max-time", str(20 * patience()), "--cacert", ca,
             "--resolve", f"{name}:{port}:127.0.0.1", *arguments, f"https://{name}:{port}{path}"],
            capture_output=True, text=True, check=False)

    def s_client(self, *arguments, port=None, stdin=b"", name="www.example.org"):
        port = port or self.ports.ports[0]
        result = subprocess.run(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername", name,
             *map(str, arguments)], input=stdin, capture_output=True, timeout=20 * patience(),
            check=False)
        return result.stdout.decode(errors="replace") + result.stderr.decode(errors="replace")

    def counters(self):
        return self.sketcher.status()["transport"]["tls"]


@pytest.fixture(scope="module", name="authority")
def _authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module", name="tls")
def _tls(authority, tmp_path_factory):
    www = authority.issue("www", ["www.example.org", "example.org"])
    www["ocsp"] = authority.ocsp("www")
    wild = authority.issue("wild", ["*.example.net"])
    rsa = authority.issue("rsa", ["*.example.net"], rsa=True)
    client_ca = Authority(tmp_path_factory.mktemp("clients"), "client-ca")
    listeners = [
        {"tls": {"certificates": [www, wild, rsa], "client_certificates": "optional",
                 "client_ca": str(client_ca.certificate)}},
        {"tls": {"certificates": [www], "version_min": "1.3", "client_certificates": "required",
                 "client_ca": str(client_ca.certificate)}, "protocols": ["http/1.1"]},
    ]
    routes = [{"name": "public"}, {"name": "secret", "path_prefix": "/secret",
                                   "client_certificate": "required"}]
    with Tls(tmp_path_factory.mktemp("tls"), listeners, workers=2, routes=routes) as tls:
        tls.client = client_ca.issue("client")
        tls.stranger = authority.issue("stranger")
        yield tls


def with_certificate(files):
    return ["--cert", files["chain"], "--key", files["key"]]


def subject_of(text):
    return re.search(r"subject=.*CN = (\S+)", text)[1]


def alpn_of(text):
    found = re.search(r"ALPN protocol: (\S+)", text)
    return found[1] if found else None


@pytest.mark.parametrize("version,wanted", [("--http1.1", "1.1"), ("--http2", "2")])
def test_a_page_through_tls(tls, authority, version, wanted):
    result = tls.curl(authority.certificate, version, "--write-out", "%{http_version}")
    assert result.stdout == PAGE + wanted, result.stderr


def test_the_origins_hear_of_https(tls, authority):
    result = tls.curl(authority.certificate, "--include", "--request", "TRACE")
    assert "501" in result.stdout.splitlines()[0]
    # The scheme is keyed: what plain clients have made known is not taken for it.
    before = tls.sketcher.counters()["replicated"]
    tls.curl(authority.certificate, path="/?scheme")
    with RawConnection(tls.sketcher.port) as plain:
        plain.get("/?scheme")
    assert tls.sketcher.counters()["replicated"] == before + 2


@pytest.mark.parametrize("name,options,subject", [
    ("www.example.org", [], "www"), ("EXAMPLE.org", [], "www"), ("a.example.net", [], "wild"),
    ("a.example.net", ["-sigalgs", "RSA-PSS+SHA256"], "rsa"), ("b.a.example.net", [], "www"),
    ("unknown.example", [], "www")])
def test_certificates_are_chosen_by_name(tls, name, options, subject):
    assert subject_of(tls.s_client(*options, name=name)) == subject


@pytest.mark.parametrize("offered,chosen", [("h2,http/1.1", "h2"), ("http/1.1,h2", "h2"),
                                            ("http/1.1", "http/1.1"), ("http/1.0,h2", "h2")])
def test_protocols_are_agreed_upon(tls, offered, chosen):
    assert alpn_of(tls.s_client("-alpn", offered)) == chosen


def test_who_speaks_none_of_our_protocols_is_told(tls):
    assert "no application protocol" in tls.s_client("-alpn", "imap")
    assert alpn_of(tls.s_client("-alpn", "h2", port=tls.ports.ports[1])) is None


@pytest.mark.parametrize("count,is_cut_off", [(10, False), (400, True)])
def test_who_asks_for_new_keys_all_the_time_is_cut_off(tls, count, is_cut_off):
    """A line of s_client that begins with k is a KeyUpdate, which costs us more than its sender."""
    command = ["openssl", "s_client", "-tls1_3", "-connect", f"127.0.0.1:{tls.ports.ports[0]}",
               "-servername", "www.example.org"]
    said = bytearray()

    def listen(output):
        while piece := output.read(1 << 12):
            said.extend(piece)

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, bufsize=0) as client:
        listener = threading.Thread(target=listen, args=[client.stdout])
        listener.start()
        try:
            for number in range(count):
                client.stdin.write(b"k\n")
                # It looks at the first letter of what it reads at a time.
                wait_until(lambda sent=number: said.count(b"KEYUPDATE") > sent
                           or not listener.is_alive(), 10, "new keys")
            client.stdin.write(b"GET / HTTP/1.1\r\nHost: www.example.org\r\n"
                               b"Connection: close\r\n\r\n")
        except BrokenPipeError:
            pass
        listener.join()
    text = said.decode(errors="replace")
    assert ("HTTP/1.1 200" not in text) == is_cut_off
    assert text.count("KEYUPDATE") > (32 if is_cut_off else 1)
    assert "Cipher is TLS_AES" in tls.s_client("-tls1_3")


@pytest.mark.parametrize("options", [["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"],
                                     ["-tls1_2", "-cipher", "AES128-SHA"],
                                     ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"]])
def test_old_versions_and_ciphers_are_refused(tls, options):
    assert "Cipher is (NONE)" in tls.s_client(*options)


def test_a_listener_can_ask_for_tls_1_3(tls):
    port = tls.ports.ports[1]
    client = ["-cert", tls.client["chain"], "-key", tls.client["key"]]
    assert "Cipher is (NONE)" in tls.s_client("-tls1_2", *client, port=port)
    assert "Cipher is TLS_AES" in tls.s_client("-tls1_3", *client, port=port)


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_sessions_are_resumed_by_any_worker_and_after_its_death(tls, tmp_path, version):
    session = tmp_path / "session"
    request = b"GET / HTTP/1.1\r\nhost: www.example.org\r\nconnection: close\r\n\r\n"
    # Without an end of its input the client stays until the ticket of TLS 1.3 has come.
    text = tls.s_client(version, "-ign_eof", "-sess_out", session, stdin=request)
    assert "New, TLS" in text and "A page behind TLS" in text
    for _ in range(6):  # two workers: the kernel draws one
        assert "Reused, TLS" in tls.s_client(version, "-sess_in", session)
    before = tls.sketcher.workers()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, before)) and len(tls.sketcher.workers()) == 2, 20,
               "the workers' replacements")
    assert "Reused, TLS" in tls.s_client(version, "-sess_in", session)


def test_certificates_of_clients(tls, authority):
    optional, required = tls.ports.ports
    ca = authority.certificate
    assert tls.curl(ca, port=optional).stdout == PAGE
    refused = tls.curl(ca, "--include", path="/secret/")
    assert "403" in refused.stdout.splitlines()[0]
    assert "prophecy-reason: client-certificate-required" in refused.stdout
    assert tls.curl(ca, *with_certificate(tls.client), path="/secret/").stdout == PAGE
    failed = tls.counters()["failed"]
    assert tls.curl(ca, *with_certificate(tls.stranger)).returncode != 0
    assert tls.curl(ca, port=required).returncode != 0
    assert tls.curl(ca, *with_certificate(tls.client), port=required).stdout == PAGE
    assert tls.counters()["failed"] >= failed + 2
    with RawConnection(tls.sketcher.port) as plain:
        assert plain.get("/secret/").status == 403


@pytest.mark.parametrize("version", ["-tls1_2", "-tls1_3"])
def test_a_resumed_session_knows_whose_it_is(tls, tmp_path, version):
    session = tmp_path / "session"
    request = b"GET /secret/ HTTP/1.1\r\nhost: www.example.org\r\nconnection: close\r\n\r\n"
    shown = ["-cert", tls.client["chain"], "-key", tls.client["key"]]
    first = tls.s_client(version, "-ign_eof", "-sess_out", session, *shown, stdin=request)
    assert "A page behind TLS" in first
    again = tls.s_client(version, "-ign_eof", "-sess_in", session, stdin=request)
    assert "Reused, TLS" in again and "A page behind TLS" in again
    assert "403 Forbidden" in tls.s_client(version, "-ign_eof", stdin=request)


def test_the_authoritys_word_is_stapled(tls):
    assert "Cert Status: good" in tls.s_client("-status")
    assert "no response sent" in tls.s_client("-status", name="a.example.net")


def plain_request(tls, port):
    with RawConnection(port) as connection:
        connection.send(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
        assert connection.ended()


def no_byte(tls, port):
    with RawConnection(port) as connection:
        assert connection.ended()


@pytest.mark.time_limit(60)
@pytest.mark.parametrize("reason,listener,fail", [
    ("plain HTTP", 0, plain_request), ("handshake too slow", 0, no_byte),
    ("no shared cipher", 0, lambda tls, port: tls.s_client(
        "-tls1_2", "-cipher", "AES128-SHA", port=port)),
    ("protocol version", 1, lambda tls, port: tls.s_client("-tls1_2", port=port)),
    ("client certificate", 1, lambda tls, port: tls.s_client(port=port)),
    ("client certificate", 1, lambda tls, port: tls.s_client(
        "-cert", tls.stranger["chain"], "-key", tls.stranger["key"], port=port))])
def test_failed_handshakes_are_counted_by_their_reason(tls, reason, listener, fail):
    def count():
        return tls.sketcher.status()["refusals"].get(f"TLS: {reason}", 0)

    before, failed = count(), tls.counters()["failed"]
    fail(tls, tls.ports.ports[listener])
    wait_until(lambda: count() == before + 1, 10, "the failure to be counted")
    assert tls.counters()["failed"] == failed + 1


def test_certificates_are_read_anew_without_a_restart(authority, tmp_path):
    files = authority.issue("changing", ["www.example.org"])
    with Tls(tmp_path, [{"tls": {"certificates": [files]}}]) as tls:
        workers = tls.sketcher.workers()

        def serial():
            return re.search(r"serial=(\w+)", subprocess.run(
                ["openssl", "x509", "-noout", "-serial"], input=tls.s_client(), text=True,
                capture_output=True, check=True).stdout)[1]

        first = serial()
        authority.issue("changing", ["www.example.org"])
        assert serial() == first
        tls.sketcher.child.signal(signal.SIGHUP)
        wait_until(lambda: serial() != first, 10, "the new certificate")
        second = serial()
        # A key of another certificate: the one that is there stays.
        Path(files["key"]).write_bytes(Path(authority.issue("other")["key"]).read_bytes())
        tls.sketcher.child.signal(signal.SIGHUP)
        wait_until(lambda: "certificates-not-reloaded" in tls.sketcher.child.log(), 10,
                   "the refusal")
        assert serial() == second
        assert tls.sketcher.workers() == workers


@pytest.mark.parametrize("spoil,complaint", [
    (lambda files: Path(files["key"]).chmod(0o644), "others may read"),
    (lambda files: Path(files["chain"]).write_text("nothing\n"), "no PEM file of certificates"),
    (lambda files: Path(files["chain"]).unlink(), "No such file"),
])
def test_bad_files_are_named_at_the_start(authority, tmp_path, spoil, complaint):
    files = authority.issue("spoilt", ["www.example.org"])
    with closing(PortReservation(1)) as ports:
        deployment = Deployment(start=False)
        try:
            sketcher = deployment.sketcher
            sketcher.settings["listener"].append({"address": f"127.0.0.1:{ports.ports[0]}",
                                                  "tls": {"certificates": [files]}})
            sketcher.write_configuration()
            spoil(files)
            result = subprocess.run([program("prophecy-sketcher"), "--check", "--config",
                                     sketcher.configuration], capture_output=True, text=True,
                                    timeout=60, check=False)
            assert result.returncode == 2
            assert complaint in result.stderr
        finally:
            deployment.close()
