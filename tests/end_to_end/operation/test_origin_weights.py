"""Weights of origins: their part of the fast reads, how they rise after a return, and the bound that follows."""

import time

from harness import Deployment
from harness.exact_test import ExactTests
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection
from harness.programs import run_program
from harness.replicas import ctl_json

PAGE = b"<p>The page.</p>\n"
VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
FALSE_ALARMS = 1e-7  # of each test here
READS = 3000
AT_ONCE = 25


def vote_deployment(health=None):
    return Deployment(content={"/index.html": PAGE}, agents=False,
                      sketcher_changes={"group": {**VOTE, "health": {**ALWAYS_DRAWN, **(health or {})}}})


def give_weights(deployment, *weights):
    for origin, weight in zip(deployment.sketcher.settings["group"][0]["origin"], weights):
        origin["weight"] = weight
    deployment.sketcher.write_configuration()
    deployment.sketcher.stop()
    deployment.sketcher.start()


def ctl_origin(deployment, command, replica, *more):
    return run_program("prophecyctl", "origin", command, "--admin", deployment.sketcher.admin,
                       f"default/{replica}", *more)


def check(deployment):
    return run_program("prophecy-sketcher", "--check", "--config", deployment.sketcher.configuration)


def origins(deployment):
    return deployment.sketcher.status()["origins"]


def drawn(deployment):
    return [origin["fast_answers"] for origin in origins(deployment)]


def read(deployment, times):
    """How many of these each origin has answered."""
    before = drawn(deployment)
    with RawConnection(deployment.sketcher.port, timeout_s=60) as connection:
        for _ in range(times // AT_ONCE):
            connection.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * AT_ONCE)
            assert {connection.answer().body for _ in range(AT_ONCE)} == {PAGE}
    return [now - then for now, then in zip(drawn(deployment), before)]


def refused(counts, weights):
    tests = ExactTests(FALSE_ALARMS, len(counts))
    return [count for count, weight in zip(counts, weights)
            if tests.refuses(sum(counts), weight / sum(weights), count)]


def test_origins_are_drawn_by_their_weights():
    with vote_deployment() as deployment:
        give_weights(deployment, 1, 1, 2, 4)
        read(deployment, AT_ONCE)
        counts = read(deployment, READS)
        assert sum(counts) == READS
        assert refused(counts, [1, 1, 2, 4]) == []
        assert refused(counts, [1, 1, 1, 1])  # the test can fail
        assert [origin["weight"] for origin in origins(deployment)] == [1, 1, 2, 4]
        assert [origin["share"] for origin in origins(deployment)] == [0.125, 0.125, 0.25, 0.5]
        bound = check(deployment).stdout
        assert 'note: group "default": 1 faulty of 4 origins' in bound
        assert "probability 0.500^k at most; 0.800^k while 2 origins are in the draw" in bound


def test_an_operator_changes_a_weight_while_requests_go_on():
    with vote_deployment() as deployment:
        read(deployment, AT_ONCE)
        result = ctl_origin(deployment, "weight", 3, "9")
        assert (result.returncode, result.stdout) == (
            0, "k reads in a row are stale with probability 0.750^k at most\n")
        assert refused(read(deployment, READS), [1, 1, 1, 9]) == []
        listed = ctl_json("origin", "list", "--admin", deployment.sketcher.admin, "--json")
        assert [(origin["weight"], origin["share"]) for origin in listed[2:4]] == [(1, 1 / 12), (9, 0.75)]
        assert "origin-weight group=default replica=3" in deployment.sketcher.child.log()
        # One that is out has no share, and the bound is that of the others.
        assert ctl_origin(deployment, "set", 3, "drain").returncode == 0
        assert ctl_origin(deployment, "weight", 0, "2").stdout.count("0.500^k") == 1
        assert read(deployment, READS)[3] == 0
        for wrong in ("0", "257", "many"):
            assert ctl_origin(deployment, "weight", 0, wrong).returncode != 0
        assert ctl_origin(deployment, "weight", 7, "2").returncode != 0
        assert origins(deployment)[0]["weight"] == 2


def test_an_origin_that_is_put_back_starts_slowly():
    with vote_deployment({"slow_start": "20s"}) as deployment:
        read(deployment, AT_ONCE)
        assert {origin["share"] for origin in origins(deployment)} == {0.25}
        assert "0.250^k at most; 0.941^k while 2 origins" in check(deployment).stdout
        assert ctl_origin(deployment, "set", 2, "drain").returncode == 0
        assert ctl_origin(deployment, "set", 2, "ready").returncode == 0
        put_back = time.monotonic()
        counts = read(deployment, 1000)
        took = time.monotonic() - put_back
        # So much of the others' share at most, while these reads went on.
        most = max(1 / 16, took / 20)
        tests = ExactTests(FALSE_ALARMS, 1)
        assert counts[2] < 1000 / 4
        assert counts[2] <= 1000 * most or not tests.refuses(1000, most / (3 + most), counts[2])
        shares = [origins(deployment)[2]["share"]]
        while shares[-1] < 0.25 and time.monotonic() < put_back + 40:
            time.sleep(0.5)
            shares.append(origins(deployment)[2]["share"])
        assert shares == sorted(shares) and shares[-1] == 0.25 and shares[0] < 0.2


def test_weights_out_of_bounds_are_mistakes():
    with vote_deployment() as deployment:
        for wrong in (0, 257):
            deployment.sketcher.settings["group"][0]["origin"][1]["weight"] = wrong
            deployment.sketcher.write_configuration()
            result = check(deployment)
            assert result.returncode != 0 and "weight: expected" in result.stderr
