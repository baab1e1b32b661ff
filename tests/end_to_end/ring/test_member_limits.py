"""Where members come to: what strangers may take there, and room for what members add to the messages of others."""

import os
import socket

from harness.http_client import curl as plain_curl
from harness.processes import wait_until
from harness.ring import RingDeployment

VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None, "key_file": None}
PAGES = [f"/{'p' * 60}{number}" for number in range(12)]


def curl(member, path, *options, **more):
    return plain_curl(member.url + path, "-H", "Host: site", *options, **more)


def votes(apache="", **changes):
    return RingDeployment(members=["a", "b"], agents=False, content=dict.fromkeys(PAGES, "page"),
                          apache_additions=dict.fromkeys(range(4), apache),
                          sketcher_changes={"group": VOTE, **changes})


def test_strangers_who_begin_handshakes_have_a_bound():
    """As many as like to connect: they hold 256 places at most, and keep no member out."""
    with votes(timeouts={"header": "1m"}) as ring:
        a, b = ring.members["a"], ring.members["b"]
        strangers = []
        try:
            for _ in range(400):
                strangers.append(socket.create_connection(("127.0.0.1", ring.member_ports["b"][0])))
            wait_until(lambda: b.status()["refusals"].get("TLS: too many handshakes", 0) >= 144, 10, "the refusals")
            for page in PAGES:
                assert curl(a, page).body == b"page"
            assert sum(ring.forwarded("a")["b"].values()) > 0
            [worker] = b.workers()
            assert len(os.listdir(f"/proc/{worker}/fd")) < 256 + 100
        finally:
            for stranger in strangers:
                stranger.close()


def test_an_answer_that_rules_have_made_longer_than_an_origins_may_be_is_passed_on():
    """One sketcher sends it, so two do."""
    policy = "x" * 1500
    with votes(limits={"answer_header": "1KiB"},
               route=[{"name": "site", "added_answer_headers": [f"X-Policy: {policy}"]}]) as ring:
        for member in ring.members.values():
            for page in PAGES:
                answer = curl(member, page)
                assert (answer.status, answer.field("x-policy")) == (200, policy)


def test_a_write_names_a_uri_elsewhere_that_no_client_may_ask_for():
    """Its owner is told all the same, so the client gets its answer."""
    apache = f'Header always set Location "?{"q" * 110}"'
    with votes(apache, limits={"target": "128B"}, timeouts={"total": "3s"}) as ring:
        for page in PAGES:
            answer = curl(ring.members["a"], page, "-X", "PUT", "--data-binary", "written")
            assert (answer.status, answer.field("prophecy-reason")) == (204, None)
        for member in ring.members.values():
            assert {curl(member, page).body for page in PAGES} == {b"written"}
