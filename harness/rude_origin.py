"""Origins in this process with files as their state, whose handlers crash, hang or talk nonsense as a request
asks for. What a handler has done is counted outside of the state."""

import contextlib
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness.ports import accepts_connections
from harness.processes import wait_until

TOO_LARGE = b"x" * (40 << 20)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _send(self, status, content=b""):
        self.send_response_only(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_OPTIONS(self):
        self._send(204)

    def do_GET(self):
        try:
            self._send(200, (self.server.origin.data / self.path[1:]).read_bytes())
        except OSError:
            self._send(404)

    def _write(self):
        origin = self.server.origin
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = self.path[1:]
        with origin.lock:
            origin.executed[name] += 1
        if name.startswith("slow"):
            time.sleep(origin.slow_s)
        if name.startswith("late"):
            time.sleep(origin.late_s)
        if name.startswith("half"):
            (origin.data / name).write_bytes(b"as far as it came")
        if name.startswith(("crash", "half", "slow")) or name in origin.crashing:
            self.close_connection = True
            return
        if name.startswith("nonsense"):
            self.wfile.write(b"This is no HTTP.\r\n\r\n")
            self.close_connection = True
            return
        if name.startswith("large"):
            with contextlib.suppress(OSError):
                self._send(200, TOO_LARGE)
            return
        if self.command == "DELETE":
            (origin.data / name).unlink(missing_ok=True)
        else:
            (origin.data / name).write_bytes(content)
        self._send(204)

    do_PUT = do_POST = do_DELETE = _write


class RudeOrigin:
    """One of them. `crashing`: names whose writes crash at this origin alone, without any effect."""

    child = None

    def __init__(self, folder, number, port):
        self.number = number
        self.port = port
        self.data = Path(folder) / f"origin-{number}-data"
        self.data.mkdir()
        self.executed = Counter()
        self.crashing = set()
        self.slow_s = 3
        self.late_s = 2
        self.lock = threading.Lock()
        self._server = None

    def start(self):
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), _Handler)
        self._server.daemon_threads = True
        self._server.origin = self
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        wait_until(lambda: accepts_connections(self.port), 10, "the origin")

    def stop(self):
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def files(self):
        return {path.name: path.read_bytes() for path in sorted(self.data.iterdir())
                if path.is_file()}

    def service(self, kind):
        """Settings of its agent for a state of this kind."""
        if kind == "directory":
            return {"state": kind, "state_folder": str(self.data)}
        if kind == "command":
            tar = ["/bin/tar", "--create", "--sort=name", "--mtime=@0", "--owner=0", "--group=0",
                   "--numeric-owner", f"--directory={self.data}", "."]
            load = f"rm -rf '{self.data}'/* && tar --extract --directory='{self.data}'"
            return {"state": kind, "state_dump": tar, "state_load": ["/bin/bash", "-c", load]}
        return {"state": "stateless"}


class RudeOrigins(list):
    def __init__(self, folder, ports):
        super().__init__(RudeOrigin(folder, number, port) for number, port in enumerate(ports))

    def start(self):
        for origin in self:
            origin.start()

    def stop(self):
        for origin in self:
            origin.stop()

    close = stop
