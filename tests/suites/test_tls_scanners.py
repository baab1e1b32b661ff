"""sslyze and testssl: a TLS listener offers what Mozilla's "intermediate" profile names and nothing
else, and has none of the known weaknesses."""

import json

import pytest
from certificates import make_certificate
from nginx import Nginx
from suite_tools import debian_program, run, suite_folder

from harness import Deployment

CIPHERS = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305"
# An nginx that both have nothing against, but for the test's own certificate.
NGINX = """
ssl_certificate {chain};
ssl_certificate_key {key};
ssl_protocols TLSv1.2 TLSv1.3;
ssl_prefer_server_ciphers on;
ssl_ciphers {ciphers};
ssl_ecdh_curve X25519:prime256v1:secp384r1;
add_header X-Frame-Options DENY always;
add_header X-Content-Type-Options nosniff always;
add_header Strict-Transport-Security "max-age=63072000" always;
"""
FIELDS = """
Header always set X-Frame-Options DENY
Header always set X-Content-Type-Options nosniff
Header always set Strict-Transport-Security "max-age=63072000"
"""
# What Debian's openssl lacks, GOST's ciphers, of which the listener has none by its configuration.
NOT_HERE = ("engine_problem",)
# A check is given up when one of its connections ends too soon, as it happens now and then with any
# server (nginx too) on a busy machine.
TESTSSL_ATTEMPTS = 3
TESTSSL_BAD = ("LOW", "MEDIUM", "HIGH", "CRITICAL", "FATAL")


def run_sslyze(port, authority):
    """What keeps the server from being compliant; None when it is."""
    folder = suite_folder("sslyze") / "packages"
    _, output = run(["/usr/bin/python3", "-m", "sslyze", "--mozilla_config=intermediate",
                     "--certinfo_ca_file", authority, f"localhost:{port}"], 240,
                    {"PYTHONPATH": str(folder)})
    _, _, verdict = output.partition("COMPLIANCE AGAINST TLS CONFIGURATION")
    assert verdict, output[-4000:]
    return None if "OK - Compliant" in verdict else verdict


def run_testssl(port, folder):
    """[what it holds against the server], without what it says of the test's own certificate; and
    [checks that could not be made], which prove nothing."""
    for attempt in range(TESTSSL_ATTEMPTS):
        found, not_made = scan_with_testssl(port, folder / f"testssl-{attempt}.json")
        if found or not not_made:
            break
    return found, not_made


def scan_with_testssl(port, report):
    _, output = run([debian_program("testssl"), "--quiet", "--warnings", "off", "--color", "0",
                     "--nodns", "none", "--ip", "127.0.0.1", "--jsonfile", report,
                     f"localhost:{port}"], 240)
    assert report.exists(), output[-4000:]
    items = json.loads(report.read_text())
    assert len(items) > 100, output[-4000:]
    return tuple([f"{item['id']}: {item['finding']}" for item in items
                  if item["severity"] in levels and item["id"] not in NOT_HERE
                  and not item["id"].startswith("cert_")]
                 for levels in (TESTSSL_BAD, ("WARN",)))


def judge(verdict, found, not_made, tell):
    tell(f"sslyze {verdict}, testssl {found}; {len(not_made)} checks could not be made: {not_made}")
    assert verdict is None
    assert not found
    assert not not_made


def nginx(folder, certificate, ciphers=CIPHERS):
    return Nginx(folder, "ssl", NGINX.format(chain=certificate.chain, key=certificate.key,
                                             ciphers=ciphers))


@pytest.mark.time_limit(1000)
def test_nothing_is_found_at_a_listener(tmp_path, tell):
    certificate = make_certificate(tmp_path)
    tls = {"certificates": [{"chain": str(certificate.chain), "key": str(certificate.key)}]}
    # What a page's own fields say is the origins' business.
    fields = {number: FIELDS for number in range(4)}
    with Deployment(apache_additions=fields,
                    sketcher_changes={"listener": {"tls": tls}}) as deployment:
        port = deployment.sketcher.port
        judge(run_sslyze(port, certificate.authority), *run_testssl(port, tmp_path), tell)


@pytest.mark.time_limit(1000)
def test_a_good_server_passes(tmp_path, tell):
    certificate = make_certificate(tmp_path)
    with nginx(tmp_path, certificate) as server:
        judge(run_sslyze(server.port, certificate.authority), *run_testssl(server.port, tmp_path),
              tell)


@pytest.mark.time_limit(600)
def test_an_old_cipher_is_found(tmp_path):
    certificate = make_certificate(tmp_path)
    with nginx(tmp_path, certificate, f"{CIPHERS}:ECDHE-ECDSA-AES128-SHA") as server:
        finding = run_sslyze(server.port, certificate.authority)
    assert "ciphers" in finding
