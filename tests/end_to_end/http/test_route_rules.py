"""Rules of routes: redirects, fields set and taken out, rewritten prefixes, pages of our own, and
maintenance. With curl, and with Apaches that log what they were asked for."""

import pytest

from harness import Deployment
from harness.apache import load_module
from harness.http_client import RawConnection, curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.replicas import ctl, ctl_json

PAGE = b"<p>The page.</p>\n"
VOTE = {"name": "site", "kind": "vote", "faults": 1, "writes": "all", "file": None,
        "client_id": None, "key_file": None, "canonical": {"keyed_headers": ["x-realm"]}}
APACHE = "\n".join([
    load_module("headers"), load_module("rewrite"),
    'Header set X-Debug "inner"', 'Header set X-Frame-Options "ALLOW"',
    "Header echo ^x-realm$",
    "RewriteEngine on", "RewriteRule ^/app/moved$ /app/new?q [R=302]"])
ROUTES = [
    {"name": "site", "added_answer_headers": ["X-Site: one"], "dropped_answer_headers": ["x-debug"]},
    {"name": "outer", "path_prefix": "/outer", "rewritten_prefix": "/app",
     "set_request_headers": ["X-Realm: inside"],
     "set_answer_headers": ["X-Frame-Options: DENY", "Cache-Control: max-age=60"]},
    {"name": "old", "path_prefix": "/old", "redirect": {"path_prefix": "/outer", "status": 301}},
    {"name": "secure", "hosts": ["secure.example"],
     "redirect": {"scheme": "https", "host": "secure.example:8443"}},
    {"name": "busy", "path_prefix": "/busy", "maintenance_page": "soon.html",
     "maintenance_retry_after": 300, "error_page": [{"status": 405, "file": "no.txt",
                                                     "content_type": "text/plain"}]},
]


@pytest.fixture(scope="module", name="site")
def _site():
    content = {"/index.html": PAGE, "/app/index.html": PAGE, "/app/new": PAGE, "/busy/a": PAGE}
    deployment = Deployment(agents=False, start=False, content=content,
                            apache_additions=dict.fromkeys(range(4), APACHE),
                            sketcher_changes={"group": VOTE, "route": ROUTES,
                                              "listener": {"trusted_peers": ["127.0.0.1"]}})
    folder = deployment.sketcher.folder
    (folder / "soon.html").write_text("<h1>Back soon</h1>\n")
    (folder / "no.txt").write_text("Read only.\n")
    with deployment:
        deployment.start()
        yield deployment


def get(site, path, *options):
    return curl(site.url + path, *options)


def test_redirects_keep_path_and_query_and_the_connection(site):
    answer = get(site, "/old/new?q=1")
    assert (answer.status, answer.field("location")) == (301, f"{site.url}/outer/new?q=1")
    followed = get(site, "/old/", "--location")
    assert followed.body.endswith(PAGE)
    secure = get(site, "/x?y", "-H", "Host: secure.example:80")
    assert (secure.status, secure.field("location")) == (308, "https://secure.example:8443/x?y")
    assert secure.field("cache-control") is None
    with RawConnection(site.sketcher.port) as connection:
        assert connection.get("/old").status == 301
        assert connection.get("/old/a").status == 301
    # A write is not sent anywhere.
    before = site.sketcher.counters()
    assert get(site, "/old/w", "-X", "PUT", "-d", "x").status == 301
    after = site.sketcher.counters()
    assert (after["redirected"] - before["redirected"], after["writes"]) == (1, before["writes"])


def test_a_redirect_to_https_ends_behind_a_balancer_that_takes_tls_off(site):
    options = ("-H", "Host: secure.example:8443", "-H")
    for came_by, status in (("https", 200), ("http", 308), ("https, http", 308), ("", 308)):
        answer = get(site, "/app/new", *options, f"X-Forwarded-Proto: {came_by}")
        assert answer.status == status, came_by


def test_verified_answers_have_the_fields_of_their_route(site):
    for _ in range(3):
        answer = get(site, "/")
        assert (answer.status, answer.body) == (200, PAGE)
        assert answer.field("x-site") == "one"
        assert answer.field("x-debug") is None
        assert answer.field("x-frame-options") == "ALLOW"
    not_modified = get(site, "/", "-H", f"If-None-Match: {answer.field('etag')}")
    assert (not_modified.status, not_modified.field("x-site")) == (304, "one")


def test_a_rewritten_prefix_is_what_origins_are_asked_for_and_the_sketch_covers(site):
    before = site.sketcher.counters()
    for realm in ("mine", "yours", "root"):
        answer = get(site, "/outer/new", "-H", f"X-Realm: {realm}", "-H", f"X_Realm: {realm}")
        assert (answer.status, answer.body) == (200, PAGE)
        # Apache tells what it was sent, and the answer was verified with that.
        assert answer.field("x-realm") == "inside"
        assert answer.field_values("x-frame-options") == ["DENY"]
        assert answer.field_values("cache-control") == ["max-age=60"]
        assert answer.field("x-debug") == "inner"
    after = site.sketcher.counters()
    assert (after["replicated"] - before["replicated"], after["fast"] - before["fast"]) == (1, 2)
    # The same file by its own name has another key: it is asked for with another realm.
    assert get(site, "/app/new").body == PAGE
    assert site.sketcher.counters()["replicated"] == after["replicated"] + 1
    [entry] = ctl_json("history", "get", f"{site.url}/outer/new", "-H", "Accept: */*", "--admin",
                       site.sketcher.admin, "--json")
    assert entry["entry"] is not None
    assert get(site, "/outer/moved").field("location") == f"{site.url}/outer/new?q"


def test_what_leaves_the_rewritten_prefix_is_refused(site):
    for path in ("/outer/%2e%2e/index.html", "/outer/..%2findex.html", "/outer/..;/index.html"):
        answer = get(site, path, "--path-as-is")
        assert (answer.status, answer.field("prophecy-reason")) == (400, "ambiguous-path"), path


def test_a_write_through_a_rewritten_prefix_makes_reads_out_of_date(site):
    for _ in range(2):
        assert get(site, "/outer/written").status == 404
    assert get(site, "/outer/written", "-X", "PUT", "-d", "new").status == 201
    site.wait_for_write("/app/written", b"new")
    answer = get(site, "/outer/written")
    assert (answer.status, answer.body) == (200, b"new")


def test_maintenance_has_its_page_and_ends(site):
    def mode(name):
        ctl("route", "--admin", site.sketcher.admin, "busy", name)
        wait_until(lambda: any(route["name"] == "busy" and route["mode"] == name
                               for route in site.sketcher.status()["routes"]), 5, "the mode")

    assert get(site, "/busy/a").status == 200
    mode("maintenance")
    answer = get(site, "/busy/a")
    assert (answer.status, answer.body) == (503, b"<h1>Back soon</h1>\n")
    assert answer.field("retry-after") == "300"
    assert answer.field("content-type") == "text/html; charset=utf-8"
    assert answer.field("prophecy-reason") == "maintenance"
    assert get(site, "/busy/a", "--head").field("content-length") == "19"
    assert get(site, "/").status == 200
    # The switch that turns verification off does not bring it back.
    ctl("bypass", "--admin", site.sketcher.admin, "on")
    assert get(site, "/busy/a").status == 503
    ctl("bypass", "--admin", site.sketcher.admin, "off")
    mode("enforce")
    assert get(site, "/busy/a").body == PAGE


def test_a_field_that_the_sketch_does_not_cover_cannot_be_set():
    routes = [{"name": "site", "set_request_headers": ["X-Unkeyed: 1"]}]
    deployment = Deployment(agents=False, start=False,
                            sketcher_changes={"group": VOTE, "route": routes})
    with deployment:
        result = run_program("prophecy-sketcher", "--check", "--config",
                             deployment.sketcher.configuration)
        assert result.returncode != 0
        assert "expected fields that the sketch covers, found \"x-unkeyed\"" in result.stderr
