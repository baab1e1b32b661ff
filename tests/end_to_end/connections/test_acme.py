"""What an ACME client needs: its authority's challenges are answered from a folder, and the
certificates that it puts in place are taken up. With curl and openssl s_client."""

import os
import re
import subprocess
from contextlib import closing
from pathlib import Path

from harness import Deployment
from harness.build import patience
from harness.certificates import Authority
from harness.http_client import curl
from harness.ports import PortReservation
from harness.processes import wait_until

TOKEN = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA"
ANSWER = TOKEN + ".9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI"
CHALLENGES = "/.well-known/acme-challenge/"
PAGE = b"<p>The origins' own.</p>\n"


def challenge(deployment, token, *options):
    return curl(deployment.url + CHALLENGES + token, "--path-as-is", *options)


def test_challenges_come_from_the_folder_and_all_else_from_routes():
    deployment = Deployment(start=False, content={"/index.html": PAGE, CHALLENGES + "origins": PAGE},
                            sketcher_changes={"sketcher": {"acme_challenges": "challenges"},
                                              "route": [{"name": "one", "hosts": ["www.example.org"]}]})
    with deployment:
        folder = deployment.sketcher.folder / "challenges"
        folder.mkdir()
        (folder / TOKEN).write_text(ANSWER)
        (folder / "large").write_bytes(b"x" * 2000)
        (folder / "below").mkdir()
        os.symlink(deployment.sketcher.configuration, folder / "link")
        deployment.start()
        host = ("-H", "Host: www.example.org")
        # Any host: the authority asks for each name that is to be in the certificate.
        for options in ((), host, ("--http2-prior-knowledge",)):
            answer = challenge(deployment, TOKEN, *options)
            assert (answer.status, answer.body) == (200, ANSWER.encode()), options
        assert answer.field("cache-control") == "no-store"
        assert challenge(deployment, TOKEN, "--head").field("content-length") == str(len(ANSWER))
        # A new file counts at once.
        (folder / "another").write_text("answer")
        assert challenge(deployment, "another").body == b"answer"
        assert challenge(deployment, "origins", *host).body == PAGE
        for token in ("absent", "large", "below", "link", "../sketcher.toml", "..%2fsketcher.toml",
                      ".", ""):
            answer = challenge(deployment, token, *host)
            assert answer.status in (400, 403, 404, 301), token
            assert b"sketch" not in answer.body, token
        assert challenge(deployment, TOKEN, *host, "-X", "PUT", "-d", "x").status in (201, 204, 403,
                                                                                     404, 409)
        assert (folder / TOKEN).read_text() == ANSWER
        assert deployment.sketcher.counters()["challenges"] == 5


def serial_of(port):
    shown = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-servername",
                            "www.example.org"], input=b"", capture_output=True,
                           timeout=20 * patience(), check=False).stdout
    text = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=shown, timeout=20,
                          capture_output=True, check=False).stdout.decode()
    found = re.search(r"serial=(\w+)", text)
    return found[1] if found else None


def test_certificates_are_taken_up_when_their_files_change(tmp_path):
    authority = Authority(tmp_path / "authority")
    files = authority.issue("www", ["www.example.org"])
    with closing(PortReservation(1)) as ports:
        port = ports.ports[0]
        deployment = Deployment(start=False, sketcher_changes={
            "sketcher": {"certificates_looked_at": "200ms", "workers": 2}})
        deployment.sketcher.settings["listener"].append(
            {"address": f"127.0.0.1:{port}", "tls": {"certificates": [files]}})
        deployment.sketcher.write_configuration()
        with deployment:
            deployment.start()
            workers = deployment.sketcher.workers()
            first = serial_of(port)
            assert first
            # As ACME clients do it: new files are moved over the old ones.
            fresh = authority.issue("fresh", ["www.example.org"])
            for kind in ("chain", "key"):
                os.replace(fresh[kind], files[kind])
            wait_until(lambda: serial_of(port) not in (first, None), 10, "the new certificate")
            second = serial_of(port)
            assert deployment.sketcher.workers() == workers
            # A key that is another certificate's changes nothing.
            other = authority.issue("other", ["www.example.org"])
            Path(files["key"]).write_bytes(Path(other["key"]).read_bytes())
            wait_until(lambda: "certificates-not-reloaded" in deployment.sketcher.child.log(), 10,
                       "the refusal")
            assert serial_of(port) == second
            Path(files["chain"]).write_bytes(Path(other["chain"]).read_bytes())
            wait_until(lambda: serial_of(port) not in (second, None), 10, "the repaired pair")
