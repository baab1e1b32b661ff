"""On a route that is off nothing stands in for an origin that fails but another one; so its reads
are sent to another, as a load balancer does."""

import time

import pytest

from harness import Deployment
from harness.build import patience
from harness.health import ALWAYS_DRAWN
from harness.http_client import curl
from harness.scripted_origin import ScriptedOrigin

PAGE = b"page\n"
GOOD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\npage\n"
GROUP = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None,
         # Nobody is taken out of the draw by what this test does.
         "health": ALWAYS_DRAWN}
ROUTES = [{"name": "off", "mode": "off"}]
READS = 48  # of which each of four origins is drawn for some, but once in a million runs


def changes(**more):
    return {"group": GROUP, "route": ROUTES, **more}


def fast_failures(deployment, end):
    return [origin["fast_failures"][end] for origin in deployment.sketcher.status()["origins"]]


def test_a_hung_origin_costs_time_and_no_error():
    timeouts = {"answer": f"{400 * patience()}ms"}
    with Deployment(content={"/index.html": PAGE}, agents=False,
                    sketcher_changes=changes(timeouts=timeouts)) as deployment:
        deployment.origins[2].pause()
        try:
            slowest = 0
            for _ in range(READS):
                began = time.monotonic()
                assert curl(deployment.url + "/").body == PAGE
                slowest = max(slowest, time.monotonic() - began)
            timed_out = fast_failures(deployment, "timed-out")
            assert timed_out[2] > 0 and sum(timed_out) == timed_out[2]
            assert slowest < 5 * patience()
            assert deployment.sketcher.counters()["unverified"] == READS
            # Two that hang are one more than the group is made for: then it is told.
            deployment.origins[0].pause()
            # One read in six draws both.
            answers = set()
            for _ in range(100):
                answers.add(curl(deployment.url + "/").status)
                if answers == {200, 504}:
                    break
            assert answers == {200, 504}
            # A write is not repeated.
            failed = deployment.sketcher.counters()["failed"]
            assert curl(deployment.url + "/", "-X", "POST", "-d", "x").status == 405
            assert deployment.sketcher.counters()["failed"] == failed + 1
        finally:
            for origin in (deployment.origins[0], deployment.origins[2]):
                origin.resume()


@pytest.mark.parametrize("answer", [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\npage\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: set-cookie\r\nSet-Cookie: a=b\r\n\r\npage\n"])
def test_nonsense_is_replaced_by_another_answer(answer):
    """No HTTP, or HTTP that may not be passed on."""
    with Deployment(agents=False, start=False, sketcher_changes=changes()) as deployment:
        servers = [ScriptedOrigin(origin.port, lambda head, number=number:
                                  [answer if number == 1 else GOOD])
                   for number, origin in enumerate(deployment.origins)]
        try:
            deployment.sketcher.start()
            for _ in range(READS):
                result = curl(deployment.url + "/")
                assert (result.status, result.body) == (200, PAGE)
                assert result.field("set-cookie") is None
            malformed = fast_failures(deployment, "malformed")
            assert malformed[1] > 0 and sum(malformed) == malformed[1]
            assert deployment.sketcher.counters()["unverified"] == READS
        finally:
            deployment.sketcher.stop()
            for server in servers:
                server.close()


def test_what_is_too_large_is_so_everywhere():
    limits = {"answer": "1KiB"}
    large = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" + bytes(1 << 20)
             + b"\r\n0\r\n\r\n")
    asked = []

    def answer(head):
        asked.append(head)
        return [large]

    with Deployment(agents=False, start=False,
                    sketcher_changes=changes(limits=limits)) as deployment:
        servers = [ScriptedOrigin(origin.port, answer) for origin in deployment.origins]
        try:
            deployment.sketcher.start()
            result = curl(deployment.url + "/")
            assert (result.status, result.field("prophecy-reason")) == (502, "answer-too-large")
            assert len(asked) == 1
        finally:
            deployment.sketcher.stop()
            for server in servers:
                server.close()
