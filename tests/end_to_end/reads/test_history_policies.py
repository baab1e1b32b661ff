"""Who is asked for a read: blacklisted automatically for its transitions, or listed by an operator."""

import itertools
import os
import signal

import pytest

from harness import Deployment
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection
from harness.processes import wait_until
from harness.programs import run_program
from harness.replicas import ctl_json

CONTENT = {"/changing": b"version 0", "/still": b"static", "/static/page": b"page",
           "/live/page": b"live"}
# Otherwise the origin that lies is soon drawn no more.
ALL_DRAWN = {"health": ALWAYS_DRAWN}


def of_request(deployment, path, *options):
    [found] = ctl_json("history", "get", f"http://localhost{path}", "--admin",
                       deployment.sketcher.admin, "--json", *options)
    return found


def stats(deployment):
    return ctl_json("history", "stats", "--admin", deployment.sketcher.admin, "--json")


def write_everywhere(deployment, path, content):
    for origin in deployment.origins:
        origin.write(path, content)


def read_changing(deployment, client, versions, rounds):
    """Each time it has another content, which is the one that is read."""
    for _ in range(rounds):
        content = f"version {next(versions)}".encode()
        write_everywhere(deployment, "/changing", content)
        assert client.get("/changing").body == content


def test_what_changes_with_each_read_is_blacklisted_until_it_is_static():
    with Deployment(content=CONTENT) as deployment:
        versions = itertools.count(1)
        with RawConnection(deployment.sketcher.port) as client:
            for path in ("/changing", "/still"):
                client.get(path)
            for _ in range(16):
                read_changing(deployment, client, versions, 1)
                assert client.get("/still").body == b"static"
            before = deployment.sketcher.counters()
            assert before["avoided"] == 0
            assert of_request(deployment, "/changing")["activity"]["blacklisted_by"] == 1
            assert of_request(deployment, "/still")["activity"]["blacklisted_by"] == 0
            assert stats(deployment)["activity"]["blacklisted_automatically"] == 1

            read_changing(deployment, client, versions, 20)
            for _ in range(20):
                assert client.get("/still").body == b"static"
            after = deployment.sketcher.counters()
            assert after["avoided"] == 20
            # Transitions are found as before, and nobody's fast answer is called a lie. (An agent that
            # reads late finds the version after.)
            assert after["fast"] - before["fast"] == 20
            history = deployment.sketcher.status()["history"]
            assert history["transitions"] == 36
            assert history["blacklisted_automatically"] == 1
            assert not [event for event in deployment.sketcher.divergences()
                        if event["kind"] == "fast_read"]

            last = client.get("/changing").body
            for _ in range(40):
                assert client.get("/changing").body == last
            assert of_request(deployment, "/changing")["activity"]["blacklisted_by"] == 0
            assert deployment.sketcher.counters()["fast"] > after["fast"]
            assert deployment.sketcher.counters()["avoided"] < 20 + 40


def test_a_route_without_automatic_blacklisting():
    route = {"route": {"automatic_blacklist": False}}
    with Deployment(content=CONTENT, sketcher_changes=route) as deployment:
        with RawConnection(deployment.sketcher.port) as client:
            client.get("/changing")
            read_changing(deployment, client, itertools.count(1), 30)
        assert deployment.sketcher.counters()["avoided"] == 0
        activity = of_request(deployment, "/changing")["activity"]
        assert (activity["transitions"], activity["blacklisted_by"]) == (30, 0)


def test_an_origin_that_lies_or_fails_blacklists_nothing():
    with Deployment(content=CONTENT, sketcher_changes={"group": ALL_DRAWN}) as deployment:
        origin = deployment.origins[2]
        with RawConnection(deployment.sketcher.port) as client:
            client.get("/still")
            for number in range(150):
                origin.write("/still", f"a lie, the {number}th".encode())
                assert client.get("/still").body == b"static"
            assert len(deployment.sketcher.divergences()) > 16
            origin.stop()
            for _ in range(100):
                assert client.get("/still").body == b"static"
        assert deployment.sketcher.counters()["avoided"] == 0
        activity = of_request(deployment, "/still")["activity"]
        assert (activity["transitions"], activity["transition_share"]) == (0, 0.0)


def test_paths_that_a_route_lists():
    route = {"route": {"whitelist": ["/static"], "blacklist": ["/live"]}}
    with Deployment(content=CONTENT,
                    sketcher_changes={**route, "group": ALL_DRAWN}) as deployment:
        sketcher = deployment.sketcher
        checked = run_program("prophecy-sketcher", "--check", "--config", sketcher.configuration)
        assert checked.returncode == 0
        assert 'warning: route "default": one origin\'s answers are not verified under /static\n' \
            in checked.stdout
        for path in ("/static/page", "/live/page"):
            deployment.origins[2].write(path, b"a lie")
        with RawConnection(sketcher.port) as client:
            bodies = [client.get("/static/page").body for _ in range(100)]
            assert set(bodies) == {b"page", b"a lie"}
            counters = sketcher.counters()
            assert (counters["whitelisted"], counters["unverified"], counters["fast"]) == (100, 100, 0)
            assert sketcher.divergences() == []
            # Spelled in another way it is verified.
            for path in ("/static/./page", "/%73tatic/page", "/live/../static/page"):
                for _ in range(20):
                    assert client.get(path).body == b"page"
            assert sketcher.counters()["whitelisted"] == 100
            assert sketcher.counters()["blacklisted"] == 20
            for path in ("/live/page", "/%6cive/page"):
                for _ in range(10):
                    assert client.get(path).body == b"live"
            assert sketcher.counters()["blacklisted"] == 40
        assert of_request(deployment, "/static/page")["listed"] == "whitelisted"
        assert of_request(deployment, "/live/page")["listed"] == "blacklisted"
        assert "unverified-by-configuration" in sketcher.child.log()


def test_of_a_list_and_a_mark_what_is_safer_decides():
    with Deployment(content=CONTENT, start=False,
                    sketcher_changes={"group": ALL_DRAWN}) as deployment:
        deployment.sketcher.settings["route"] = [
            {"name": "listed", "whitelist": ["/static"], "blacklist": ["/live"]},
            {"name": "replicated", "path_prefix": "/changing", "reads": "replicated"}]
        deployment.sketcher.write_configuration()
        deployment.start()

        def mark(name, path):
            return run_program("prophecyctl", "history", name, f"http://localhost{path}", "--admin",
                               deployment.sketcher.admin)

        deployment.origins[2].write("/static/page", b"a lie")
        assert mark("blacklist", "/static/page").returncode == 0
        with RawConnection(deployment.sketcher.port) as client:
            for _ in range(40):
                assert client.get("/static/page").body == b"page"
            assert deployment.sketcher.counters()["whitelisted"] == 0
            assert deployment.sketcher.counters()["blacklisted"] == 40
            assert mark("unmark", "/static/page").returncode == 0
            assert {client.get("/static/page").body for _ in range(60)} == {b"page", b"a lie"}
        for name, path, told in (("whitelist", "/live/page", "the route's blacklist has it"),
                                 ("whitelist", "/changing", "do not use the history"),
                                 ("blacklist", "/changing", "do not use the history")):
            refused = mark(name, path)
            assert (refused.returncode, refused.stdout) == (1, "")
            assert told in refused.stderr
            assert of_request(deployment, path)["entry"] is None


def test_what_is_known_survives_a_worker():
    with Deployment(content=CONTENT) as deployment:
        sketcher = deployment.sketcher
        versions = itertools.count(1)
        with RawConnection(sketcher.port) as client:
            client.get("/changing")
            read_changing(deployment, client, versions, 20)
        [worker] = sketcher.workers()
        os.kill(worker, signal.SIGKILL)
        wait_until(lambda: sketcher.workers() not in ([], [worker]), 10, "another worker")
        assert of_request(deployment, "/changing")["activity"]["blacklisted_by"] == 1
        with RawConnection(sketcher.port) as client:
            before = sketcher.counters()["avoided"]
            read_changing(deployment, client, versions, 5)
            assert sketcher.counters()["avoided"] == before + 5


@pytest.mark.parametrize("changes, mistake", [
    ({"whitelist": ["/a"], "blacklist": ["/a"]}, "route.blacklist: expected no path of the whitelist"),
    ({"path_prefix": "/a", "whitelist": ["/b"]}, "route.whitelist: expected paths in the route's"),
])
def test_lists_that_cannot_be(changes, mistake):
    with Deployment(agents=False, start=False, sketcher_changes={"route": changes}) as deployment:
        checked = run_program("prophecy-sketcher", "--check", "--config",
                              deployment.sketcher.configuration)
    assert checked.returncode == 2
    assert mistake in checked.stderr
