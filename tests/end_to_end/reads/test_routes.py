"""Routes: which group a request goes to, how it is answered there, and switching that at run time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import Deployment
from harness.health import ALWAYS_DRAWN
from harness.http_client import curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.replicas import ctl
from harness.scripted_origin import ScriptedOrigin

PAGE = b"page\n"
LIE = b"a lie\n"


def set_mode(deployment, mode, route="default"):
    ctl("route", "--admin", deployment.sketcher.admin, route, mode)


def get(deployment, path="/", host="any.example"):
    return curl(deployment.url + path, "-H", f"Host: {host}")


def settle(deployment, path="/"):
    """Until the history vouches for the page."""
    assert get(deployment, path).status == 200
    before = deployment.sketcher.counters()["fast"]
    assert get(deployment, path).status == 200
    wait_until(lambda: deployment.sketcher.counters()["fast"] == before + 1, 5, "a fast read")


def test_host_and_path_choose_the_group():
    with Deployment(content={"/index.html": PAGE, "/static/a": b"static\n"}, start=False) as one:
        ordered = one.sketcher.settings["group"][0]
        # The same Apaches once more, without agents.
        static = {"name": "static", "kind": "vote", "origin": ordered["origin"]}
        one.sketcher.settings["group"] = [{**ordered, "name": "ordered"}, static]
        one.sketcher.settings["route"] = [
            {"name": "all", "hosts": ["www.example.org"], "group": "ordered"},
            {"name": "files", "hosts": ["www.example.org"], "path_prefix": "/static",
             "group": "static"},
            {"name": "below", "hosts": ["*.example.net"], "path_prefix": "/static",
             "group": "static"},
        ]
        one.sketcher.write_configuration()
        one.start()
        sketcher = one.sketcher

        def routed():
            return {route["name"]: route["requests"] for route in sketcher.status()["routes"]}

        assert get(one, "/", "www.example.org").body == PAGE
        assert get(one, "/", "WWW.example.org:80").body == PAGE
        assert get(one, "/static/a", "www.example.org").body == b"static\n"
        assert get(one, "/static/a", "x.example.net").body == b"static\n"
        assert get(one, "/staticky", "www.example.org").status == 404  # Apache's own
        assert routed() == {"all": 3, "files": 1, "below": 1}
        for path, host, status, reason in [
                ("/", "x.example.net", 404, "no-route"),
                ("/", "other.example", 421, "unknown-host"),
                ("/%73tatic/a", "www.example.org", 400, "ambiguous-path"),
                ("/x/%2e%2e/static/a", "www.example.org", 400, "ambiguous-path"),
                ("/%2573tatic/a", "www.example.org", 400, "ambiguous-path"),
                ("/" + 4096 * "a" + ";\\%5c%3b%25", "www.example.org", 414,
                 "path-with-too-many-readings")]:
            answer = get(one, path, host)
            assert (answer.status, answer.field("prophecy-reason")) == (status, reason)
        assert routed() == {"all": 3, "files": 1, "below": 1}
        assert sketcher.counters()["refused"] == 6
        # A write where the group takes none; in the other group it is one.
        assert curl(one.url + "/static/a", "-X", "PUT", "-d", "x", "-H",
                    "Host: www.example.org").status == 405
        assert curl(one.url + "/new", "-X", "PUT", "-d", "x", "-H",
                    "Host: www.example.org").status == 201


@pytest.fixture(scope="module", name="lying")
def _lying():
    """Origin 3 lies about one page, and is as good as the others for the rest."""
    with Deployment(content={"/index.html": PAGE, "/other": PAGE}, sketcher_changes={
            "group": {"health": ALWAYS_DRAWN}}) as deployment:
        settle(deployment)
        deployment.origins[3].write("/index.html", LIE)
        yield deployment


def bodies(deployment, count=40):
    return {get(deployment).body for _ in range(count)}


def test_enforced_answers_are_verified(lying):
    set_mode(lying, "enforce")
    assert bodies(lying) == {PAGE}
    assert lying.sketcher.counters()["unverified"] == 0


def test_observed_answers_come_from_one_replica_and_lies_are_recorded(lying):
    set_mode(lying, "observe")
    known = len(lying.sketcher.divergences())
    before = lying.sketcher.counters()
    assert bodies(lying) == {PAGE, LIE}
    after = lying.sketcher.counters()
    assert after["unverified"] > before["unverified"]
    assert after["fast"] > before["fast"]
    wait_until(lambda: len(lying.sketcher.divergences()) > known, 5, "the divergence")
    assert {event["replica"] for event in lying.sketcher.divergences()} == {3}
    [route] = lying.sketcher.status()["routes"]
    assert route["mode"] == "observe"


def test_what_is_off_is_not_compared(lying):
    set_mode(lying, "off")
    known = len(lying.sketcher.divergences())
    before = lying.sketcher.counters()
    assert bodies(lying) == {PAGE, LIE}
    after = lying.sketcher.counters()
    assert after["unverified"] - before["unverified"] == 40
    assert after["replicated"] == before["replicated"]
    assert len(lying.sketcher.divergences()) == known
    # A write goes to the group all the same.
    assert curl(lying.url + "/other", "-X", "PUT", "-d", "new").status == 204
    lying.wait_for_write("/other", b"new")


def test_the_kill_switch(lying):
    set_mode(lying, "enforce")
    assert bodies(lying) == {PAGE}
    ctl("bypass", "--admin", lying.sketcher.admin, "on")
    assert lying.sketcher.status()["bypass"] is True
    assert bodies(lying) == {PAGE, LIE}
    ctl("bypass", "--admin", lying.sketcher.admin, "off")
    assert bodies(lying) == {PAGE}
    log = lying.sketcher.child.log()
    assert "bypass-changed" in log and "route-mode-changed" in log


@pytest.mark.parametrize("arguments, expected", [
    (("route", "absent", "off"), 'there is no route "absent"'),
    (("route", "default", "of"), "enforce"),
    (("bypass", "maybe"), "on"),
])
def test_wrong_switches_change_nothing(lying, arguments, expected):
    set_mode(lying, "enforce")
    result = run_program("prophecyctl", arguments[0], "--admin", lying.sketcher.admin,
                         *arguments[1:])
    assert result.returncode != 0
    assert expected in result.stderr
    [route] = lying.sketcher.status()["routes"]
    assert (route["mode"], lying.sketcher.status()["bypass"]) == ("enforce", False)


def test_origins_that_are_down_on_a_route_that_is_off():
    with Deployment(content={"/index.html": PAGE}) as deployment:
        set_mode(deployment, "off")
        deployment.origins[0].kill()
        assert {get(deployment).status for _ in range(30)} == {200}
        for number in (1, 2, 3):
            deployment.origins[number].kill()
        answer = get(deployment)
        assert (answer.status, answer.field("prophecy-reason")) == (503, "origin-unavailable")


def test_equal_reads_share_one_call():
    """Many ask for a page that nobody has asked for, at origins that take their time."""
    count = 30
    with Deployment(agents=False, start=False, sketcher_changes={
            "group": {"kind": "vote", "faults": 1, "file": None, "client_id": None,
                      "key_file": None}}) as deployment:
        asked = []
        release = threading.Event()

        def slowly(head):
            asked.append(head)
            release.wait(10)
            yield b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\npage\n"

        servers = [ScriptedOrigin(origin.port, slowly) for origin in deployment.origins]
        try:
            deployment.sketcher.start()
            with ThreadPoolExecutor(count) as pool:
                reads = [pool.submit(get, deployment) for _ in range(count)]
                wait_until(lambda: deployment.sketcher.counters()["coalesced"] == count - 1, 10,
                           "all to wait for one")
                release.set()
                assert {read.result().body for read in reads} == {PAGE}
            assert len(asked) == len(servers)
        finally:
            release.set()
            deployment.sketcher.stop()
            for server in servers:
                server.close()


def test_the_slow_path_has_a_budget():
    """Reads that nobody has asked for before, more of them than the route may have replicated."""
    with Deployment(content={"/index.html": PAGE}, sketcher_changes={
            "route": {"slow_path_share": 0.1, "slow_path_per_second": 0}}) as deployment:
        # Absent pages: each is agreed on, and most of them are one too many.
        statuses = [get(deployment, f"/{number}").status for number in range(200)]
        assert set(statuses) == {404, 503}
        assert statuses[:100] == [404] * 100  # what may come at once
        assert statuses.count(404) <= 100 + 200 * 0.1 + 1
        counters = deployment.sketcher.counters()
        assert counters["over_budget"] == statuses.count(503)
        answer = get(deployment, "/another")
        assert (answer.status, answer.field("prophecy-reason")) == (503, "slow-path-budget")
        # What the history vouches for costs none of it.
        assert [get(deployment, "/0").status for _ in range(20)] == [404] * 20


def test_one_client_cannot_use_up_the_slow_path():
    with Deployment(content={"/index.html": PAGE}, sketcher_changes={
            "route": {"slow_path_per_client_second": 1}}) as deployment:
        statuses = [get(deployment, f"/{number}").status for number in range(40)]
        assert statuses[:20] == [404] * 20 and 503 in statuses[20:]
        other = curl(deployment.url + "/another", "--interface", "127.0.0.2")
        assert other.status == 404


def test_the_root_that_a_name_may_end_in_chooses_no_other_route():
    routes = [{"name": "secret", "hosts": ["secret.test"], "client_certificate": "required"},
              {"name": "any", "mode": "off"}]
    with Deployment(content={"/index.html": PAGE}, sketcher_changes={"route": routes}) as one:
        for host in ("secret.test", "secret.test.", "SECRET.test.:80", "secret.test.:1234"):
            for version in ("--http1.1", "--http2-prior-knowledge"):
                answer = curl(one.url + "/", version, "-H", f"Host: {host}")
                assert (answer.status, answer.field("prophecy-reason")) == (
                    403, "client-certificate-required"), host
        assert get(one, "/", "other.test.").body == PAGE
