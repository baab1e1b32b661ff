"""A certificate authority of a test's own, through the program openssl: certificates for servers and
clients, and what the authority says about them."""

import subprocess
from pathlib import Path


def openssl(*arguments, stdin=None):
    result = subprocess.run(["openssl", *map(str, arguments)], input=stdin, capture_output=True,
                            timeout=60, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]} failed: {result.stderr.decode()}")
    return result.stdout


class Authority:
    """Everything lies in `folder`; files are named after what they are about."""

    def __init__(self, folder, name="ca"):
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.name = name
        self._index = self.folder / f"{name}-index.txt"
        self._index.write_text("")
        self._serial = 0x1000
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-days", "30", "-subj", f"/CN={name} for tests", "-keyout", self.key, "-out",
                self.certificate, "-addext", "basicConstraints=critical,CA:TRUE",
                "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature")

    @property
    def certificate(self):
        return self.folder / f"{self.name}.pem"

    @property
    def key(self):
        return self.folder / f"{self.name}.key"

    def issue(self, label, names=(), rsa=False, days=29, purpose="clientAuth"):
        """Makes LABEL.pem (with the authority behind it) and LABEL.key; yields their table for the
        configuration. With days below 0 it has expired. The purpose is that of one without names."""
        chain, key = self.folder / f"{label}.pem", self.folder / f"{label}.key"
        request, extensions = self.folder / f"{label}.csr", self.folder / f"{label}.ext"
        kind = ["rsa:2048"] if rsa else ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
        openssl("req", "-newkey", *kind, "-nodes", "-subj", f"/CN={label}", "-keyout", key, "-out",
                request)
        key.chmod(0o600)
        alternatives = ",".join(f"DNS:{name}" for name in names)
        extensions.write_text(f"subjectAltName={alternatives}\n" if names else
                              f"extendedKeyUsage={purpose}\n")
        self._serial += 1
        leaf = openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key,
                       "-set_serial", self._serial, "-days", days, "-extfile", extensions)
        chain.write_bytes(leaf + self.certificate.read_bytes())
        with open(self._index, "a", encoding="ascii") as index:
            index.write(f"V\t391231235959Z\t\t{self._serial:X}\tunknown\t/CN={label}\n")
        return {"chain": str(chain), "key": str(key)}

    def ocsp(self, label):
        """Makes LABEL.ocsp: that the certificate is good."""
        answer = self.folder / f"{label}.ocsp"
        leaf = self.folder / f"{label}.pem"
        question = self.folder / f"{label}.question"
        openssl("ocsp", "-issuer", self.certificate, "-cert", leaf, "-reqout", question, "-no_nonce")
        openssl("ocsp", "-index", self._index, "-CA", self.certificate, "-rsigner",
                self.certificate, "-rkey", self.key, "-reqin", question, "-respout", answer,
                "-ndays", "5")
        return str(answer)
