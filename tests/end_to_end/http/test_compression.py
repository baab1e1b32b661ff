"""Content codings of verified answers: negotiation, entity tags, ranges, and what stays as it is. With
curl, which decodes what it gets, and real Apaches."""

import gzip
import random
import subprocess

import pytest

from harness import Deployment
from harness.apache import load_module
from harness.http_client import RawConnection, curl

TEXT = b"".join(b"line %d of a long text\n" % (number % 211) for number in range(2000))
NOISE = random.Random(1).randbytes(20_000)
APACHE = "\n".join([
    load_module("headers"),
    "<Files cookie.html>", 'Header set Set-Cookie "a=b"', "</Files>",
    "<Files still.html>", 'Header set Cache-Control "no-transform"', "</Files>",
    "<Files varies.html>", 'Header set Vary "Accept-Language"', "</Files>"])
CONTENT = {"/index.html": TEXT, "/noise.html": NOISE, "/small.html": b"<p>Small</p>\n",
           "/large.html": TEXT * 8, "/picture.png": TEXT, "/cookie.html": TEXT,
           "/still.html": TEXT, "/varies.html": TEXT}
CODINGS = ["gzip", "br", "zstd"]


@pytest.fixture(scope="module", name="site")
def _site():
    changes = {"route": [{"name": "site", "compression": {"to": "128KiB"}}],
               "compression": {"cache": "1MiB", "processor_share": 1.0}}
    with Deployment(content=CONTENT, sketcher_changes=changes,
                    apache_additions=dict.fromkeys(range(4), APACHE)) as deployment:
        yield deployment


def get(site, path, coding=None, *options):
    wanted = ("-H", f"Accept-Encoding: {coding}") if coding else ()
    return curl(site.url + path, *wanted, *options)


def decoded(answer):
    """By a program that is not ours."""
    coding = answer.field("content-encoding")
    if coding is None:
        return answer.body
    if coding == "gzip":
        return gzip.decompress(answer.body)
    program = {"br": ["python3", "-c", BROTLI], "zstd": ["zstd", "--decompress", "--stdout"]}[coding]
    return subprocess.run(program, input=answer.body, capture_output=True, check=True).stdout


BROTLI = """
import ctypes, sys
library = ctypes.CDLL("libbrotlidec.so.1")
coded = sys.stdin.buffer.read()
plain = ctypes.create_string_buffer(1 << 20)
size = ctypes.c_size_t(len(plain))
assert library.BrotliDecoderDecompress(ctypes.c_size_t(len(coded)), coded, ctypes.byref(size), plain) == 1
sys.stdout.buffer.write(plain.raw[:size.value])
"""


def test_a_client_gets_the_coding_that_it_takes(site):
    tags = {get(site, "/").field("etag")}
    for coding in CODINGS:
        for _ in range(2):
            answer = get(site, "/", coding)
            assert answer.status == 200
            assert answer.field("content-encoding") == coding
            assert answer.field("content-length") == str(len(answer.body))
            assert len(answer.body) < len(TEXT) // 4
            if coding != "zstd" or has_zstd():
                assert decoded(answer) == TEXT
            assert "accept-encoding" in answer.field_values("vary")
        tags.add(answer.field("etag"))
    # Each is a representation of its own, with a strong tag.
    assert len(tags) == 4 and not any(tag.startswith("W/") for tag in tags)
    plain = get(site, "/", "deflate, gzip;q=0")
    assert (plain.field("content-encoding"), plain.body) == (None, TEXT)
    assert "accept-encoding" in plain.field_values("vary")
    assert get(site, "/", "gzip, deflate, br").field("content-encoding") == "br"
    # A browser's decoder, over HTTP/2 too.
    for protocol in ("--http1.1", "--http2-prior-knowledge"):
        whole = subprocess.run(["curl", "--silent", "--compressed", protocol, site.url + "/"],
                               capture_output=True, check=True, timeout=30).stdout
        assert whole == TEXT


def has_zstd():
    return subprocess.run(["sh", "-c", "command -v zstd"], capture_output=True,
                          check=False).returncode == 0


def test_each_representation_is_revalidated_by_its_own_tag(site):
    for coding in (None, *CODINGS):
        first = get(site, "/", coding)
        tag = first.field("etag")
        again = get(site, "/", coding, "-H", f"If-None-Match: {tag}")
        assert (again.status, again.body, again.field("etag")) == (304, b"", tag), coding
        assert "accept-encoding" in again.field_values("vary")
        assert get(site, "/", coding, "-H", f"If-Match: {tag}").status == 200
        assert get(site, "/", coding, "-H", 'If-Match: "other"').status == 412
    # A tag of another coding is no proof that the client has this one.
    brotli = get(site, "/", "br").field("etag")
    assert get(site, "/", "gzip", "-H", f"If-None-Match: {brotli}").status == 200
    # But who has the plain body need not take it again.
    plain = get(site, "/").field("etag")
    assert get(site, "/", "gzip", "-H", f"If-None-Match: {plain}").status == 304


def test_ranges_are_those_of_the_plain_body(site):
    plain = get(site, "/").field("etag")
    part = get(site, "/", "gzip", "-H", "Range: bytes=10-29")
    assert (part.status, part.body) == (206, TEXT[10:30])
    assert (part.field("content-encoding"), part.field("etag")) == (None, plain)
    coded = get(site, "/", "gzip").field("etag")
    whole = get(site, "/", "gzip", "-H", "Range: bytes=10-29", "-H", f"If-Range: {coded}")
    assert (whole.status, whole.body, whole.field("etag")) == (200, TEXT, plain)
    part = get(site, "/", "gzip", "-H", "Range: bytes=10-29", "-H", f"If-Range: {plain}")
    assert (part.status, part.body) == (206, TEXT[10:30])


@pytest.mark.parametrize("path, varies", [
    ("/cookie.html", False),   # one client's: its length would tell of its secrets
    ("/still.html", False),    # no-transform
    ("/picture.png", False),   # not of a listed type
    ("/small.html", True), ("/large.html", True), ("/noise.html", True)])
def test_what_stays_as_it_is(site, path, varies):
    for _ in range(3):
        answer = get(site, path, "gzip, br, zstd")
        assert (answer.status, answer.body) == (200, CONTENT[path])
        assert answer.field("content-encoding") is None
        assert ("accept-encoding" in answer.field_values("vary")) == varies


def test_vary_of_the_origin_stays(site):
    assert set(get(site, "/varies.html", "gzip").field_values("vary")) == {"Accept-Language",
                                                                          "accept-encoding"}


def test_head_names_what_it_knows(site):
    answer = get(site, "/", "gzip", "--head")
    assert (answer.status, answer.field("content-length")) == (200, str(len(TEXT)))
    assert answer.field("content-encoding") is None
    assert "accept-encoding" in answer.field_values("vary")


def test_a_kept_connection_mixes_codings(site):
    with RawConnection(site.sketcher.port) as connection:
        for coding in ("gzip", "identity", "br", "zstd", "gzip"):
            connection.send(f"GET / HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {coding}\r\n\r\n"
                            .encode())
            answer = connection.answer()
            assert answer.field("content-encoding") == (None if coding == "identity" else coding)


def test_memory_and_outcomes_are_counted(site):
    counters = site.sketcher.status()["compression"]
    assert counters["delivered"] > counters["encoded"] > 0
    assert counters["not_smaller"] == 1  # the noise, in the preferred coding
    assert 0 < counters["held_bytes"] <= 1 << 20


def test_without_processor_time_answers_go_as_they_are():
    # Some 20 ms each; a tenth of a second is there at first.
    pages = {f"/{number}.html": random.Random(number).randbytes(300_000).hex().encode()
             for number in range(20)}
    changes = {"route": [{"name": "site", "compression": {"to": "1MiB", "codings": ["br"]}}],
               "compression": {"processor_share": 0.0}}
    with Deployment(content=pages, sketcher_changes=changes) as deployment:
        for path, body in pages.items():
            answer = get(deployment, path, "br")
            assert answer.status == 200
            if answer.field("content-encoding") is None:
                assert answer.body == body
        counters = deployment.sketcher.status()["compression"]
        assert counters["encoded"] > 0 and counters["over_budget"] > 0
