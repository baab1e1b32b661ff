"""A standalone ZooKeeper server on loopback: Debian's classes, as a process of ours, in a folder of
its own. And sessions with it."""

import functools
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path

from harness.build import build_folder, patience
from harness.certificates import openssl
from harness.ports import PortReservation
from harness.processes import Child, HarnessError, wait_until

JAVA = Path("/usr/share/java")
CLASSES = [JAVA / name for name in
           ("zookeeper.jar", "slf4j-log4j12.jar", "log4j-1.2.jar", "netty-codec.jar",
            "netty-resolver.jar", "netty-transport-native-unix-common.jar")]
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
# Starting fast counts for more than running fast.
JVM = ("-Xmx128m", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

LOG_SETTINGS = """\
log4j.rootLogger=INFO, CONSOLE
log4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender
log4j.appender.CONSOLE.layout=org.apache.log4j.PatternLayout
log4j.appender.CONSOLE.layout.ConversionPattern=%d{ISO8601} %-5p [%t:%C{1}@%L] %m%n
"""


@functools.cache
def java():
    """The program; as a file, for the process that is started has to be the one that runs."""
    found = shutil.which("java")
    if not found or not CLASSES[0].exists():
        raise HarnessError("ZooKeeper's server is missing: scripts/install-packages scale-out")
    return found


class ZooKeeper:
    """Sessions last 2 to 20 ticks, as clients ask for."""

    def __init__(self, folder, tick_ms=250, tls=None):
        """With `tls`, an Authority: a second port for clients that show one of its certificates."""
        self.folder = Path(folder)
        self.folder.mkdir(exist_ok=True)
        self._reserved = PortReservation(2 if tls else 1)
        self._child = None
        self.starts = 0
        lines = [f"tickTime={tick_ms}", f"dataDir={self.folder / 'data'}",
                 "clientPortAddress=127.0.0.1", f"clientPort={self.port}",
                 "admin.enableServer=false", "4lw.commands.whitelist=ruok"]
        if tls:
            lines += self._secure_lines(tls)
        (self.folder / "zoo.cfg").write_text("\n".join(lines) + "\n")
        (self.folder / "log4j.properties").write_text(LOG_SETTINGS)

    def _secure_lines(self, authority):
        server = authority.issue("zookeeper", ["zookeeper.test"])
        # It wants the key as PKCS #8, in front of its certificate.
        key = openssl("pkcs8", "-topk8", "-nocrypt", "-in", server["key"])
        store = self.folder / "server.pem"
        store.write_bytes(key + Path(server["chain"]).read_bytes())
        store.chmod(0o600)
        return ["secureClientPortAddress=127.0.0.1", f"secureClientPort={self.secure_port}",
                "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
                f"ssl.keyStore.location={store}", "ssl.keyStore.type=PEM",
                f"ssl.trustStore.location={authority.certificate}", "ssl.trustStore.type=PEM",
                "ssl.clientAuth=need",
                "authProvider.x509="
                "org.apache.zookeeper.server.auth.X509AuthenticationProvider"]

    @property
    def port(self):
        return self._reserved.ports[0]

    @property
    def secure_port(self):
        return self._reserved.ports[1]

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def secure_address(self):
        return f"127.0.0.1:{self.secure_port}"

    def start(self):
        self.starts += 1
        classes = ":".join(map(str, [self.folder, *CLASSES]))
        self._child = Child("zookeeper", [java(), *JVM, "-cp", classes, MAIN,
                                          str(self.folder / "zoo.cfg")],
                            self.folder / f"zookeeper-{self.starts}.log")
        self._child.wait_ready(self._serves, timeout_s=60)

    def _serves(self):
        """Accepting connections, it may still refuse sessions."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as client:
                client.sendall(b"ruok")
                return client.recv(16) == b"imok"
        except OSError:
            return False

    def log(self):
        return self._child.log()

    def freeze(self):
        self._child.freeze()

    def thaw(self):
        self._child.thaw()

    def kill(self):
        """As a crash would; what was committed is on its disk."""
        self._child.kill()

    def close(self):
        if self._child:
            self._child.thaw()
            self._child.kill()
        self._reserved.close()


class Driver:
    """A session by our own client (tests/programs/zookeeper_driver.cpp); a context manager."""

    def __init__(self, servers, timeout_ms=1500, **options):
        self._process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--",
             build_folder() / "tests/programs/zookeeper_driver",
             json.dumps({"servers": servers, "timeout_ms": timeout_ms, **options})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._numbers = itertools.count(1)
        self.lines = []
        self.log_lines = []
        self._readers = [threading.Thread(target=self._read, daemon=True),
                         threading.Thread(target=self._read_log, daemon=True)]
        for reader in self._readers:
            reader.start()

    def _read(self):
        for line in self._process.stdout:
            self.lines.append(json.loads(line))

    def _read_log(self):
        for line in self._process.stderr:
            self.log_lines.append(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.stderr.close()

    def send(self, operation, path="", **members):
        """Yields the call's number."""
        number = next(self._numbers)
        command = {"number": number, "op": operation, "path": path, **members}
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return number

    def result(self, number, timeout_s=10):
        return wait_until(lambda: next((line for line in self.lines if line.get("number") == number),
                                       None), timeout_s, f"the end of call {number}")

    def call(self, operation, path="", **members):
        return self.result(self.send(operation, path, **members))

    def reports(self):
        return [line["report"] for line in self.lines if "report" in line]

    def wait_for(self, report, count=1, timeout_s=40):
        wait_until(lambda: self.reports().count(report) >= count, timeout_s,
                   f"the report {report} number {count}, behind {self.reports()[-5:]}")

    def freeze(self):
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self):
        os.kill(self._process.pid, signal.SIGCONT)

    def close(self):
        """Ends the session; yields the exit status."""
        self._process.stdin.close()
        return self._process.wait(20 * patience())
