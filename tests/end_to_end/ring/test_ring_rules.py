"""Rules of routes in a ring of three sketchers: whichever a client comes to, and whichever owns the page, each
rule, coding and limit holds once."""

import gzip

import pytest

from harness.apache import load_module
from harness.http_client import RawConnection
from harness.http_client import curl as plain_curl
from harness.processes import HarnessError, wait_until
from harness.ring import RingDeployment

TEXT = b"".join(b"line %d of a long text\n" % (number % 211) for number in range(500))
VOTE = {"name": "site", "kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None,
        "key_file": None, "canonical": {"keyed_headers": ["x-realm"]}}
NAMES = ["a", "b", "c"]
PAGES = [f"page-{number}.html" for number in range(24)]
APACHE = "\n".join([
    load_module("headers"), load_module("rewrite"),
    'Header set X-Debug "inner"', 'Header set X-Frame-Options "ALLOW"', "Header echo ^x-realm$",
    "RewriteEngine on", "RewriteRule ^/in/in/moved-([0-9]+)$ /in/in/in/in/new-$1?q [R=302]"])
ROUTES = [
    {"name": "site", "added_answer_headers": ["X-Site: one"], "dropped_answer_headers": ["x-debug"],
     "set_answer_headers": ["X-Frame-Options: DENY"], "compression": {}},
    # Twice, it would be another path.
    {"name": "in", "path_prefix": "/in", "rewritten_prefix": "/in/in", "set_request_headers": ["X-Realm: inside"],
     "added_answer_headers": ["X-Site: in"]},
    {"name": "old", "path_prefix": "/old", "redirect": {"path_prefix": "/in", "status": 301}},
    {"name": "busy", "path_prefix": "/busy", "maintenance_page": "soon.html", "mode": "maintenance"},
    {"name": "rate", "path_prefix": "/rate", "clients": {"requests_per_second": 1, "burst": 3}},
    {"name": "few", "path_prefix": "/few", "clients": {"requests_in_flight": 2, "denied": ["192.0.2.66"]}},
]


def curl(url, *options):
    """All members serve one site: its name is part of a URI, and so of what has an owner."""
    return plain_curl(url, "-H", "Host: site", *options)


@pytest.fixture(scope="module", name="ring")
def _ring():
    content = {f"{folder}/{page}": TEXT for folder in ("", "/in/in", "/rate", "/few") for page in PAGES}
    changes = {"group": VOTE, "route": ROUTES, "compression": {"processor_share": 1.0},
               "listener": {"trusted_peers": ["127.0.0.1"]}}
    ring = RingDeployment(members=NAMES, agents=False, start=False, content={"/index.html": TEXT, **content},
                          apache_additions=dict.fromkeys(range(4), APACHE), sketcher_changes=changes)
    for member in ring.members.values():
        (member.folder / "soon.html").write_text("<h1>Back soon</h1>\n")
    with ring:
        ring.start()
        yield ring


def answered_elsewhere(ring, name):
    return sum(ends["answered"] for ends in ring.forwarded(name).values())


def foreign(ring, name, folder="", pages=PAGES):
    """A page of this folder that the member forwards. Each is asked for by another client: one alone
    would be over its rate before."""
    for number, page in enumerate(pages):
        before = answered_elsewhere(ring, name)
        curl(f"{ring.members[name].url}{folder}/{page}", "-H", f"X-Forwarded-For: 198.51.100.{number}")
        if answered_elsewhere(ring, name) > before:
            return f"{folder}/{page}"
    raise HarnessError(f"{name} forwards no page of {folder}")


@pytest.mark.parametrize("name", NAMES)
def test_fields_of_answers_are_changed_once(ring, name):
    for path in (foreign(ring, name), f"/{PAGES[0]}", f"/{PAGES[1]}"):
        answer = curl(ring.members[name].url + path)
        assert (answer.status, answer.body) == (200, TEXT)
        assert answer.field_values("x-site") == ["one"]
        assert answer.field_values("x-frame-options") == ["DENY"]
        assert answer.field("x-debug") is None


@pytest.mark.parametrize("name", NAMES)
def test_prefixes_and_fields_of_requests_are_changed_once(ring, name):
    url = ring.members[name].url
    path = foreign(ring, name, "/in")
    answer = curl(url + path)
    assert (answer.status, answer.body) == (200, TEXT)
    assert answer.field_values("x-realm") == ["inside"]
    assert answer.field_values("x-site") == ["in"]
    # And changed back once, in an answer that another member made and in one of its own.
    elsewhere = {False, True}
    for number in range(48):
        before = answered_elsewhere(ring, name)
        moved = curl(f"{url}/in/moved-{number}")
        assert moved.status == 302
        assert moved.field_values("location") == [f"http://site/in/in/in/new-{number}?q"]
        elsewhere.discard(answered_elsewhere(ring, name) > before)
        if not elsewhere:
            return
    raise HarnessError("all of these answers were made at one place")


@pytest.mark.parametrize("name", NAMES)
def test_redirects_and_pages_of_our_own_are_made_where_the_client_comes_to(ring, name):
    url = ring.members[name].url
    before = answered_elsewhere(ring, name)
    for page in PAGES:
        moved = curl(f"{url}/old/{page}?q")
        assert (moved.status, moved.field_values("location")) == (301, [f"http://site/in/{page}?q"])
        soon = curl(f"{url}/busy/{page}")
        assert (soon.status, soon.body) == (503, b"<h1>Back soon</h1>\n")
        assert soon.field_values("retry-after") == ["60"]
    assert answered_elsewhere(ring, name) == before


def test_bodies_are_coded_once_and_alike(ring):
    for page in PAGES[:8]:
        answers = [curl(f"{member.url}/{page}", "-H", "Accept-Encoding: gzip") for member in ring.members.values()]
        for answer in answers:
            assert answer.status == 200
            assert answer.field_values("content-encoding") == ["gzip"]
            assert answer.field_values("vary") == ["accept-encoding"]
            assert int(answer.field("content-length")) == len(answer.body)
            assert gzip.decompress(answer.body) == TEXT
            assert answer.field_values("x-site") == ["one"]
        assert len({answer.field("etag") for answer in answers}) == 1
        tag = answers[0].field("etag")
        for member in ring.members.values():
            again = curl(f"{member.url}/{page}", "-H", "Accept-Encoding: gzip", "-H", f"If-None-Match: {tag}")
            assert (again.status, again.body) == (304, b"")
            plain = curl(f"{member.url}/{page}")
            assert plain.field("content-encoding") is None and plain.body == TEXT
            assert plain.field("etag") != tag


def test_a_client_has_its_rate_once_at_each_member_whoever_owns_the_page(ring):
    """A forwarded request is not counted again by the owner."""
    client = 0
    for name in NAMES:
        path = foreign(ring, name, "/rate")
        for _ in range(2):  # of clients
            client += 1
            asked = ("-H", f"X-Forwarded-For: 192.0.2.{client}")
            answers = [curl(ring.members[name].url + path, *asked) for _ in range(5)]
            assert [answer.status for answer in answers[:3]] == [200] * 3
            assert 429 in [answer.status for answer in answers[3:]]
            # The others have not counted it.
            for other in set(NAMES) - {name}:
                assert curl(ring.members[other].url + path, *asked).status == 200


def test_who_may_not_ask_is_refused_at_every_member_and_nowhere_else(ring):
    before = {name: answered_elsewhere(ring, name) for name in NAMES}
    for member in ring.members.values():
        for page in PAGES[:6]:
            refused = curl(f"{member.url}/few/{page}", "-H", "X-Forwarded-For: 192.0.2.66")
            assert (refused.status, refused.field("prophecy-reason")) == (403, "client-denied")
    assert {name: answered_elsewhere(ring, name) for name in NAMES} == before


def test_requests_in_flight_are_counted_where_the_client_comes_to(ring):
    """Answers that the owner awaits count at the member that forwards, and only there."""
    path = foreign(ring, "a", "/few")
    asked = ("-H", "X-Forwarded-For: 192.0.2.77", "--max-time", "1")

    def status(name):
        try:
            return curl(f"{ring.members[name].url}{path}", *asked).status
        except HarnessError:
            return None  # it was let in, and waits

    request = f"GET {path} HTTP/1.1\r\nHost: site\r\nX-Forwarded-For: 192.0.2.77\r\n\r\n".encode()
    for origin in ring.origins:
        origin.pause()
    try:
        with RawConnection(ring.members["a"].port) as one, RawConnection(ring.members["a"].port) as two:
            one.send(request)
            two.send(request)
            assert 429 in [status("a") for _ in range(4)]
            assert status("b") is None and status("c") is None
    finally:
        for origin in ring.origins:
            origin.resume()
    wait_until(lambda: status("a") == 200, 15, "the places of the requests that were answered")
