"""Makes a group of one server that counts and remembers: each of some ports is an origin, and all
give the one answer that the server gave to a request. A request is known by its method, target and
Req-Num, so the server sees it once, however many origins the sketcher asks, and how often."""

import socket
import socketserver
import threading


class ReplayedOrigins:
    """Context manager. `server_port` is where the one server listens."""

    def __init__(self, ports, server_port):
        self._answers = {}
        self._lock = threading.Lock()
        self._server_port = server_port
        self._listeners = [_Listener(("127.0.0.1", port), _Handler) for port in ports]
        for listener in self._listeners:
            listener.answer = self.answer

    def answer(self, identity, request):
        """The server's bytes; those it gave to the same request before."""
        with self._lock:
            first = identity not in self._answers
            known = self._answers.setdefault(identity, _Answer())
        if first:
            try:
                known.content = self._ask(request)
            finally:
                known.ready.set()
        known.ready.wait()
        return known.content

    def _ask(self, request):
        head, _, body = request.partition(b"\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self._server_port), timeout=30) as server:
            server.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
            content = b""
            while data := server.recv(65536):
                content += data
        return content

    def __enter__(self):
        for listener in self._listeners:
            threading.Thread(target=listener.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        for listener in self._listeners:
            listener.shutdown()
            listener.server_close()


class _Answer:
    def __init__(self):
        self.ready = threading.Event()
        self.content = b""


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256


class _Handler(socketserver.StreamRequestHandler):
    def handle(self):
        """One request a connection; what our sketcher sends needs no more of a parser."""
        lines = []
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            lines.append(line)
        if not lines:
            return
        fields = {name.strip().lower(): value.strip()
                  for name, _, value in (field.partition(b":") for field in lines[1:])}
        body = self.rfile.read(int(fields.get(b"content-length", 0)))
        identity = (lines[0], fields.get(b"req-num"))
        self.wfile.write(self.server.answer(identity, b"".join(lines) + b"\r\n" + body))
