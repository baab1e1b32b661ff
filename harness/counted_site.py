"""A site of several host names on the loopback that counts its own transitions.

Every name below `localhost` leads to the loopback, in browsers and in curl. The server notes the
body of every answer in the order in which it was given, so a test knows which transitions a capture
has to find. Answers are static, change slowly or with each request, are coded with gzip or brotli,
have bytes that are no UTF-8, and redirect.
"""

import gzip
import threading
import uuid
from collections import Counter, defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def brotli(data):
    """A brotli stream (RFC 7932) of one uncompressed meta-block."""
    head = (len(data) - 1) << 4 | 1 << 20
    return head.to_bytes(3, "little") + data + b"\x03"


PAGE = """<!DOCTYPE html><html lang="en"><head><title>A page</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="http://static.localhost:{port}/style.css">
<script src="http://static.localhost:{port}/app.js"></script></head>
<body><img src="http://img{image}.localhost:{port}/logo.svg" alt=""><iframe src="http://frame.localhost:{port}/latin"></iframe>
<script>
fetch("/random").then(answer => answer.text());
fetch("/old").then(answer => answer.text());
fetch("/posted", {{method: "POST", body: "x"}}).then(answer => answer.text());
new Worker("/worker.js");
</script></body></html>
"""


class CountedSite:
    """`with CountedSite() as site`: site.url("www", "/"), then site.transitions()."""

    def __init__(self):
        self._lock = threading.Lock()
        self._asked = Counter()
        self._given = defaultdict(list)  # URL: [(status, body)] in order, of GET alone
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                site.answer(self)

            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                site.answer(self)

            def log_message(self, *arguments):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, name, target):
        return f"http://{name}.localhost:{self.port}{target}"

    def make(self, name, target, count):
        """Status, fields and body of the answer to request number `count` of this URL."""
        if target == "/":
            page = PAGE.format(port=self.port, image=1 + count // 2 % 2)
            return 200, {"Content-Type": "text/html"}, page.encode()
        if target == "/style.css":
            body = f"body {{ margin: {count // 3}px }}\n" * 40  # a change every third request
            coded = gzip.compress(body.encode(), mtime=count)
            return 200, {"Content-Type": "text/css", "Content-Encoding": "gzip"}, coded
        if target == "/app.js":
            return 200, {"Content-Type": "text/javascript", "Cache-Control": "max-age=3600"}, b"window.x = 1;\n" * 100
        if target == "/logo.svg":
            image = f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}"/>'
            return 200, {"Content-Type": "image/svg+xml"}, image.encode()
        if target == "/latin":
            # Both are one character of Latin-1, and no UTF-8.
            text = b"<p>caf\xe9</p>" if count < 2 else b"<p>caf\xe8</p>"
            return 200, {"Content-Type": "text/html; charset=iso-8859-1"}, text
        if target == "/random":
            return 200, {"Content-Type": "text/plain"}, f"id={uuid.uuid4().hex}".encode()
        if target == "/old":
            return 302, {"Location": f"/new?{count // 2}"}, b""
        if target == "/worker.js":
            return 200, {"Content-Type": "text/javascript"}, b'fetch("/from-worker");\n'
        if target.startswith(("/new", "/from-worker", "/posted", "/plain")):
            return 200, {"Content-Type": "text/plain"}, target.encode()
        if target == "/binary":
            return 200, {"Content-Type": "application/octet-stream"}, bytes(range(256)) + bytes([count // 2])
        if target == "/damaged":
            return 200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, b"no gzip"
        if target == "/strange":
            return 999, {"Content-Type": "text/plain"}, b"a status that HTTP does not have"
        if target == "/control":
            return 200, {"X-Control": "a\x01b"}, b"a field with a control byte"
        if target == "/busy":
            return 503, {"Retry-After": "600"}, b"busy"
        return 404, {"Content-Type": "text/plain"}, b"nothing here"

    def answer(self, handler):
        name = handler.headers["Host"].partition(".")[0]
        with self._lock:
            url = self.url(name, handler.path)
            count = self._asked[handler.command, url]
            self._asked[handler.command, url] += 1
            status, fields, body = self.make(name, handler.path, count)
            if handler.command == "GET":
                coded = body.startswith(b"\x1f\x8b")
                location = fields.get("Location", "")
                self._given[url].append((status, location, gzip.decompress(body) if coded else body))
        handler.send_response(status)
        for field, value in fields.items():
            handler.send_header(field, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def given(self):
        """How many answers to GET each URL had."""
        with self._lock:
            return {url: len(answers) for url, answers in self._given.items()}

    def transitions(self):
        """Pairs of consecutive answers that differ, by URL."""
        with self._lock:
            return {url: sum(one != other for one, other in zip(answers, answers[1:]))
                    for url, answers in self._given.items()}
