"""The health of origins: who is drawn for fast reads, why not, and taking them out and in."""

import concurrent.futures
import contextlib
import os
import signal
import socket
import time

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.ports import PortReservation
from harness.processes import children_of, wait_until
from harness.programs import run_program
from harness.replicas import ctl, ctl_json
from harness.scripted_origin import ScriptedOrigin

PAGE = b"<p>The page.</p>\n"
VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
CHECKS = {"check": "http", "interval": "100ms", "timeout": "300ms", "rise": 2, "fall": 2}


def vote_deployment(health, content=None, changes=None, **options):
    """Four Apaches, and nothing beside them."""
    changes = {**(changes or {}), "group": {**VOTE, "health": health}}
    return Deployment(content={"/index.html": PAGE, **(content or {})}, sketcher_changes=changes,
                      agents=False, **options)


def origins(deployment):
    return ctl_json("origin", "list", "--admin", deployment.sketcher.admin, "--json")


def origin(deployment, replica):
    return deployment.sketcher.status()["origins"][replica]


def wait_for_state(deployment, replica, state, reason=""):
    def reached():
        now = origin(deployment, replica)
        return now if now["state"] == state and reason in now["reason"] else None

    return wait_until(reached, 15, f"origin {replica} to be {state}: {reason}", 0.05)


def set_state(deployment, replica, state, *more):
    return run_program("prophecyctl", "origin", "set", "--admin", deployment.sketcher.admin,
                       f"default/{replica}", state, *more)


def asked(deployment, replica):
    """How many fast reads of an origin have ended."""
    now = origin(deployment, replica)
    return now["fast_answers"] + sum(now["fast_failures"].values())


def read(deployment, times, path="/", body=PAGE):
    for _ in range(times):
        answer = curl(deployment.url + path)
        assert (answer.status, answer.body) == (200, body)


def replace(deployment, replica, answer):
    """Kills an Apache, and stands in for it as soon as its port is free."""
    deployment.origins[replica].kill()

    def stand_in():
        with contextlib.suppress(OSError):
            return ScriptedOrigin(deployment.origins[replica].port, answer)
        return None

    return wait_until(stand_in, 10, "the port of the killed Apache")


def test_a_dead_origin_is_out_until_its_checks_pass_again():
    with vote_deployment(CHECKS) as deployment:
        read(deployment, 5)
        deployment.origins[3].kill()
        wait_for_state(deployment, 3, "down", "checks fail: no-connection")
        before = asked(deployment, 3)
        read(deployment, 40)
        assert asked(deployment, 3) == before
        deployment.origins[3].start()
        wait_for_state(deployment, 3, "ready", "checks pass")
        read(deployment, 60)
        assert asked(deployment, 3) > before
        log = deployment.sketcher.child.log()
        assert "origin-state group=default replica=3" in log
        assert "from=ready to=down" in log and "from=down to=ready" in log


def test_one_that_hangs_is_noticed_without_a_client():
    with vote_deployment(CHECKS) as deployment:
        deployment.origins[1].pause()
        try:
            wait_for_state(deployment, 1, "down", "checks fail: timed-out")
            read(deployment, 30)
            assert asked(deployment, 1) == 0
        finally:
            deployment.origins[1].resume()
        wait_for_state(deployment, 1, "ready")


def test_a_check_looks_at_status_and_body():
    health = {**CHECKS, "path": "/health", "expect_status": ["200"], "expect_body": "fine",
              "host": "health.example"}
    with vote_deployment(health, {"/health": "all is fine"}) as deployment:
        deployment.origins[0].write("/health", "not at all")
        wait_for_state(deployment, 0, "down", "checks fail: wrong-body")
        (deployment.origins[1].htdocs / "health").unlink()
        wait_for_state(deployment, 1, "down", "checks fail: wrong-status 404")
        deployment.origins[0].write("/health", "fine again")
        wait_for_state(deployment, 0, "ready")
        assert [origin(deployment, number)["state"] for number in (2, 3)] == ["ready", "ready"]


def test_without_checks_requests_that_fail_take_an_origin_out_for_a_pause():
    health = {"failures_max": 3, "pause": "1s", "pause_max": "1s"}
    with vote_deployment(health) as deployment:
        read(deployment, 5)
        deployment.origins[2].kill()

        def out():
            read(deployment, 5)
            return origin(deployment, 2)["state"] == "down"

        wait_until(out, 15, "the origin to be out", 0.2)
        assert origin(deployment, 2)["reason"].startswith("requests fail: ")
        deployment.origins[2].start()
        wait_for_state(deployment, 2, "ready", "pause is over")
        read(deployment, 30)
        assert origin(deployment, 2)["state"] == "ready"


def test_an_origin_with_errors_of_its_own_is_down_and_no_liar():
    health = {"failures_max": 3, "pause": "30s", "disputes_max": 1}
    with vote_deployment(health) as deployment:
        read(deployment, 5)
        scripted = replace(deployment, 3, lambda _: [
            b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"])
        try:
            def out():
                read(deployment, 5)
                assert origin(deployment, 3)["state"] != "quarantined"
                return origin(deployment, 3)["state"] == "down"

            wait_until(out, 15, "the origin to be out")
            assert origin(deployment, 3)["divergences"] == 0
            assert origin(deployment, 3)["noise"] >= 3
        finally:
            scripted.close()


def test_drain_takes_an_origin_out_of_fast_reads_and_not_out_of_agreement():
    with Deployment(content={"/index.html": PAGE}) as deployment:
        read(deployment, 5)
        assert set_state(deployment, 1, "drain", "--reason", "new kernel").returncode == 0
        now = wait_for_state(deployment, 1, "drain", "new kernel")
        assert not now["drawn"]
        read(deployment, 40)
        assert asked(deployment, 1) == now["fast_answers"]
        assert curl(deployment.url + "/new", "-X", "PUT", "--data-binary", "new").status == 201
        deployment.wait_for_write("/new", b"new")  # at all four
        assert set_state(deployment, 1, "ready", "--reason", "done").returncode == 0
        assert wait_for_state(deployment, 1, "ready", "done")["drawn"]
        read(deployment, 60)
        assert asked(deployment, 1) > now["fast_answers"]


def test_maintenance_ends_checks_and_what_is_met_then_is_not_held_against_an_origin():
    with vote_deployment(CHECKS, start=False) as deployment:
        checks = []

        def answer(head):
            checks.append(head)
            return [b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]

        deployment.origins.start()
        scripted = replace(deployment, 3, answer)
        try:
            deployment.sketcher.start()
            wait_until(lambda: checks, 10, "a check")
            assert b"user-agent: prophecy-sketcher" in checks[0].lower()
            assert set_state(deployment, 3, "maint").returncode == 0
            wait_for_state(deployment, 3, "maint", "by an operator")
            time.sleep(0.5)  # one may be under way
            count = len(checks)
            time.sleep(1)
            assert len(checks) == count
            assert set_state(deployment, 3, "ready").returncode == 0
            wait_until(lambda: len(checks) > count, 10, "the checks to go on")
            assert origin(deployment, 3)["state"] == "ready"
        finally:
            scripted.close()


def test_operators_cannot_take_out_too_many():
    with vote_deployment({}) as deployment:
        assert set_state(deployment, 0, "drain").returncode == 0
        assert set_state(deployment, 1, "maint").returncode == 0
        refused = set_state(deployment, 2, "drain")
        assert refused.returncode == 1
        assert "at least 2 origins of the group have to stay" in refused.stderr
        assert [each["drawn"] for each in origins(deployment)] == [False, False, True, True]
        for arguments, problem in [
                (("default/4", "drain"), "no such origin"), (("other/0", "drain"), "no such origin"),
                (("default/2", "drain", "--reason", "a\nb"), "on one line"),
                (("default/2", "drain", "--reason", "a" * 201), "at most 200 bytes")]:
            result = run_program("prophecyctl", "origin", "set", "--admin",
                                 deployment.sketcher.admin, *arguments)
            assert (result.returncode, problem in result.stderr) == (1, True), result.stderr
        for arguments in [("default", "drain"), ("default/x", "drain"), ("default/0", "down")]:
            result = run_program("prophecyctl", "origin", "set", "--admin",
                                 deployment.sketcher.admin, *arguments)
            assert result.returncode not in (0, 1)
        table = ctl("origin", "list", "--admin", deployment.sketcher.admin)
        assert "maint" in table and "by an operator" in table


def test_a_liar_sits_out_and_comes_back_when_it_is_right_again():
    health = {"disputes_max": 3, "sit_out": "3s", "sit_out_max": "4s"}
    with vote_deployment(health) as deployment:
        read(deployment, 2)
        deployment.origins[2].write("/index.html", b"a lie")

        def out():
            read(deployment, 5)
            now = origin(deployment, 2)
            return now if now["state"] == "quarantined" else None

        first = wait_until(out, 15, "the liar to be out")
        assert (first["reason"], first["drawn"]) == ("lost disputes, sits out for 3 s", False)
        wait_for_state(deployment, 2, "ready", "sit-out is over")
        # On probation: tried once more, and out for longer.
        again = wait_until(out, 15, "the liar to be out again")
        assert again["reason"] == "lost a dispute on probation, sits out for 4 s"
        deployment.origins[2].write("/index.html", PAGE)
        assert wait_for_state(deployment, 2, "ready", "sit-out is over")["probation"]
        read(deployment, 20)
        wait_until(lambda: not origin(deployment, 2)["probation"], 15, "the probation to end")
        assert origin(deployment, 2)["state"] == "ready"


def test_never_fewer_than_one_more_than_may_be_faulty_are_drawn():
    with vote_deployment(CHECKS) as deployment:
        read(deployment, 5)
        for number in (0, 1, 2):
            deployment.origins[number].kill()
            wait_for_state(deployment, number, "down")
        states = origins(deployment)
        assert [each["state"] for each in states] == ["down", "down", "down", "ready"]
        # The last one that was seen stays in.
        assert [each["drawn"] for each in states] == [False, False, True, True]
        assert origin(deployment, 2)["kept"]
        read(deployment, 20)  # what is in the history
        assert "origins-kept group=default kept=1" in deployment.sketcher.child.log()


@pytest.mark.parametrize("hedge", [True, False])
def test_hedging_cuts_the_wait_for_an_origin_that_hangs(hedge):
    changes = {"timeouts": {"answer": "1s"}, "route": {"hedge": hedge}}
    with vote_deployment({"failures_max": 1000}, changes=changes) as deployment:
        read(deployment, 400)
        deployment.origins[0].pause()
        try:
            longest = 0
            for _ in range(60):
                begun = time.monotonic()
                read(deployment, 1)
                longest = max(longest, time.monotonic() - begun)
                counters = deployment.sketcher.counters()
                if counters["hedges_won"] >= 3 or longest > 0.9:
                    break
            if hedge:
                assert counters["hedges_won"] >= 3
                assert counters["hedged"] >= counters["hedges_won"]
                assert longest < 0.8
                # The one that was not waited for is not blamed.
                assert origin(deployment, 0)["fast_failures"]["timed-out"] == 0
            else:
                assert counters["hedged"] == 0
                assert longest > 0.9
        finally:
            deployment.origins[0].resume()


def test_a_read_ends_when_all_its_time_is_over():
    changes = {"timeouts": {"answer": "10s", "total": "500ms"}}
    with vote_deployment({}, changes=changes) as deployment:
        read(deployment, 3)
        for each in deployment.origins:
            each.pause()
        try:
            for path in ("/", "/not-in-the-history"):
                answer = curl(deployment.url + path)
                assert (answer.status, answer.field("prophecy-reason")) == (504, "read-timeout")
            assert sum(origin(deployment, number)["fast_failures"]["timed-out"]
                       for number in range(4)) == 1
        finally:
            for each in deployment.origins:
                each.resume()
        read(deployment, 3)


def test_a_checker_that_dies_is_replaced():
    with vote_deployment(CHECKS) as deployment:
        def checker():
            others = set(children_of(deployment.sketcher.child.pid))
            return others - set(deployment.sketcher.workers())

        [first] = checker()
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: checker() and checker() != {first}, 15, "another checker")
        deployment.origins[3].kill()
        wait_for_state(deployment, 3, "down", "checks fail")
        assert "checker-died" in deployment.sketcher.child.log()


def test_states_are_among_the_metrics():
    with contextlib.closing(PortReservation(1)) as reservation:
        [port] = reservation.ports
        changes = {"sketcher": {"metrics": f"127.0.0.1:{port}"}}
        with vote_deployment({}, changes=changes) as deployment:
            assert set_state(deployment, 2, "drain").returncode == 0
            lines = curl(f"http://127.0.0.1:{port}/metrics").body.decode().splitlines()
            address = f"127.0.0.1:{deployment.origins[2].port}"
            labels = f'address="{address}",group="default",replica="2"'
            assert f'prophecy_origin_state{{{labels},state="drain"}} 1' in lines
            assert f'prophecy_origin_state{{{labels},state="ready"}} 0' in lines
            assert f"prophecy_origin_drawn{{{labels}}} 0" in lines


def raw_answer(port):
    """What an Apache answers to GET /, but that the connection stays open."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        received = b""
        while data := connection.recv(65536):
            received += data
    return received.replace(b"Connection: close\r\n", b"")


def test_an_origin_that_answers_much_later_than_the_others_is_left_out():
    with vote_deployment({"sit_out": "5m"}) as deployment:
        read(deployment, 1)
        right = raw_answer(deployment.origins[0].port)

        def answer_late(_):
            time.sleep(3)
            yield right

        late = replace(deployment, 3, answer_late)
        try:
            with concurrent.futures.ThreadPoolExecutor(16) as readers:
                for _ in range(40):
                    list(readers.map(lambda _: read(deployment, 1), range(40)))
                    if origin(deployment, 3)["state"] == "slow":
                        break
            now = wait_for_state(deployment, 3, "slow", "answers much later than others")
            assert not now["drawn"]
            assert now["slow"] >= 5
            # It has told no lie, and has not failed.
            assert now["divergences"] == 0
            waited = []
            for _ in range(100):
                begun = time.monotonic()
                read(deployment, 1)
                waited.append(time.monotonic() - begun)
            assert sum(each > 1 for each in waited) <= 1
            assert ctl_json("origin", "list", "--admin", deployment.sketcher.admin,
                            "--json")[3]["state"] == "slow"
        finally:
            late.close()
