"""How long reads may stay stale (paper, section 4.2): with a share g of the origins behind, k reads of
one page in a row are stale with probability g^k, because each read's origin is drawn anew.

Many pages are one file with many queries: each is a read of its own to the sketcher. All are read
once, the file is changed at some origins past the sketcher, and each page is read until it is new.
Of the n pages that have been stale so far, the next read is stale for Binomial(n, g) many.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness import Deployment
from harness.exact_test import ExactTests, p_value
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection

FALSE_ALARMS = 1e-7  # of each test here
ROUNDS_MAX = 40
PAGES = 1200
READS = 3000
OLD, NEW = b"old", b"new"
AT_ONCE = 25
CONNECTIONS = 6
# Otherwise an origin whose agent votes for what is old is soon drawn no more.
ALL_DRAWN = {"group": {"health": ALWAYS_DRAWN}}


def read_all(port, targets):
    """The bodies of these, on some connections, asked for some at a time."""
    shares = [targets[number::CONNECTIONS] for number in range(CONNECTIONS)]
    with ThreadPoolExecutor(CONNECTIONS) as threads:
        read = list(threads.map(lambda share: read_in_turn(port, share), shares))
    bodies = [None] * len(targets)
    for number, share in enumerate(read):
        bodies[number::CONNECTIONS] = share
    return bodies


def read_in_turn(port, targets):
    bodies = []
    with RawConnection(port, timeout_s=60) as connection:
        for begin in range(0, len(targets), AT_ONCE):
            some = targets[begin:begin + AT_ONCE]
            connection.send("".join(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                    for target in some).encode())
            answers = [connection.answer() for _ in some]
            assert {answer.status for answer in answers} == {200}
            bodies += [answer.body for answer in answers]
    return bodies


def stale_counts(port, targets):
    """[(pages that were stale so far, those of them whose next read was stale)]"""
    rounds = []
    while targets and len(rounds) < ROUNDS_MAX:
        bodies = read_all(port, targets)
        assert set(bodies) <= {OLD, NEW}
        stale = [target for target, body in zip(targets, bodies) if body == OLD]
        rounds.append((len(targets), len(stale)))
        targets = stale
    assert not targets, "pages that are stale for ever"
    return rounds


def refused(rounds, share):
    tests = ExactTests(FALSE_ALARMS, ROUNDS_MAX)
    return [(n, count) for n, count in rounds if tests.refuses(n, share, count)]


@pytest.mark.parametrize("behind, late, weights", [
    ([3], [], [1, 1, 1, 1]), ([2, 3], [2], [1, 1, 1, 1]), ([3], [], [1, 1, 1, 3])],
    ids=["a-quarter", "half", "half-by-weight"])
def test_reads_stay_stale_as_long_as_draws_say(behind, late, weights):
    """Of two that are behind, one is late and the other one faulty: its agent votes for what is old."""
    with Deployment(content={"/page": OLD}, sketcher_changes=ALL_DRAWN, start=False) as deployment:
        for origin, weight in zip(deployment.sketcher.settings["group"][0]["origin"], weights):
            origin["weight"] = weight
        deployment.sketcher.write_configuration()
        deployment.start()
        targets = [f"/page?{number}" for number in range(PAGES)]
        port = deployment.sketcher.port
        assert set(read_all(port, targets)) == {OLD}
        for number in late:
            deployment.agents[number].pause()
        for number in set(range(4)) - set(behind):
            deployment.origins[number].write("/page", NEW)
        rounds = stale_counts(port, targets)
        print(rounds)
        # And none of them ever comes back.
        assert set(read_all(port, targets[:200])) == {NEW}
        for number in late:
            deployment.agents[number].resume()
        assert refused(rounds, sum(weights[number] for number in behind) / sum(weights)) == []
        assert sum(count for _, count in rounds) > PAGES // 5


def test_every_origin_is_drawn_alike():
    with Deployment(content={"/page": OLD}, sketcher_changes=ALL_DRAWN) as deployment:
        port = deployment.sketcher.port
        read_in_turn(port, ["/page"])
        before = drawn(deployment)
        read_all(port, ["/page"] * READS)
        counts = [now - then for now, then in zip(drawn(deployment), before)]
        assert sum(counts) == READS
        tests = ExactTests(FALSE_ALARMS, len(counts))
        assert [count for count in counts if tests.refuses(READS, 1 / 4, count)] == []


def drawn(deployment):
    return [origin["fast_answers"] for origin in deployment.sketcher.status()["origins"]]


def test_p_values_are_those_of_the_binomial_distribution():
    assert p_value(10, 0.5, 0) == pytest.approx(2 / 1024)
    assert p_value(10, 0.5, 9) == pytest.approx(2 * 11 / 1024)
    assert p_value(3, 0.25, 3) == pytest.approx(2 / 64)
    assert p_value(1000, 0.25, 250) > 0.9


@pytest.mark.parametrize("rounds", [
    [(1500, 375), (375, 0)],  # in turn: nobody is stale twice
    [(1500, 375), (375, 375)],  # always the same origin
    [(1500, 500), (500, 167), (167, 56)],  # one of three
    [(1500, 255), (255, 43)],  # less often than others
])
def test_other_draws_would_be_refused(rounds):
    assert refused(rounds, 1 / 4)
    assert refused([(1500, 380), (380, 90), (90, 25), (25, 4), (4, 0)], 1 / 4) == []
