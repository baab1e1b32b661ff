"""Requests of all shapes against four honest Apaches."""

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl

PAGE = b"<p>The page.</p>\n"
CONTENT = {"/index.html": PAGE, "/static/a.txt": "a" * 1000, "/static/b.txt": "b" * 2000,
           "/empty.txt": b"", **{f"/numbered/{number}": f"page {number}" for number in range(20)}}


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    with Deployment(content=CONTENT) as deployment:
        yield deployment


def growth(deployment, before, *names):
    after = deployment.sketcher.counters()
    return tuple(after[name] - before[name] for name in names)


def test_first_read_is_replicated_then_fast(deployment):
    path = "/numbered/0"
    before = deployment.sketcher.counters()
    assert curl(deployment.url + path).body == b"page 0"
    assert growth(deployment, before, "fast", "replicated") == (0, 1)
    for _ in range(10):
        assert curl(deployment.url + path).body == b"page 0"
    assert growth(deployment, before, "fast", "replicated") == (10, 1)


def test_seven_replicas():
    with Deployment(faults=2, content={"/index.html": PAGE}) as deployment:
        before = deployment.sketcher.counters()
        assert curl(deployment.url + "/").body == PAGE
        assert growth(deployment, before, "fast", "replicated") == (0, 1)
        assert curl(deployment.url + "/").body == PAGE
        assert growth(deployment, before, "fast", "replicated") == (1, 1)
        assert curl(deployment.url + "/new.txt", "-X", "PUT", "--data-binary", "new").status == 201
        deployment.wait_for_write("/new.txt", b"new", range(7))
        assert curl(deployment.url + "/new.txt").body == b"new"


def test_answers_look_like_one_server(deployment):
    answers = [curl(deployment.url + "/static/a.txt") for _ in range(8)]
    for answer in answers:
        assert answer.status == 200
        assert answer.body == b"a" * 1000
        assert answer.field("server") == "prophecy"
        assert answer.field("content-type") == "text/plain"
        assert answer.field("last-modified") == "Tue, 14 Nov 2023 22:13:20 GMT"
    heads = [[f for f in answer.fields if f[0] != "date"] for answer in answers]
    # The first may have been replicated, the rest fast: nobody can tell.
    assert all(head == heads[0] for head in heads)


def test_put_is_ordered_on_all_origins(deployment):
    for content in (b"first version\n", b"second version\n"):
        answer = curl(deployment.url + "/put.txt", "-X", "PUT", "--data-binary", content.decode())
        assert answer.status in (201, 204)
        deployment.wait_for_write("/put.txt", content)
        for _ in range(8):
            answer = curl(deployment.url + "/put.txt")
            assert (answer.status, answer.body) == (200, content)


def test_put_binary_of_a_megabyte(deployment, tmp_path):
    content = bytes(range(256)) * 4096
    file = tmp_path / "upload"
    file.write_bytes(content)
    answer = curl(deployment.url + "/large.bin", "--upload-file", str(file))
    assert answer.status == 201
    assert curl(deployment.url + "/large.bin").body == content
    assert curl(deployment.url + "/large.bin").body == content


def test_delete(deployment):
    curl(deployment.url + "/gone.txt", "-X", "PUT", "--data-binary", "soon gone")
    assert curl(deployment.url + "/gone.txt").status == 200
    assert curl(deployment.url + "/gone.txt", "-X", "DELETE").status == 204
    deployment.wait_for_write("/gone.txt", None)
    for _ in range(8):  # whichever origin is drawn
        assert curl(deployment.url + "/gone.txt").status == 404


def test_chunked_upload(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"PUT /chunked.txt HTTP/1.1\r\nHost: localhost\r\n"
                        b"Transfer-Encoding: chunked\r\n\r\n"
                        b"5\r\nhello\r\n7;note=1\r\n, world\r\n0\r\n\r\n")
        assert connection.answer().status == 201
        assert connection.get("/chunked.txt").body == b"hello, world"


def test_expect_continue(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"PUT /expected.txt HTTP/1.1\r\nHost: localhost\r\n"
                        b"Content-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        assert connection.answer().status == 100
        connection.send(b"body")
        assert connection.answer().status == 201
        assert connection.get("/expected.txt").body == b"body"


def test_head_has_the_fields_and_no_body(deployment):
    for _ in range(3):
        with RawConnection(deployment.sketcher.port) as connection:
            connection.send(b"HEAD /static/b.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = connection.answer(to_head=True)
            assert answer.status == 200
            assert answer.field("content-type") == "text/plain"
            assert answer.field("content-length") in (None, "2000")
            # Nothing of a body stands between this answer and the next.
            assert connection.get("/static/a.txt").body == b"a" * 1000


def test_head_and_get_do_not_validate_each_other(deployment):
    path = "/numbered/1"
    assert curl(deployment.url + path, "--head").body == b""
    assert curl(deployment.url + path).body == b"page 1"
    assert curl(deployment.url + path, "--head").body == b""
    assert curl(deployment.url + path).body == b"page 1"


def test_empty_body(deployment):
    for _ in range(3):
        answer = curl(deployment.url + "/empty.txt")
        assert (answer.status, answer.body, answer.field("content-length")) == (200, b"", "0")


def test_pipelined_requests_are_answered_in_order(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"".join(b"GET /numbered/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number
                                 for number in range(20)))
        for number in range(20):
            assert connection.answer().body == b"page %d" % number


def test_pipelined_writes_and_reads(deployment):
    def put(content):
        return (b"PUT /pipelined.txt HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b"
                % (len(content), content))

    get = b"GET /pipelined.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(put(b"one") + get + put(b"two") + get)
        assert connection.answer().status == 201
        assert connection.answer().body == b"one"
        assert connection.answer().status == 204
        # The one before is allowed, from an origin that is late (delay-once consistency).
        assert connection.answer().body in (b"one", b"two")
    deployment.wait_for_write("/pipelined.txt", b"two")
    assert curl(deployment.url + "/pipelined.txt").body == b"two"


def test_request_that_comes_byte_by_byte(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        for byte in b"GET /numbered/2 HTTP/1.1\r\nHost: localhost\r\n\r\n":
            connection.send(bytes([byte]))
        assert connection.answer().body == b"page 2"


def test_connection_is_kept_alive(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        for number in range(100):
            number %= 20
            assert connection.get(f"/numbered/{number}").body == b"page %d" % number


@pytest.mark.parametrize("head", [
    b"GET /numbered/3 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"GET /numbered/3 HTTP/1.0\r\nHost: localhost\r\n\r\n",
], ids=["connection-close", "http-1.0"])
def test_connection_is_closed_when_asked(deployment, head):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(head)
        assert connection.answer().body == b"page 3"
        assert connection.ended()


def test_client_that_stops_sending_gets_its_answers(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"GET /numbered/4 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
        connection.shut_down_sending()
        for _ in range(3):
            assert connection.answer().body == b"page 4"
        assert connection.ended()


def test_not_found_is_agreed_on(deployment):
    for _ in range(8):
        assert curl(deployment.url + "/no/such/page").status == 404


def test_conditional_request(deployment):
    tag = curl(deployment.url + "/numbered/5").field("etag")
    if tag is None:  # an unsketched answer carries none
        tag = curl(deployment.url + "/numbered/5").field("etag")
    assert tag.startswith('"')
    for _ in range(8):  # whichever origin is drawn, the tag is the same
        answer = curl(deployment.url + "/numbered/5", "-H", f"If-None-Match: {tag}")
        assert (answer.status, answer.body) == (304, b"")
    answer = curl(deployment.url + "/numbered/5", "-H", 'If-None-Match: "another"')
    assert (answer.status, answer.body) == (200, b"page 5")


def test_different_hosts_and_queries_are_different_requests(deployment):
    before = deployment.sketcher.counters()
    for host in ("a.example", "b.example"):
        for query in ("", "?x=1", "?x=2"):
            answer = curl(deployment.url + "/numbered/6" + query, "-H", f"Host: {host}")
            assert answer.body == b"page 6"
    assert growth(deployment, before, "fast", "replicated") == (0, 6)


def test_honest_origins_are_not_accused(deployment):
    """Runs last in this module. Only a replica that is late with a write, and answers a read as
    before it, may be reported: for a page that was written here."""
    written = ("/put.txt", "/large.bin", "/gone.txt", "/chunked.txt", "/expected.txt",
               "/pipelined.txt")
    events = deployment.sketcher.divergences()
    assert [event for event in events if event["request"]["target"] not in written] == []


def test_options_are_ordered_and_answered_by_the_origins(deployment):
    before = deployment.sketcher.counters()
    straight = curl(f"http://127.0.0.1:{deployment.origins[0].port}/index.html",
                    "--request", "OPTIONS")
    answer = curl(deployment.url + "/index.html", "--request", "OPTIONS")
    assert answer.status == straight.status == 200
    assert {"GET", "DELETE", "OPTIONS"} <= set(answer.field("allow").split(","))
    for name in ("allow", "dav", "ms-author-via"):
        assert answer.field(name) == ", ".join(straight.field_values(name))
    after = deployment.sketcher.counters()
    assert after["writes"] == before["writes"] + 1
    assert after["replicated"] == before["replicated"] + 1
