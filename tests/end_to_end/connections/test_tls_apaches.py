"""Apaches that speak TLS and nothing else, with mod_ssl: as origins of either kind of group."""

import contextlib
import shutil
import signal
import subprocess

import pytest

from harness import Deployment
from harness.certificates import Authority
from harness.http_client import curl
from harness.processes import wait_until
from harness.replicas import ctl, ctl_json

PAGE = b"<p>A page from inside TLS.</p>\n"
VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
NAME = "origin.example"

ADDITION = """\
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
SSLEngine on
SSLSessionCache none
SSLCertificateFile "{chain}"
SSLCertificateKeyFile "{key}"
{more}
"""


@pytest.fixture(scope="module", name="authority")
def _authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module", name="good")
def _good(authority):
    return authority.issue("origin", [NAME])


@contextlib.contextmanager
def tls_deployment(ca, certificates, kind="vote", group=None, agent_ca=None, own=None,
                   client_ca=None):
    """Four Apaches with these certificates. `ca` is the file by which they are verified; `agent_ca`
    yields another for an agent's number."""
    more = f'SSLVerifyClient require\nSSLCACertificateFile "{client_ca}"' if client_ca else ""
    tls = {"server_name": NAME,
           **({"certificate": own["chain"], "key": own["key"]} if own else {})}
    deployment = Deployment(
        content={"/static/page": PAGE}, agents=kind == "pbft", start=False,
        apache_additions={number: ADDITION.format(more=more, **certificate)
                          for number, certificate in enumerate(certificates)},
        agent_changes=lambda number: {
            "service": {"tls": {**tls, "ca": str(agent_ca(number) if agent_ca else ca)}}},
        sketcher_changes={"group": {**(VOTE if kind == "vote" else {}), **(group or {})}})
    for origin in deployment.sketcher.settings["group"][0]["origin"]:
        origin["tls"] = {**tls, "ca": str(ca)}
    deployment.sketcher.write_configuration()
    with deployment:
        deployment.start()
        yield deployment


def read(deployment, count, path="/static/page"):
    for number in range(count):
        answer = curl(f"{deployment.url}{path}?{number % 3}")
        assert (answer.status, answer.body) == (200, PAGE)


def reload(deployment, says):
    log = deployment.folder / "sketcher.log"
    before = log.read_text().count(says)
    deployment.sketcher.child.signal(signal.SIGHUP)
    wait_until(lambda: log.read_text().count(says) > before, 5, f"the log to say {says}")


def test_who_is_not_who_it_has_to_be_is_named_as_such(authority, good, tmp_path):
    certificates = [good, good,
                    Authority(tmp_path / "other", "other").issue("impostor", [NAME]),
                    authority.issue("elsewhere", ["elsewhere.example"])]
    health = {"failures_max": 3, "pause": "1m"}
    with tls_deployment(authority.certificate, certificates, group={"health": health}) as deployment:
        def both_down():
            read(deployment, 5)
            return [row["state"] for row in listed()] == ["ready", "ready", "down", "down"]

        def listed():
            return ctl_json("origin", "list", "--admin", deployment.sketcher.admin, "--json")

        wait_until(both_down, 20, "the two to be down")
        assert [row["reason"] for row in listed()[2:]] == [
            "requests fail: untrusted-certificate", "requests fail: wrong-name"]
        assert "untrusted-certificate" in ctl("origin", "list", "--admin", deployment.sketcher.admin)
        origins = deployment.sketcher.status()["origins"]
        for number, failure in ((2, "untrusted-certificate"), (3, "wrong-name")):
            assert origins[number]["fast_answers"] == origins[number]["votes"] == 0
            assert origins[number]["vote_failures"][failure] > 0
            assert origins[number]["vote_failures"]["not-sent"] == 0


def test_checks_name_a_certificate_that_has_expired(authority, good):
    health = {"check": "http", "interval": "100ms", "timeout": "500ms", "fall": 2,
              "path": "/static/page"}
    certificates = [good, good, good, authority.issue("expired", [NAME], days=-1)]
    with tls_deployment(authority.certificate, certificates, group={"health": health}) as deployment:
        def expired():
            origin = deployment.sketcher.status()["origins"][3]
            return origin["reason"] == "checks fail: expired-certificate"
        wait_until(expired, 10, "the check to fail")
        read(deployment, 10)


def test_authorities_are_read_anew_on_sighup(authority, good, tmp_path):
    """By workers and by the checker, and connections that the old ones let in are not used again."""
    other = Authority(tmp_path / "other", "other")
    ca = tmp_path / "ca.pem"
    shutil.copy(authority.certificate, ca)
    health = {"check": "http", "interval": "100ms", "timeout": "500ms", "fall": 2, "rise": 1,
              "failures_max": 1000, "path": "/static/page"}
    with tls_deployment(ca, [good] * 4, group={"health": health}) as deployment:
        def states():
            return {origin["state"] for origin in deployment.sketcher.status()["origins"]}

        read(deployment, 20)
        # Files that are not in order change nothing.
        ca.write_text("no certificate")
        reload(deployment, "certificates-not-reloaded")
        read(deployment, 20)
        assert states() == {"ready"}

        shutil.copy(other.certificate, ca)
        reload(deployment, "certificates-reloaded")
        answer = curl(deployment.url + "/static/page?new")
        assert (answer.status, answer.field("prophecy-reason")) == (503, "too-few-replicas")
        wait_until(lambda: states() == {"down"}, 10, "the checks to fail")

        shutil.copy(authority.certificate, ca)
        reload(deployment, "certificates-reloaded")
        read(deployment, 20, "/static/page")
        wait_until(lambda: states() == {"ready"}, 10, "the checks to pass")


@pytest.mark.parametrize("shown", [False, True])
def test_a_group_of_agents_in_front_of_them(authority, good, tmp_path, shown):
    """Reads and writes; with `shown`, the Apaches ask for a certificate of ours as well."""
    clients = Authority(tmp_path / "clients", "client-ca") if shown else None
    own = clients.issue("prophecy") if shown else None
    with tls_deployment(authority.certificate, [good] * 4, kind="pbft", own=own,
                        client_ca=clients.certificate if shown else None) as deployment:
        read(deployment, 20)
        assert curl(deployment.url + "/new", "-X", "PUT", "--data-binary", "x").status == 201
        assert curl(deployment.url + "/new").body == b"x"
        deployment.wait_for_write("/new", b"x")
        counters = deployment.sketcher.counters()
        assert counters["fast"] >= 15 and counters["failed"] == 0
        # And nothing else is spoken there.
        plain = subprocess.run(["curl", "-s", f"http://127.0.0.1:{deployment.origins[0].port}/new"],
                               capture_output=True, timeout=10, check=False)
        assert b"Bad Request" in plain.stdout


def test_an_agent_reads_its_authorities_anew_on_sighup(authority, good, tmp_path):
    other = Authority(tmp_path / "other", "other")
    ca = tmp_path / "ca.pem"
    shutil.copy(other.certificate, ca)
    with tls_deployment(authority.certificate, [good] * 4, kind="pbft",
                        agent_ca=lambda number: ca if number == 3
                        else authority.certificate) as deployment:
        assert curl(deployment.url + "/new", "-X", "PUT", "--data-binary", "x").status == 201
        agent = deployment.agents[3]
        wait_until(lambda: agent.status()["service"]["origin_tls_failures"] > 0, 10,
                   "the agent to refuse its origin")
        assert "untrusted-certificate" in (deployment.folder / "replica-3.log").read_text()
        assert deployment.origins[3].read("/new") is None
        shutil.copy(authority.certificate, ca)
        agent.child.signal(signal.SIGHUP)
        deployment.wait_for_write("/new", b"x")
