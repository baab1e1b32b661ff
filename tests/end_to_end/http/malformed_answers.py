"""What an origin sends in place of the page, with the word planted wherever there is room for it.
Each is one of three kinds:

FAILS     no answer at all: counted against the origin, nothing of it is used
DIVERGES  an answer, and another one than the group's
DIFFERS   likewise, and it says that its origin is in trouble: it is noise, and accuses nobody
CLEAN     the right answer, with bytes around it that nobody verifies: they go no further
"""

PAGE = b"<p>The page.</p>\n"
LENGTH = b"Content-Length: %d\r\n" % len(PAGE)
FAILS, DIVERGES, DIFFERS, CLEAN = "fails", "diverges", "differs", "clean"


def page(fields=LENGTH, body=PAGE, line=b"HTTP/1.1 200 OK"):
    return b"%b\r\nContent-Type: text/html\r\n%b\r\n%b" % (line, fields, body)


def chunks(body, fields=b"", version=b"HTTP/1.1"):
    return page(b"Transfer-Encoding: chunked\r\n" + fields, body, version + b" 200 OK")


CHUNK = b"%x\r\n%b\r\n" % (len(PAGE), PAGE)
END = b"0\r\n\r\n"

# Beyond the limits that a sketcher has and its agents have not: agents may agree on them.
BEYOND_LIMITS = ("head-too-large", "too-many-fields", "until-close-flood")
# What looks like the beginning of a large answer. On a route that is off it begins, and is cut off.
LOOKS_LARGE = "cl-beyond-limit"

# Name to kind, bytes, and whether the origin closes behind them. Without that it waits for what we
# do, and an answer that is not whole runs into the time-out.
ANSWERS = {
    # Framing
    "cl-and-te": (FAILS, page(LENGTH + b"Transfer-Encoding: chunked\r\n", CHUNK + END), False),
    "te-and-cl": (FAILS, chunks(CHUNK + END, LENGTH), False),
    "cl-twice": (FAILS, page(LENGTH + b"Content-Length: 7\r\n"), False),
    "cl-twice-equal": (FAILS, page(LENGTH * 2), False),
    "cl-list": (FAILS, page(b"Content-Length: 17, 17\r\n"), False),
    "cl-plus": (FAILS, page(b"Content-Length: +17\r\n"), False),
    "cl-minus": (FAILS, page(b"Content-Length: -17\r\n"), False),
    "cl-hex": (FAILS, page(b"Content-Length: 0x11\r\n"), False),
    "cl-empty": (FAILS, page(b"Content-Length:\r\n"), False),
    "cl-overflow": (FAILS, page(b"Content-Length: 18446744073709551633\r\n"), False),
    "cl-beyond-limit": (FAILS, page(b"Content-Length: 999999999\r\n"), False),
    "cl-too-short": (FAILS, page(body=PAGE + b"planted"), False),
    "cl-too-long-closed": (FAILS, page(b"Content-Length: 99\r\n"), True),
    "cl-too-long-open": (FAILS, page(b"Content-Length: 99\r\n"), False),
    "te-gzip": (FAILS, page(b"Transfer-Encoding: gzip, chunked\r\n", CHUNK + END), False),
    "te-identity": (FAILS, page(b"Transfer-Encoding: identity\r\n"), True),
    "te-twice": (FAILS, chunks(CHUNK + END, b"Transfer-Encoding: chunked\r\n"), False),
    "te-vertical-tab": (FAILS, page(b"Transfer-Encoding: \x0bchunked\r\n", CHUNK + END), False),
    "te-in-1.0": (FAILS, chunks(CHUNK + END, version=b"HTTP/1.0"), True),
    "until-close-cut": (DIVERGES, page(b"", PAGE[:5]), True),
    "until-close-more": (DIVERGES, page(b"", PAGE + b"planted"), True),
    "until-close-flood": (FAILS, page(b"", b"planted " * 200000), True),
    # Chunks
    "chunk-size-bad": (FAILS, chunks(b"planted\r\n" + PAGE), False),
    "chunk-size-overflow": (FAILS, chunks(b"10000000000000011\r\n" + PAGE + b"\r\n" + END), False),
    "chunk-size-negative": (FAILS, chunks(b"-11\r\n" + PAGE + b"\r\n" + END), False),
    "chunk-size-0x": (FAILS, chunks(b"0x11\r\n" + PAGE + b"\r\n" + END), False),
    "chunk-size-bare-lf": (FAILS, chunks(b"11\n" + PAGE + b"\r\n" + END), False),
    "chunk-too-long": (FAILS, chunks(b"11\r\n" + PAGE + b"planted\r\n" + END), False),
    "chunk-end-bare-lf": (FAILS, chunks(b"11\r\n" + PAGE + b"\n" + END), False),
    "chunk-cut": (FAILS, chunks(b"11\r\n" + PAGE[:9]), True),
    "chunk-no-end": (FAILS, chunks(CHUNK), True),
    "chunk-no-end-open": (FAILS, chunks(CHUNK), False),
    "chunk-end-half": (FAILS, chunks(CHUNK + b"0\r\n"), True),
    "chunk-extension": (CLEAN, chunks(b"11;planted=planted\r\n" + PAGE + b"\r\n" + END), False),
    "chunk-extension-flood": (FAILS, chunks(b"11;" + b"planted" * 1000 + b"\r\n" + PAGE + b"\r\n"
                                            + END), False),
    "chunk-extension-quote": (FAILS, chunks(b'11;"\r\n' + PAGE + b"\r\n" + END), False),
    "chunk-extension-two-names": (FAILS, chunks(b"11;a planted\r\n" + PAGE + b"\r\n" + END), False),
    "chunk-extension-no-name": (FAILS, chunks(b"11;=planted\r\n" + PAGE + b"\r\n" + END), False),
    "chunk-extension-high-byte": (FAILS, chunks(b"11;\xe9\r\n" + PAGE + b"\r\n" + END), False),
    "chunk-trailer-no-colon": (FAILS, chunks(CHUNK + b"0\r\nplanted\r\n\r\n"), False),
    "chunk-trailer-space-before-colon": (FAILS, chunks(CHUNK + b"0\r\nX : planted\r\n\r\n"), False),
    "chunk-trailer-two-names": (FAILS, chunks(CHUNK + b"0\r\nX Y: planted\r\n\r\n"), False),
    "chunk-trailers": (CLEAN, chunks(CHUNK + b"0\r\nX-Planted: planted\r\n"
                                     b"Set-Cookie: planted\r\n\r\n"), False),
    "chunk-trailer-flood": (FAILS, chunks(CHUNK + b"0\r\n" + b"X: planted\r\n" * 1000
                                          + b"\r\n"), False),
    "chunk-trailer-nul": (FAILS, chunks(CHUNK + b"0\r\nX: planted\x00\r\n\r\n"), False),
    "chunk-trailer-folded": (FAILS, chunks(CHUNK + b"0\r\n planted\r\n\r\n"), False),
    # The head
    "bare-lf": (FAILS, page().replace(b"\r\n", b"\n"), False),
    "bare-lf-field": (FAILS, page(b"X: planted\n" + LENGTH), False),
    "bare-cr-value": (FAILS, page(b"X: a\rSet-Cookie: planted\r\n" + LENGTH), False),
    "obs-fold": (FAILS, page(b"X: a\r\n planted\r\n" + LENGTH), False),
    "nul-in-value": (FAILS, page(b"X: planted\x00\r\n" + LENGTH), False),
    "nul-in-name": (FAILS, page(b"Planted\x00: a\r\n" + LENGTH), False),
    "control-in-value": (FAILS, page(b"X: planted\x07\r\n" + LENGTH), False),
    "space-before-colon": (FAILS, page(b"Planted : a\r\n" + LENGTH), False),
    "no-colon": (FAILS, page(b"Planted\r\n" + LENGTH), False),
    "no-name": (FAILS, page(b": planted\r\n" + LENGTH), False),
    "head-too-large": (FAILS, page(b"X: " + b"planted" * 2000 + b"\r\n" + LENGTH), False),
    "too-many-fields": (FAILS, page(b"X: planted\r\n" * 200 + LENGTH), False),
    "head-cut": (FAILS, page()[:40], True),
    "head-open": (FAILS, page()[:40], False),
    "head-without-end": (FAILS, b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nplanted", True),
    # The status line
    "status-two-digits": (FAILS, page(line=b"HTTP/1.1 20 planted"), False),
    "status-four-digits": (FAILS, page(line=b"HTTP/1.1 2000 planted"), False),
    "status-letters": (FAILS, page(line=b"HTTP/1.1 2xx planted"), False),
    "status-zero": (FAILS, page(line=b"HTTP/1.1 000 planted"), False),
    "status-600": (FAILS, page(line=b"HTTP/1.1 600 planted"), False),
    "status-999": (FAILS, page(line=b"HTTP/1.1 999 planted"), False),
    "status-missing": (FAILS, page(line=b"HTTP/1.1"), False),
    "status-negative": (FAILS, page(line=b"HTTP/1.1 -200 planted"), False),
    "reason-control": (FAILS, page(line=b"HTTP/1.1 200 planted\x1b"), False),
    "reason-planted": (CLEAN, page(line=b"HTTP/1.1 200 planted"), False),
    "version-0.9": (FAILS, page(line=b"HTTP/0.9 200 OK"), False),
    "version-2": (FAILS, page(line=b"HTTP/2 200 OK"), False),
    "version-3.0": (FAILS, page(line=b"HTTP/3.0 200 OK"), False),
    "version-lower": (FAILS, page(line=b"http/1.1 200 OK"), False),
    "icy": (FAILS, page(line=b"ICY 200 OK"), False),
    "http-0.9-body": (FAILS, b"planted\n", True),
    # Interim answers
    "101-unasked": (FAILS, b"HTTP/1.1 101 Planted\r\nUpgrade: planted\r\nConnection: upgrade\r\n"
                           b"\r\n" + page(), False),
    "1xx-flood": (FAILS, b"HTTP/1.1 103 planted\r\nLink: planted\r\n\r\n" * 20 + page(), False),
    "1xx-few": (CLEAN, b"HTTP/1.1 103 planted\r\nLink: planted\r\n\r\n" * 3 + page(), False),
    "1xx-alone": (FAILS, b"HTTP/1.1 100 planted\r\n\r\n", True),
    "100-with-body": (FAILS, b"HTTP/1.1 100 OK\r\nContent-Length: 7\r\n\r\nplanted" + page(), False),
    # More than was asked for
    "bytes-behind": (FAILS, page() + b"planted", False),
    "answer-behind": (FAILS, page() + page(body=b"planted planted p"), False),
    "blank-line-behind": (FAILS, page() + b"\r\n", False),
    "204-with-body": (FAILS, b"HTTP/1.1 204 No Content\r\n\r\nplanted", False),
    "304-with-body": (FAILS, b"HTTP/1.1 304 Not Modified\r\n\r\nplanted", False),
    # Other protocols
    "http-2-preface": (FAILS, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", False),
    "http-2-settings": (FAILS, b"\x00\x00\x00\x04\x00\x00\x00\x00\x00", True),
    "tls-alert": (FAILS, b"\x15\x03\x03\x00\x02\x02\x28", True),
    "a-request": (FAILS, b"GET /planted HTTP/1.1\r\nHost: planted\r\n\r\n", False),
    "proxy-header": (FAILS, b"PROXY UNKNOWN\r\n" + page(), False),
    "garbage": (FAILS, b"\x00\xffplanted" * 100, True),
    "nothing": (FAILS, b"", True),
    "silence": (FAILS, b"", False),
    # Well-formed, and wrong
    "nominated-cookie": (DIVERGES, page(b"Connection: Set-Cookie\r\nSet-Cookie: planted\r\n"
                                        + LENGTH), False),
    "nominated-csp": (DIVERGES, page(b"Connection: Content-Security-Policy\r\n"
                                     b"Content-Security-Policy: planted\r\n" + LENGTH), False),
    "nominated-unknown": (CLEAN, page(b"Connection: X-Planted\r\nX-Planted: planted\r\n"
                                      + LENGTH), False),
    "nominated-flood": (DIVERGES, page(b"Connection: " + b",".join(b"x%d" % i for i in range(40))
                                       + b"\r\n" + LENGTH), False),
    "internal-redirect": (CLEAN, page(b"X-Accel-Redirect: /planted\r\n" + LENGTH), False),
    "sendfile": (CLEAN, page(b"X-Sendfile: /planted\r\n" + LENGTH), False),
    "hop-by-hop": (CLEAN, page(b"Keep-Alive: planted\r\nUpgrade: planted\r\nTrailer: planted\r\n"
                               b"Proxy-Authenticate: planted\r\n" + LENGTH), False),
    "noise": (CLEAN, page(b"Server: planted\r\nVia: 1.1 planted\r\nDate: planted\r\n"
                          b"Age: planted\r\nETag: \"planted\"\r\nX-Powered-By: planted\r\n"
                          b"Prophecy-Reason: planted\r\n" + LENGTH), False),
    "cookie": (DIVERGES, page(b"Set-Cookie: planted\r\n" + LENGTH), False),
    "unknown-field": (DIVERGES, page(b"X-Planted: planted\r\n" + LENGTH), False),
    "other-type": (DIVERGES, page(b"Content-Type: planted/x\r\n" + LENGTH), False),
    "other-status": (DIVERGES, page(line=b"HTTP/1.1 203 planted"), False),
    "redirect": (DIVERGES, page(b"Location: http://planted/\r\n" + LENGTH,
                                line=b"HTTP/1.1 302 OK"), False),
    "other-body": (DIVERGES, page(body=b"planted planted p"), False),
    "own-error": (DIFFERS, page(line=b"HTTP/1.1 500 planted"), False),
}

# Answers beyond what is held at once, on a route that is off: they pass as they come, so that a client
# may have got the beginning of one that turns out to be bad. Name to what it gets, bytes, and whether
# the origin closes.
REFUSED, WHOLE, BROKEN = "refused", "whole", "broken"
LARGE = bytes(range(256)) * 1024
LARGE_LENGTH = b"Content-Length: %d\r\n" % len(LARGE)


def large(fields=LARGE_LENGTH, body=LARGE, line=b"HTTP/1.1 200 OK"):
    return page(fields, body, line)


# Without its length it is held, up to the limit and what one read brings.
LARGE_CHUNKS = b"%x\r\n%b\r\n" % (len(LARGE), LARGE) * 10

LARGE_ANSWERS = {
    "as-it-should-be": (WHOLE, large(), False),
    "noise": (WHOLE, large(LARGE_LENGTH + b"Server: planted\r\nETag: \"planted\"\r\n"
                           b"X-Accel-Redirect: /planted\r\nKeep-Alive: planted\r\n"
                           b"Prophecy-Reason: planted\r\n"), False),
    "nominated-unknown": (WHOLE, large(LARGE_LENGTH + b"Connection: X-Planted\r\n"
                                       b"X-Planted: planted\r\n"), False),
    "interim-before": (WHOLE, b"HTTP/1.1 103 planted\r\nLink: planted\r\n\r\n" + large(), False),
    "reason-planted": (WHOLE, large(line=b"HTTP/1.1 200 planted"), False),
    "bytes-behind": (WHOLE, large(body=LARGE + b"planted"), False),
    "answer-behind": (WHOLE, large() + page(body=b"planted planted p"), False),
    "cut-at-once": (BROKEN, large(body=b""), True),
    "cut-in-the-middle": (BROKEN, large(body=LARGE[:150_000]), True),
    "cut-before-the-last-byte": (BROKEN, large(body=LARGE[:-1]), True),
    "silent-in-the-middle": (BROKEN, large(body=LARGE[:150_000]), False),
    "cl-and-te": (REFUSED, large(LARGE_LENGTH + b"Transfer-Encoding: chunked\r\n",
                                 LARGE_CHUNKS + END), False),
    "cl-twice": (REFUSED, large(LARGE_LENGTH + b"Content-Length: 7\r\n"), False),
    "cl-twice-equal": (REFUSED, large(2 * LARGE_LENGTH), False),
    "cl-overflow": (REFUSED, large(b"Content-Length: 18446744073709813760\r\n"), False),
    "chunked": (REFUSED, large(b"Transfer-Encoding: chunked\r\n", LARGE_CHUNKS + END), False),
    "until-close": (REFUSED, large(b"", LARGE * 10), True),
    "bare-lf": (REFUSED, large(b"X: planted\n" + LARGE_LENGTH), False),
    "bare-cr": (REFUSED, large(b"X: a\rSet-Cookie: planted\r\n" + LARGE_LENGTH), False),
    "obs-fold": (REFUSED, large(b"X: a\r\n planted\r\n" + LARGE_LENGTH), False),
    "nul": (REFUSED, large(b"X: planted\x00\r\n" + LARGE_LENGTH), False),
    "space-before-colon": (REFUSED, large(b"Planted : a\r\n" + LARGE_LENGTH), False),
    "nominated-cookie": (REFUSED, large(b"Connection: Set-Cookie\r\nSet-Cookie: planted\r\n"
                                        + LARGE_LENGTH), False),
    "204": (REFUSED, large(line=b"HTTP/1.1 204 No Content"), False),
    "304": (REFUSED, large(line=b"HTTP/1.1 304 Not Modified"), False),
    "101": (REFUSED, large(line=b"HTTP/1.1 101 planted"), False),
}
