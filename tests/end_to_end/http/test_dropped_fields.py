"""Fields that a route takes out of its requests, before origins that keep what they are sent."""

from harness import Deployment
from harness.http_client import curl
from harness.recording_origin import RecordingOrigin
from harness.replicas import ctl_json

VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None,
        "key_file": None}
ROUTES = [{"name": "site"},
          {"name": "static", "path_prefix": "/static",
           "dropped_request_headers": ["Cookie", "accept-language", "x-remote-user"]}]
PAGE = b"<p>The page.</p>\n"


def answer(_request):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(PAGE), PAGE), False


def visit(deployment, path, visitor, *options):
    page = curl(deployment.url + path, "-H", f"Cookie: visitor={visitor}", "-H",
                f"Accept-Language: {visitor}", "-H", f"X_Remote_User: {visitor}", *options)
    assert (page.status, page.body) == (200, PAGE)


def test_dropped_fields_reach_no_origin_and_divide_no_history():
    deployment = Deployment(agents=False, start=False,
                            sketcher_changes={"group": VOTE, "route": ROUTES})
    with deployment:
        origins = [RecordingOrigin(origin.port, answer) for origin in deployment.origins]
        try:
            deployment.sketcher.start()
            for visitor in ("de", "en", "fr"):
                visit(deployment, "/static/logo", visitor)
            counters = deployment.sketcher.counters()
            assert (counters["replicated"], counters["fast"]) == (1, 2)
            for visitor in ("de", "en", "fr"):
                visit(deployment, "/own", visitor)
            assert deployment.sketcher.counters()["replicated"] == 4
            for path in ("/static/new", "/new"):
                visit(deployment, path, "root", "-X", "PUT", "-d", "x", "-H", "Content-Type: t/x")
            sent = [piece.lower() for origin in origins for piece in origin.received]
            dropped = [piece for piece in sent if b" /static/" in piece]
            assert len(dropped) >= 3
            for piece in dropped:
                assert not any(name in piece for name in (b"cookie", b"accept-language", b"remote"))
            assert any(b"x_remote_user: root" in piece for piece in sent if b"put /new " in piece)
            assert all(b"content-type: t/x" in piece for piece in dropped if b"put /" in piece)
            # And an operator who asks with a cookie asks for the same entry.
            [found] = ctl_json("history", "get", f"{deployment.url}/static/logo", "-H", "Accept: */*",
                               "-H", "Cookie: visitor=other", "--admin",
                               deployment.sketcher.admin, "--json")
            assert found["entry"] is not None
        finally:
            for origin in origins:
                origin.close()
