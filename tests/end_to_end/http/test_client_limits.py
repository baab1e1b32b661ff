"""Limits for one client of a route: requests a second, requests in flight, addresses that may ask."""

import time
from contextlib import closing
from urllib.request import urlopen

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl
from harness.ports import PortReservation

PAGE = b"<p>The page.</p>\n"
VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None,
        "key_file": None}
TRUSTED = ["127.0.0.1"]
ROUTES = [
    {"name": "site"},
    {"name": "rate", "path_prefix": "/rate",
     "clients": {"requests_per_second": 1, "burst": 3, "unlimited": ["192.0.2.200"]}},
    {"name": "key", "path_prefix": "/key",
     "clients": {"field": "X-Api-Key", "requests_per_second": 1, "burst": 2}},
    {"name": "few", "path_prefix": "/few", "clients": {"requests_in_flight": 2}},
    {"name": "inner", "path_prefix": "/inner",
     "clients": {"allowed": ["127.0.0.0/8", "2001:db8::/32"], "denied": ["127.0.0.9"]}},
]


@pytest.fixture(scope="module", name="site")
def _site():
    content = {f"/{name}/a": PAGE for name in ("rate", "key", "few", "inner")}
    with closing(PortReservation(1)) as ports:
        changes = {"sketcher": {"workers": 2, "metrics": f"127.0.0.1:{ports.ports[0]}"},
                   "group": VOTE, "route": ROUTES, "listener": {"trusted_peers": TRUSTED}}
        with Deployment(agents=False, content={"/index.html": PAGE, **content},
                        sketcher_changes=changes) as deployment:
            deployment.metrics = f"http://127.0.0.1:{ports.ports[0]}/metrics"
            yield deployment


def ask(site, path, client="192.0.2.1", *options):
    return curl(site.url + path, "-H", f"X-Forwarded-For: {client}", *options)


def statuses(site, count, *arguments):
    return [ask(site, *arguments).status for _ in range(count)]


def test_a_client_beyond_its_rate_is_told_when_to_come_back(site):
    assert statuses(site, 3, "/rate/a") == [200, 200, 200]
    refused = ask(site, "/rate/a")
    assert (refused.status, refused.field("prophecy-reason")) == (429, "too-many-requests")
    assert refused.field("retry-after") == "1"
    # The others are not concerned: another address, another network of IPv6, an exempt one.
    assert ask(site, "/rate/a", "192.0.2.2").status == 200
    assert statuses(site, 4, "/rate/a", "2001:db8:1::1")[:3] == [200, 200, 200]
    assert ask(site, "/rate/a", "2001:db8:1::2").status == 429
    assert ask(site, "/rate/a", "2001:db8:1:1::2").status == 200
    assert set(statuses(site, 8, "/rate/a", "192.0.2.200")) == {200}
    assert set(statuses(site, 8, "/")) == {200}
    time.sleep(1.1)
    assert ask(site, "/rate/a").status == 200


def test_a_field_names_the_client(site):
    first = ("-H", "X-Api-Key: one")
    assert [ask(site, "/key/a", f"192.0.2.{n}", *first).status for n in range(3)] == [200, 200, 429]
    assert ask(site, "/key/a", "192.0.2.1", "-H", "X-Api-Key: two").status == 200
    assert [ask(site, "/key/a", "192.0.2.7").status for _ in range(3)] == [200, 200, 429]


def test_requests_in_flight_are_bounded_and_a_place_is_given_back(site):
    head = (b"PUT /few/new HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.30\r\n"
            b"Content-Length: 4\r\n\r\nab")
    with RawConnection(site.sketcher.port) as one, RawConnection(site.sketcher.port) as other:
        one.send(head)
        other.send(head.replace(b"new", b"more"))
        time.sleep(0.3)
        refused = ask(site, "/few/a", "192.0.2.30")
        assert (refused.status, refused.field("prophecy-reason")) == (429, "too-many-in-flight")
        assert ask(site, "/few/a", "192.0.2.31").status == 200
        one.send(b"cd")
        assert one.answer().status == 201
        assert ask(site, "/few/a", "192.0.2.30").status == 200
        other.reset()
        time.sleep(0.3)
    assert set(statuses(site, 4, "/few/a", "192.0.2.30")) == {200}
    # And over HTTP/2, where many share one connection.
    assert ask(site, "/few/a", "192.0.2.30", "--http2-prior-knowledge").status == 200


def test_addresses_decide_who_may_ask(site):
    assert ask(site, "/inner/a", "127.0.0.5").status == 200
    assert ask(site, "/inner/a", "2001:db8::7").status == 200
    for client in ("127.0.0.9", "192.0.2.1", "2001:db9::1"):
        refused = ask(site, "/inner/a", client)
        assert (refused.status, refused.field("prophecy-reason")) == (403, "client-denied"), client


def test_what_was_refused_is_counted(site):
    with urlopen(site.metrics) as answer:
        text = answer.read().decode()
    for route, limit in (("rate", "rate"), ("key", "rate"), ("few", "in_flight"),
                         ("inner", "denied")):
        [value] = [line.rpartition(" ")[2] for line in text.splitlines()
                   if line.startswith("prophecy_limited_total{") and f'route="{route}"' in line
                   and f'limit="{limit}"' in line]
        assert int(value) > 0, (route, limit)
    assert site.sketcher.counters()["too_often"] > 0
