"""A test authority and a certificate of localhost."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
NAMES = "subjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=CA:FALSE\n" \
    "extendedKeyUsage=serverAuth\n"


@dataclass
class Certificate:
    authority: Path
    chain: Path
    key: Path


def _openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], stdin=subprocess.DEVNULL,
                   capture_output=True, check=True)


def make_certificate(folder):
    made = Certificate(folder / "authority.pem", folder / "chain.pem", folder / "key.pem")
    authority_key, names = folder / "authority-key.pem", folder / "names"
    request, leaf = folder / "request.pem", folder / "leaf.pem"
    names.write_text(NAMES)
    _openssl("req", "-x509", *CURVE, "-days", 60, "-subj", "/CN=Test authority",
             "-addext", "keyUsage=critical,keyCertSign", "-keyout", authority_key,
             "-out", made.authority)
    _openssl("req", *CURVE, "-subj", "/CN=localhost", "-keyout", made.key, "-out", request)
    _openssl("x509", "-req", "-in", request, "-CA", made.authority, "-CAkey", authority_key,
             "-CAcreateserial", "-days", 50, "-extfile", names, "-out", leaf)
    made.key.chmod(0o600)
    made.chain.write_text(leaf.read_text() + made.authority.read_text())
    return made
