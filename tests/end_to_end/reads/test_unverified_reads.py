"""Reads whose answers nothing verifies, from an origin that says more than it was asked: no other client
gets that for its own. (Verified ones may share connections; their sketches tell.)"""

import threading

import pytest

from harness import Deployment
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection
from harness.scripted_origin import ScriptedOrigin

READERS = 6
READS = 40


def framed(body):
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def answer(head):
    path = head.split(b" ")[1]
    yield framed(path) + (framed(b"planted") if path.startswith(b"/more") else b"")


@pytest.mark.parametrize("route", [{"mode": "observe"}, {"mode": "off"}, {"whitelist": ["/"]}],
                         ids=["observe", "off", "whitelist"])
def test_what_an_origin_adds_goes_to_nobody(route):
    changes = {"group": {"kind": "vote", "faults": 1, "file": None, "client_id": None,
                         "key_file": None, "health": ALWAYS_DRAWN},
               "origins": {"pipeline_max": 16, "connections_max": 2}, "route": [route]}
    wrong, read = [], []
    with Deployment(agents=False, start=False, sketcher_changes=changes) as deployment:
        servers = [ScriptedOrigin(origin.port, answer) for origin in deployment.origins]
        deployment.sketcher.start()

        def ask(reader):
            with RawConnection(deployment.sketcher.port) as connection:
                for number in range(READS):
                    # Theirs is either right or refused, as it comes with more than its own.
                    connection.get(f"/more/{reader}/{number}")
                    path = f"/{reader}/{number}"
                    got = connection.get(path)
                    (read if got.body == path.encode() else wrong).append((path, got.status, got.body))

        threads = [threading.Thread(target=ask, args=(reader,)) for reader in range(READERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for server in servers:
            server.close()
    assert wrong == []
    assert len(read) == READERS * READS
