"""Time, seed and place of an ordered request: agreed by the agents, seen by four Apaches."""

import re
from datetime import datetime, timedelta, timezone

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import wait_until

PAGE = b"page\n"
NAMES = ("Prophecy-Time", "Prophecy-Seed", "Prophecy-Sequence")
LIES = [part for name in (*NAMES, "PROPHECY-SEED", "prophecy-other", "prophecy_time")
        for part in ("-H", f"{name}: told-by-a-client")]

# Each origin keeps a log of what it is told, and tells the client its time.
ADDITIONS = """
LogFormat "%m %U %{Prophecy-Time}i %{Prophecy-Seed}i %{Prophecy-Sequence}i" agreed
LogFormat "%{prophecy-other}i %{prophecy_time}i" lies
CustomLog agreed.log agreed
CustomLog lies.log lies
Header set X-Told-Time "expr=%{req:Prophecy-Time}"
"""


@pytest.fixture(scope="module", name="deployment")
def _deployment():
    additions = dict.fromkeys(range(4), ADDITIONS)
    with Deployment(content={"/index.html": PAGE}, apache_additions=additions) as deployment:
        yield deployment


def told(origin, path):
    """What one origin was told with the requests for a path: (time, seed, sequence) each."""
    log = origin.folder / "agreed.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [tuple(line.split()[2:]) for line in lines if line.split()[1] == path]


def told_alike(deployment, path, count):
    """Waits until all four were told of so many requests; yields what, once it is the same."""
    wait_until(lambda: all(len(told(origin, path)) == count for origin in deployment.origins),
               10, f"{count} requests for {path} at all origins")
    first = told(deployment.origins[0], path)
    assert all(told(origin, path) == first for origin in deployment.origins)
    return first


def put(deployment, path, *arguments):
    answer = curl(deployment.url + path, "-X", "PUT", "--data-binary", "x", *arguments)
    assert answer.status in (201, 204)
    return answer


def test_all_origins_are_told_the_same_with_each_write(deployment):
    for _ in range(5):
        put(deployment, "/alike.txt")
    seen = told_alike(deployment, "/alike.txt", 5)
    times, seeds, sequences = zip(*seen)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z", time) for time in times)
    assert list(times) == sorted(times)
    now = datetime.now(timezone.utc)
    for time in times:
        agreed = datetime.fromisoformat(time[:26]).replace(tzinfo=timezone.utc)
        assert abs(now - agreed) < timedelta(seconds=60)
    assert all(re.fullmatch(r"[0-9a-f]{64}", seed) for seed in seeds)
    assert len(set(seeds)) == 5
    numbers = [int(sequence) for sequence in sequences]
    assert numbers == sorted(set(numbers)) and numbers[0] >= 1 << 16
    assert all(agent.status()["dropped"]["time_refused"] == 0 for agent in deployment.agents)


def test_a_page_may_depend_on_the_agreed_time(deployment):
    answer = put(deployment, "/dependent.txt")
    time, _, _ = told_alike(deployment, "/dependent.txt", 1)[0]
    assert answer.field("x-told-time") == time


def test_what_a_client_says_under_these_names_reaches_no_origin(deployment):
    put(deployment, "/stripped.txt", *LIES)
    told_alike(deployment, "/stripped.txt", 1)
    assert curl(deployment.url + "/stripped.txt", *LIES).body == b"x"
    for origin in deployment.origins:
        for log in ("agreed.log", "lies.log"):
            assert "told-by-a-client" not in (origin.folder / log).read_text()
        assert set((origin.folder / "lies.log").read_text().splitlines()) == {"- -"}


def test_fast_reads_carry_none_of_it(deployment):
    put(deployment, "/read.txt")
    deployment.wait_for_write("/read.txt", b"x")
    before = [len(told(origin, "/read.txt")) for origin in deployment.origins]
    # Its answers name the time, so an ordered read is never confirmed by a fast one.
    for _ in range(5):
        assert curl(deployment.url + "/read.txt").body == b"x"
    reads = [entry for origin, count in zip(deployment.origins, before)
             for entry in told(origin, "/read.txt")[count:]]
    assert ("-", "-", "-") in reads
