"""Origins without agents: what f+1 of them answer alike is the group's answer."""

import subprocess
import time

import pytest

from harness import Deployment
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection, curl
from harness.processes import wait_until
from harness.programs import program, run_program
from harness.replicas import ctl
from harness.scripted_origin import ScriptedOrigin
from harness.sketcher import json_lines

PAGE = b"<p>The page.</p>\n"
VOTE = {"group": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}}


def vote_deployment(group=None, **options):
    """Four Apaches, and nothing beside them."""
    changes = {**VOTE, "group": {**VOTE["group"], **(group or {})}}
    return Deployment(content={"/index.html": PAGE}, sketcher_changes=changes, agents=False,
                      **options)


def test_a_read_is_voted_on_once_and_fast_afterwards():
    with vote_deployment() as deployment:
        for _ in range(20):
            assert curl(deployment.url + "/").body == PAGE
        counters = deployment.sketcher.counters()
        assert (counters["replicated"], counters["fast"]) == (1, 19)
        assert deployment.sketcher.divergences() == []


def test_one_that_lies_is_outvoted_and_named():
    with vote_deployment() as deployment:
        deployment.origins[2].write("/index.html", b"a lie")
        for _ in range(40):
            assert curl(deployment.url + "/").body == PAGE
        events = deployment.sketcher.divergences()
        assert events and {event["replica"] for event in events} == {2}
        kinds = {event["kind"] for event in events}
        assert kinds == {"vote", "fast_read"}


def test_all_lies_of_one_are_counted_but_not_all_written_down():
    with vote_deployment({"health": ALWAYS_DRAWN}) as deployment:
        deployment.origins[2].write("/index.html", b"a lie")
        connection = RawConnection(deployment.sketcher.port)

        def lies():
            for _ in range(100):
                assert connection.get("/").body == PAGE
            return deployment.sketcher.status()["origins"][2]["divergences"]

        started = time.monotonic()
        wait_until(lambda: lies() > 1300, 120, "lies")
        status = deployment.sketcher.status()
        counted = status["origins"][2]["divergences"]
        # Those at once, and one in 100 ms, of each worker.
        written = len(json_lines(deployment.sketcher.divergence_log))
        assert 1000 <= written <= 1000 + (time.monotonic() - started) * 10 + 1
        assert status["divergences_lost"] == counted - written > 0


def test_a_page_that_changes_behind_the_sketcher_is_voted_on_anew():
    with vote_deployment() as deployment:
        assert curl(deployment.url + "/").body == PAGE
        for origin in deployment.origins:
            origin.write("/index.html", b"new")
        assert [curl(deployment.url + "/").body for _ in range(10)] == [b"new"] * 10


def test_f_origins_may_be_down_and_no_more():
    with vote_deployment() as deployment:
        deployment.origins[0].kill()
        assert curl(deployment.url + "/").body == PAGE
        assert curl(deployment.url + "/none").status == 404
        deployment.origins[1].kill()
        assert curl(deployment.url + "/other").status == 404  # two equal answers are enough
        deployment.origins[2].kill()
        answer = curl(deployment.url + "/third")
        assert (answer.status, answer.field("prophecy-reason")) == (503, "too-few-replicas")


def test_one_that_hangs_holds_nobody_up():
    """A decided request that waits for its vote takes no place of one that is not."""
    with vote_deployment({"queue_max": 4}) as deployment:
        def origins():
            return deployment.sketcher.status()["origins"]

        deployment.origins[3].pause()
        try:
            for number in range(300):
                assert curl(f"{deployment.url}/missing/{number}").status == 404
            # Each of its votes fails once it is not waited for any more.
            wait_until(lambda: sum(origins()[3]["vote_failures"].values()) > 0, 20, "that to show")
            assert origins()[3]["votes"] == 0
            assert all(origins()[number]["votes"] >= 250 for number in range(3))
        finally:
            deployment.origins[3].resume()


def with_stray_body(head, stray):
    """Answers HEAD with a body, against the protocol, and everything else with "right"."""
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
    if head.startswith(b"HEAD"):
        time.sleep(0.005)
        yield stray
    else:
        yield b"right"


def test_what_an_origin_sends_behind_a_head_is_no_answer_to_anything():
    """A body that all origins send by mistake would be agreed on as the next one's answer."""
    with Deployment(agents=False, start=False, sketcher_changes=VOTE) as deployment:
        poison = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
        servers = [ScriptedOrigin(origin.port, lambda head: with_stray_body(head, poison))
                   for origin in deployment.origins]
        deployment.ports.close()
        try:
            deployment.sketcher.start()
            statuses = []
            for number in range(20):
                client = RawConnection(deployment.sketcher.port)
                client.send(b"HEAD /bug HTTP/1.1\r\nHost: localhost\r\n\r\n"
                            b"GET /victim/%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % number)
                statuses.append(client.answer(to_head=True).status)
                assert client.answer().body == b"right"
                client.close()
            # A sketcher that is late reads the stray bytes together with the answer, of which they
            # make a malformed one.
            assert 200 in statuses and set(statuses) <= {200, 503}, statuses
        finally:
            deployment.sketcher.stop()
            for server in servers:
                server.close()


def test_origins_that_do_not_agree():
    with vote_deployment() as deployment:
        for number, origin in enumerate(deployment.origins):
            origin.write("/apart", f"{number}")
        answer = curl(deployment.url + "/apart")
        assert (answer.status, answer.field("prophecy-reason")) == (502, "no-agreement")


def test_writes_are_refused_and_reach_no_origin():
    with vote_deployment() as deployment:
        for method in ("PUT", "POST", "DELETE", "PATCH"):
            answer = curl(deployment.url + "/index.html", "-X", method, "--data-binary", "x")
            assert (answer.status, answer.field("prophecy-reason")) == (405, "writes-refused")
            assert answer.field("allow") == "GET, HEAD, OPTIONS"
        assert all(origin.read("/index.html") == PAGE for origin in deployment.origins)
        assert curl(deployment.url + "/").body == PAGE


@pytest.mark.parametrize("mode", ["enforce", "off", "bypass"])
@pytest.mark.parametrize("writes", ["refuse", "all"])
def test_options_change_nothing_and_are_answered_in_every_mode(mode, writes):
    """Also where writes are refused: by f+1 equal answers, or by one where nothing is verified."""
    with vote_deployment({"writes": writes}) as deployment:
        if mode == "off":
            ctl("route", "--admin", deployment.sketcher.admin, "default", "off")
        elif mode == "bypass":
            ctl("bypass", "--admin", deployment.sketcher.admin, "on")
        direct = curl(f"http://127.0.0.1:{deployment.origins[0].port}/index.html", "-X", "OPTIONS")
        page = curl(deployment.url + "/index.html", "-X", "OPTIONS")
        assert page.status == direct.status == 200
        assert "GET" in page.field("allow") and page.field("allow") == direct.field("allow")
        server = curl(deployment.url, "-X", "OPTIONS", "--request-target", "*")
        assert server.status == 200
        counters = deployment.sketcher.counters()
        assert (counters["replicated"], counters["unverified"]) == \
            ((2, 0) if mode == "enforce" else (0, 2))
        assert counters["fast"] == counters["failed"] == 0
        if mode != "enforce":
            return
        # One that lies is outvoted.
        deployment.origins[0].stop()
        liar = ScriptedOrigin(deployment.origins[0].port, lambda head: [
            b"HTTP/1.1 200 OK\r\nAllow: EVERYTHING\r\nContent-Length: 0\r\n\r\n"])
        try:
            for _ in range(5):
                again = curl(deployment.url + "/index.html", "-X", "OPTIONS")
                assert again.field("allow") == direct.field("allow")
        finally:
            liar.close()


def test_writes_to_a_group_that_is_declared_to_take_them():
    with vote_deployment({"writes": "all"}) as deployment:
        assert curl(deployment.url + "/").body == PAGE
        answer = curl(deployment.url + "/index.html", "-X", "PUT", "--data-binary", "new")
        assert answer.status == 204
        wait_until(lambda: all(origin.read("/index.html") == b"new"
                               for origin in deployment.origins), 10, "the write")
        assert [curl(deployment.url + "/").body for _ in range(10)] == [b"new"] * 10


def put(deployment, content):
    return curl(deployment.url + "/index.html", "-X", "PUT", "--data-binary", content)


def test_a_write_that_more_than_f_origins_miss_is_no_success():
    with vote_deployment({"writes": "all"}) as deployment:
        assert curl(deployment.url + "/index.html").body == PAGE
        deployment.origins[0].kill()
        # In maintenance or not, an origin counts: it has to be brought up to date in either case.
        ctl("origin", "set", "--admin", deployment.sketcher.admin, "default/0", "maint")
        assert put(deployment, "one missed this").status == 204
        assert curl(deployment.url + "/index.html").body == b"one missed this"
        deployment.origins[1].kill()
        answer = put(deployment, "two missed this")
        assert (answer.status, answer.field("prophecy-reason")) == (502, "uncertain-write")
        # It may have taken effect: what was agreed before counts no more.
        assert curl(deployment.url + "/index.html").body == b"two missed this"
        found = deployment.sketcher.status()
        assert found["history"]["invalidations"] == 2
        assert found["history"]["out_of_date"] == 2
        assert found["replicated_failures"]["uncertain-write"] == 1
        # Reads and OPTIONS need f+1 as ever.
        assert curl(deployment.url + "/index.html", "-X", "OPTIONS").status == 200
        for origin in deployment.origins[2:]:
            origin.kill()
        answer = put(deployment, "nobody has seen this")
        assert (answer.status, answer.field("prophecy-reason")) == (503, "too-few-replicas")
        assert deployment.sketcher.status()["history"]["invalidations"] == 2


def test_the_secret_is_all_that_has_to_be_made(tmp_path):
    result = run_program("prophecyctl", "keygen", "--directory", tmp_path / "keys")
    assert result.returncode == 0, result.stderr
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["sketch.key"]
    for options in (["--faults", "1"], ["--clients", "2"],
                    ["--replica-addresses", "127.0.0.1:1,127.0.0.1:2"]):
        result = run_program("prophecyctl", "keygen", "--directory", tmp_path / "other", *options)
        assert result.returncode != 0
        assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("changes, problem", [
    ({"group": {"faults": 2}}, "expected at least 5 of them, 2 * faults + 1, found 4"),
    ({"route": {"reads": "read-only"}},
     'expected "delay-once" or "replicated" with a group of kind vote'),
    ({"group": {"key_file": "client-1024.key"}}, "key_file"),
    ({"group": {"kind": "quorum"}}, "kind"),
])
def test_configurations_that_make_no_sense(changes, problem):
    merged = {**VOTE, **{table: {**VOTE.get(table, {}), **values}
                         for table, values in changes.items()}}
    with Deployment(sketcher_changes=merged, agents=False, start=False) as deployment:
        result = subprocess.run([program("prophecy-sketcher"), "--check", "--config",
                                 deployment.sketcher.configuration],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=30, check=False)
    assert result.returncode == 2
    assert problem in result.stderr
