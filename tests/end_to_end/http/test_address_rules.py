"""Origins that let a client in by its address: real Apaches with mod_remoteip and `Require ip`.

Neither a client's address nor anything else outside the key may enter the history, and a rule that
trusts an address has to stay closed for the group's reads."""

import threading

import pytest

from harness import Deployment
from harness.apache import load_module
from harness.http_client import RawConnection

SECRET = "<p>For members of the house.</p>\n"
RULES = load_module("remoteip") + load_module("authz_host") + """\
RemoteIPHeader X-Forwarded-For
RemoteIPInternalProxy 127.0.0.1
<Location "/intranet/">
  Require ip 10.0.0.0/8
</Location>
<Location "/server/">
  Require local
</Location>
"""
INSIDER = "10.1.2.3"
# Chains that somebody outside of 10.0.0.0/8 may come with, and nothing at all.
OUTSIDERS = ["203.0.113.9", "10.1.2.3, 203.0.113.9", "127.0.0.1, 203.0.113.9", "192.0.2.1",
             "2001:db8::1", "unknown, 203.0.113.9"]


def deployment(**options):
    """Behind a load balancer that is trusted. The large page is agreed on in blocks."""
    canonical = {"whole_answer": "4KiB", "answer_block": "4KiB", **options.pop("canonical", {})}
    return Deployment(
        content={f"/{folder}/{name}": SECRET * times for folder in ("intranet", "server")
                 for name, times in (("page", 1), ("large", 400))},
        apache_additions={number: RULES for number in range(4)}, canonical=canonical,
        sketcher_changes={"listener": {"trusted_peers": ["127.0.0.1"]}}, **options)


def read(client, path, chain):
    """Whether the page came, or was forbidden."""
    line = f"X-Forwarded-For: {chain}\r\n" if chain else ""
    client.send(f"GET {path} HTTP/1.1\r\nHost: site\r\n{line}\r\n".encode())
    answer = client.answer()
    assert answer.status in (200, 403)
    assert (SECRET.encode() in answer.body) == (answer.status == 200)
    return answer.status == 200


@pytest.mark.parametrize("folder", ["intranet", "server"])
@pytest.mark.parametrize("name", ["page", "large"])
def test_nobody_gets_a_page_by_the_address_of_another(folder, name):
    with deployment() as world:
        path = f"/{folder}/{name}"
        done = threading.Event()
        got = []

        def read_from_inside():
            with RawConnection(world.sketcher.port) as client:
                while not done.is_set():
                    got.append(read(client, path, INSIDER if folder == "intranet" else "127.0.0.1"))

        insiders = [threading.Thread(target=read_from_inside) for _ in range(4)]
        for insider in insiders:
            insider.start()
        try:
            with RawConnection(world.sketcher.port) as client:
                for _ in range(40):
                    for chain in OUTSIDERS:
                        assert not read(client, path, chain)
        finally:
            done.set()
            for insider in insiders:
                insider.join()
        # The rule does not open for the group, so it opens for nobody.
        assert got and not any(got)


def test_a_route_that_keys_the_address_serves_each_client_its_own():
    with deployment(canonical={"key_client_address": True}) as world:
        with RawConnection(world.sketcher.port) as client:
            for path in ("/intranet/page", "/intranet/large"):
                for _ in range(3):
                    assert read(client, path, INSIDER)
                    for chain in OUTSIDERS:
                        assert not read(client, path, chain)
            for _ in range(3):
                assert read(client, "/server/page", "")  # the load balancer itself
        assert world.sketcher.counters()["fast"] > 0
        assert world.sketcher.divergences() == []
