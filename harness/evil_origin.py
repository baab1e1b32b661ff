"""An origin whose page is right, and which plants bytes wherever else HTTP/1.1 has room for them.

Apache cannot be made to send most of these. Each request adds a byte to the file --count.
"""

import argparse
import socketserver
from pathlib import Path

FIELDS = b"Content-Type: text/html\r\n"


def plain(body, reason=b"OK", more=b""):
    return (b"HTTP/1.1 200 %b\r\n%bContent-Length: %d\r\n%b\r\n%b"
            % (reason, FIELDS, len(body), more, body))


def chunked(body, extension=b"", trailer=b""):
    return (b"HTTP/1.1 200 OK\r\n%bTransfer-Encoding: chunked\r\nTrailer: X-Late\r\n\r\n"
            b"%x%b\r\n%b\r\n0\r\n%b\r\n" % (FIELDS, len(body), extension, body, trailer))


# Place to the answer's bytes, from the page and the planted text.
PLACES = {
    "reason": lambda body, text: plain(body, reason=text),
    "server": lambda body, text: plain(body, more=b"Server: %b\r\nVia: 1.1 %b\r\n" % (text, text)),
    "date": lambda body, text: plain(body, more=b"Date: %b\r\nAge: %b\r\n" % (text, text)),
    "interim": lambda body, text: (b"HTTP/1.1 103 %b\r\nLink: <%b>\r\n\r\n" % (text, text)
                                   + plain(body)),
    "chunk-extension": lambda body, text: chunked(body, extension=b";note=" + text),
    "trailer": lambda body, text: chunked(body, trailer=b"X-Late: %b\r\n" % text),
    "connection-nominated": lambda body, text: plain(
        body, more=b"Connection: keep-alive, X-Hop\r\nX-Hop: %b\r\n" % text),
    "hop-by-hop": lambda body, text: plain(
        body, more=b"Keep-Alive: timeout=5, note=%b\r\nUpgrade: %b\r\nProxy-Authenticate: %b\r\n"
        % (text, text, text)),
}


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        options = self.server.options
        while line := self.rfile.readline():
            if line not in (b"\r\n", b"\n"):
                continue
            with open(options.count, "ab") as count:
                count.write(b".")
            self.wfile.write(PLACES[options.place](Path(options.page).read_bytes(),
                                                   options.plant.encode()))


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--page", required=True)
    parser.add_argument("--plant", required=True)
    parser.add_argument("--place", choices=sorted(PLACES), required=True)
    parser.add_argument("--count", required=True)
    options = parser.parse_args()
    with Server(("127.0.0.1", options.port), Handler) as server:
        server.options = options
        server.serve_forever()


if __name__ == "__main__":
    main()
