"""Requests over HTTP/2 that are refused, from the text of RFC 9113 (8.1 to 8.5, 10.3) and from what has
been smuggled through proxies that write HTTP/1.1 behind themselves. Nothing of them may reach an origin,
and no byte called planted of those that are served without what is wrong with them."""

from dataclasses import dataclass

from harness.http2_client import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PUSH,
                                  RST_STREAM, WINDOW_UPDATE, field, frame, request_fields)

TARGET_MAX = 1 << 10
HEADER_MAX = 4 << 10
COUNT_MAX = 30
BODY_MAX = 8 << 10

# The stream ends with PROTOCOL_ERROR, without an answer (RFC 9113, 8.1.1).
RESET = "reset"
SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"


@dataclass
class Row:
    expected: object  # a status, or RESET
    pairs: list
    data: tuple = ()  # of the DATA frames
    trailers: tuple = ()

    def frames(self, stream):
        blocks = [(HEADERS, END_HEADERS, b"".join(field(*pair) for pair in self.pairs))]
        blocks += [(DATA, 0, piece) for piece in self.data]
        if self.trailers:
            blocks.append((HEADERS, END_HEADERS, b"".join(field(*pair) for pair in self.trailers)))
        kind, flags, payload = blocks[-1]
        blocks[-1] = (kind, flags | END_STREAM, payload)
        return b"".join(frame(kind, flags, stream, payload) for kind, flags, payload in blocks)


def get(expected, *more, method="GET", scheme="http", path="/bad", authority="a", **rest):
    pseudo = [(":method", method), (":scheme", scheme), (":path", path), (":authority", authority)]
    return Row(expected, [pair for pair in pseudo if pair[1] is not None] + list(more), **rest)


def post(expected, *more, data=(b"abc",), **rest):
    return get(expected, *more, method="POST", data=data, **rest)


def length(value, expected, data=(b"abc",)):
    return post(expected, ("content-length", value), data=data)


REFUSED = {
    # Bytes that would be lines of HTTP/1.1
    "value-crlf": get(400, ("x", "a\r\nplanted: b")),
    "value-cr": get(400, ("x", "a\rplanted")),
    "value-lf": get(400, ("x", "a\nplanted: b")),
    "value-nul": get(400, ("x", "a\0planted")),
    "value-bell": get(400, ("x", "a\x07planted")),
    "value-delete": get(400, ("x", "a\x7fplanted")),
    "value-request": get(400, ("x", "a\r\n\r\n" + SMUGGLED)),
    "value-leading-blank": get(400, ("x", " planted")),
    "value-trailing-blank": get(400, ("x", "planted ")),
    "value-leading-tab": get(400, ("x", "\tplanted")),
    "value-trailing-tab": get(400, ("x", "planted\t")),
    "value-folded": get(400, ("x", "a\r\n planted")),
    "cookie-crlf": get(400, ("cookie", "a=b\r\nplanted: c")),
    "cookie-nul": get(400, ("cookie", "a=\0planted")),
    "name-crlf": get(400, ("x: a\r\nplanted", "b")),
    "name-lf": get(400, ("x\nplanted", "b")),
    "name-nul": get(400, ("x\0planted", "b")),
    "name-colon": get(400, ("x:planted", "b")),
    "name-colon-te": get(400, ("transfer-encoding: chunked\r\nx", "b")),
    "name-space": get(400, ("x planted", "b")),
    "name-trailing-space": get(400, ("transfer-encoding ", "chunked")),
    "name-tab": get(400, ("x\tplanted", "b")),
    "name-high-byte": get(400, ("x\xe9planted", "b")),
    "name-quoted": get(400, ('"planted"', "b")),
    "name-empty": get(400, ("", "planted")),
    "name-upper-case": get(RESET, ("X-Planted", "b")),
    "name-last-upper-case": get(RESET, ("planteD", "b")),
    "name-host-upper-case": get(RESET, ("Host", "b")),
    "method-crlf": get(RESET, method="GET /smuggled HTTP/1.1\r\nplanted: a\r\n\r\nGET"),
    "method-lf": get(RESET, method="GET\n"),
    "method-nul": get(RESET, method="GET\0"),
    "method-space": get(RESET, method="GET /smuggled"),
    "method-tab": get(RESET, method="GET\t"),
    "method-colon": get(RESET, method="GET:"),
    "method-empty": get(RESET, method=""),
    "method-lower-case": get(501, method="get"),
    "method-unknown": get(501, method="BREW"),
    "method-long": get(400, method="A" * 33),
    "method-trace": get(501, method="TRACE"),
    "method-pri": get(RESET, method="PRI", path="*"),
    "path-crlf": get(RESET, path="/ HTTP/1.1\r\nplanted: a\r\nx: "),
    "path-lf": get(RESET, path="/\nplanted: a"),
    "path-nul": get(RESET, path="/\0planted"),
    "path-space": get(RESET, path="/ HTTP/1.1"),
    "path-tab": get(RESET, path="/\tplanted"),
    "path-delete": get(RESET, path="/\x7fplanted"),
    "path-high-byte": get(400, path="/\xffplanted"),
    "path-empty": get(RESET, path=""),
    "path-fragment": get(400, path="/a#planted"),
    "path-absolute": get(RESET, path="http://a/planted"),
    "path-absolute-other": get(RESET, path="http://planted/"),
    "path-bare": get(RESET, path="planted"),
    "path-query-alone": get(RESET, path="?planted"),
    "path-backslash": get(RESET, path="\\planted"),
    "path-asterisk": get(RESET, path="*"),
    "path-long": get(414, path="/" + "a" * TARGET_MAX),
    "scheme-crlf": get(RESET, scheme="http\r\nplanted: a"),
    "scheme-lf": get(RESET, scheme="http\n"),
    "scheme-nul": get(RESET, scheme="http\0"),
    "scheme-url": get(RESET, scheme="http://planted/?"),
    "scheme-other": get(421, scheme="https"),
    "scheme-unknown": get(421, scheme="planted"),
    "scheme-empty": get(RESET, scheme=""),
    "authority-crlf": get(RESET, authority="a\r\nplanted: b"),
    "authority-lf": get(RESET, authority="a\n"),
    "authority-nul": get(RESET, authority="a\0"),
    "authority-space": get(RESET, authority="a planted"),
    "authority-user": get(400, authority="planted@a"),
    "authority-path": get(RESET, authority="a/planted"),
    "authority-comma": get(400, authority="a,planted"),
    "authority-high-byte": get(RESET, authority="a\xe9"),
    "authority-port": get(400, authority="a:planted"),
    "authority-empty": get(RESET, authority=""),
    # Pseudo-fields
    "pseudo-behind-field": Row(RESET, [(":method", "GET"), (":scheme", "http"), ("x", "a"),
                                       (":path", "/planted"), (":authority", "a")]),
    "pseudo-last": get(RESET, ("x", "a"), (":path", "/planted"), path=None),
    "pseudo-unknown": get(RESET, (":planted", "a")),
    "pseudo-unknown-first": Row(RESET, [(":planted", "b"), *get(RESET).pairs]),
    "pseudo-upper-case": get(RESET, (":Path", "/planted"), path=None),
    "pseudo-protocol": get(RESET, (":protocol", "websocket")),
    "pseudo-colon-alone": get(RESET, (":", "planted")),
    "pseudo-status": get(RESET, (":status", "200")),
    "pseudo-status-alone": Row(RESET, [(":status", "200")]),
    "method-twice": get(RESET, (":method", "POST")),
    "path-twice": get(RESET, (":path", "/planted")),
    "path-twice-equal": get(RESET, (":path", "/bad")),
    "scheme-twice": get(RESET, (":scheme", "https")),
    "authority-twice": get(RESET, (":authority", "planted")),
    "method-missing": get(RESET, method=None),
    "path-missing": get(RESET, path=None),
    "scheme-missing": get(RESET, scheme=None),
    "authority-missing": get(RESET, authority=None),
    "pseudo-missing-all": Row(RESET, [("host", "a")]),
    "fields-missing-all": Row(RESET, []),
    "host-other": get(400, ("host", "planted")),
    "host-other-port": get(400, ("host", "a:81")),
    "host-twice": get(RESET, ("host", "a"), ("host", "a")),
    "host-alone-twice": get(RESET, ("host", "a"), ("host", "planted"), authority=None),
    "host-empty": get(RESET, ("host", "")),
    "host-crlf": get(RESET, ("host", "a\r\nplanted: b"), authority=None),
    "host-alone-user": get(400, ("host", "planted@a"), authority=None),
    # CONNECT (8.5) and its extended form, which is not offered
    "connect": Row(501, [(":method", "CONNECT"), (":authority", "a:443")]),
    "connect-with-path": get(RESET, method="CONNECT"),
    "connect-with-scheme": Row(RESET, [(":method", "CONNECT"), (":authority", "a:443"),
                                       (":scheme", "http")]),
    "connect-without-authority": Row(RESET, [(":method", "CONNECT")]),
    "connect-extended": get(RESET, (":protocol", "websocket"), method="CONNECT"),
    # Fields of the connection (8.2.2)
    "te-chunked": post(RESET, ("transfer-encoding", "chunked"),
                       data=(b"0\r\n\r\n" + SMUGGLED.encode(),)),
    "te-identity": post(RESET, ("transfer-encoding", "identity")),
    "te-empty": post(RESET, ("transfer-encoding", "")),
    "te-and-cl": post(RESET, ("transfer-encoding", "chunked"), ("content-length", "3")),
    "te-folded": post(400, ("transfer-encoding", "\r\n chunked")),
    "connection-close": get(RESET, ("connection", "close")),
    "connection-nominating": get(RESET, ("connection", "x-planted"), ("x-planted", "a")),
    "connection-host": get(RESET, ("connection", "host")),
    "keep-alive": get(RESET, ("keep-alive", "planted")),
    "proxy-connection": get(RESET, ("proxy-connection", "planted")),
    "upgrade-h2c": get(RESET, ("upgrade", "h2c")),
    "upgrade-websocket": get(RESET, ("connection", "upgrade"), ("upgrade", "websocket")),
    "te-gzip": get(RESET, ("te", "gzip")),
    "te-trailers-and-more": get(RESET, ("te", "trailers, planted")),
    # Content-Length unlike the DATA (8.1.1), and odd forms of it
    "length-too-long": length("4", RESET),
    "length-too-short": length("2", RESET),
    "length-too-short-in-pieces": length("4", RESET, (b"abc", b"def")),
    "length-zero": length("0", RESET),
    "length-smuggling": length("0", RESET, (SMUGGLED.encode(),)),
    "length-without-data": get(RESET, ("content-length", "3"), method="POST"),
    "length-on-get": get(RESET, ("content-length", "3")),
    "length-twice": post(RESET, ("content-length", "3"), ("content-length", "4")),
    "length-twice-equal": post(RESET, ("content-length", "3"), ("content-length", "3")),
    "length-list": length("3, 3", RESET),
    "length-plus": length("+3", RESET),
    "length-minus": length("-3", RESET),
    "length-hex": length("0x3", RESET),
    "length-fraction": length("3.0", RESET),
    "length-letters": length("planted", RESET),
    "length-empty": length("", RESET),
    "length-blank": length(" 3", 400),
    "length-2^64+3": length("18446744073709551619", RESET),
    "length-2^63": length("9223372036854775808", RESET),
    "length-crlf": length("3\r\nplanted: a", 400),
    "get-with-body": get(400, data=(b"planted",)),
    "head-with-body": get(400, method="HEAD", data=(b"planted",)),
    "body-large": post(413, data=(b"a" * BODY_MAX, b"a")),
    # Trailers
    "trailer-path": post(RESET, trailers=((":path", "/planted"),)),
    "trailer-status": post(RESET, trailers=((":status", "200"),)),
    "trailer-unknown-pseudo": post(RESET, trailers=((":planted", "a"),)),
    "trailer-upper-case": post(RESET, trailers=(("X-Planted", "a"),)),
    "trailer-connection": post(RESET, trailers=(("connection", "close"),)),
    "trailer-te": post(RESET, trailers=(("transfer-encoding", "chunked"),)),
    # What HTTP/1.1 is refused for as well
    "expect-unknown": post(417, ("expect", "planted")),
    "two-authorizations": get(400, ("authorization", "a"), ("authorization", "b")),
    "two-content-types": post(400, ("content-type", "a/b"), ("content-type", "c/d")),
    "if-match": get(501, ("if-match", '"planted"'), method="DELETE"),
    "header-large": get(431, ("x", "a" * HEADER_MAX)),
    "header-many": get(431, *[("x", "a")] * (COUNT_MAX + 1)),
    "crumbs-large": get(431, *[("cookie", "a" * 1000)] * 5),
}

PLANTED = b"planted"

SERVED = {
    "upper-case-path": get(200, path="/good/PATH"),
    "te-trailers": get(200, ("te", "trailers")),
    "host-equal": get(200, ("host", "a")),
    "host-equal-but-for-case": get(200, ("host", "A")),
    "length": length("3", 200),
    "length-in-pieces": length("6", 200, (b"abc", b"", b"def")),
    "trailers": post(200, trailers=(("x-planted", "planted"),)),
    "forwarded": get(200, ("x-forwarded-for", "planted"), ("x-forwarded-host", "planted"),
                     ("forwarded", "for=planted"), ("x_forwarded_proto", "planted")),
    "proxy-fields": get(200, ("proxy-authorization", "planted"), ("proxy", "planted"),
                        ("trailer", "planted"), ("http2-settings", "planted")),
    "agreed-fields": get(200, ("prophecy-time", "planted"), ("prophecy_seed", "planted")),
    "unknown-fields": get(200, ("x-original-url", "/planted"), ("x-rewrite-url", "/planted"),
                          ("x-http2-planted", "planted")),
    "priority": get(200, ("priority", "u=planted")),
}


def headers(stream, flags=END_HEADERS | END_STREAM, block=None):
    return frame(HEADERS, flags, stream, request_fields("/planted") if block is None else block)


# Frames on a stream and the codes of which one ends the connection: here it is not one message that is
# malformed. (h2spec has them all.)
PROTOCOL_ERROR, STREAM_CLOSED, FRAME_SIZE_ERROR, COMPRESSION_ERROR = 1, 5, 6, 9
ENDED = {
    "data-before-headers": (lambda stream: frame(DATA, END_STREAM, stream, b"planted"),
                            PROTOCOL_ERROR),
    "data-on-stream-0": (lambda stream: frame(DATA, 0, 0, b"planted"), PROTOCOL_ERROR),
    "headers-on-stream-0": (lambda stream: headers(0), PROTOCOL_ERROR),
    "even-stream": (lambda stream: headers(stream + 1), PROTOCOL_ERROR),
    "lower-stream": (lambda stream: headers(stream + 4, END_HEADERS) + headers(stream),
                     PROTOCOL_ERROR),
    "push": (lambda stream: headers(stream, END_HEADERS) + frame(
        PUSH, END_HEADERS, stream, b"\0\0\0\2" + request_fields("/planted")), PROTOCOL_ERROR),
    "continuation-alone": (lambda stream: frame(CONTINUATION, END_HEADERS, stream,
                                                request_fields("/planted")), PROTOCOL_ERROR),
    "block-of-another-stream": (lambda stream: headers(stream, END_STREAM)
                                + frame(CONTINUATION, END_HEADERS, stream + 2), PROTOCOL_ERROR),
    "block-with-data-inside": (lambda stream: headers(stream, 0) + frame(DATA, 0, stream, b"a"),
                               PROTOCOL_ERROR),
    "block-with-index-0": (lambda stream: headers(stream, block=b"\x80"), COMPRESSION_ERROR),
    "block-with-index-beyond": (lambda stream: headers(stream, block=b"\xff\x7f"),
                                COMPRESSION_ERROR),
    "block-cut": (lambda stream: headers(stream, block=b"\x00\x7fplanted"), COMPRESSION_ERROR),
    "block-with-bad-huffman": (lambda stream: headers(stream, block=b"\x00\x01x\x84\xff\xff\xff\xff"),
                               COMPRESSION_ERROR),
    "block-with-late-table-size": (lambda stream: headers(
        stream, block=request_fields("/planted") + b"\x20"), COMPRESSION_ERROR),
    "padding-beyond-frame": (lambda stream: frame(HEADERS, END_HEADERS | END_STREAM | 8, stream,
                                                  b"\xff" + request_fields("/planted")),
                             PROTOCOL_ERROR),
    "frame-too-large": (lambda stream: headers(stream, END_HEADERS)
                        + frame(DATA, 0, stream, b"a" * 16385), FRAME_SIZE_ERROR),
    "reset-of-idle": (lambda stream: frame(RST_STREAM, 0, stream, b"\0\0\0\x08"), PROTOCOL_ERROR),
    "window-of-idle": (lambda stream: frame(WINDOW_UPDATE, 0, stream, b"\0\0\0\1"),
                       PROTOCOL_ERROR),
}
