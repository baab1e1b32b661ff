"""The steps of the demonstration. Each does something real, checks what came of it, and raises
StepFailed when that is not what it should be. The docstring's first line is what it proves."""

import time

from harness.http_client import curl
from harness.processes import HarnessError, wait_until

DEFACED = 1   # the replica whose page is changed by hand
CRASHED = 3   # the replica that is killed: a backup, since replica 0 leads the first view
PAGE = b"<h1>Prophecy</h1>\n<p>Four origins agree on this page.</p>\n"
NOTE_1 = b"Agreed on by all four.\n"
NOTE_2 = b"Agreed on by the three that are left.\n"


class StepFailed(Exception):
    pass


def require(holds, otherwise):
    if not holds:
        raise StepFailed(otherwise)


def read(deployment, path, expected):
    answer = curl(deployment.url + path)
    require(answer.status == 200, f"GET {path} was answered with {answer.status}")
    require(answer.body == expected, f"GET {path} brought the wrong bytes: {answer.body[:80]!r}")


def counted(deployment, action):
    """Runs an action; yields how many answers were fast and how many replicated meanwhile."""
    before = deployment.sketcher.counters()
    action()
    after = deployment.sketcher.counters()
    return (after["fast"] - before["fast"],
            after["replicated"] - before["replicated"])


def first_read(deployment):
    """Nothing is known yet: the first read of a page is agreed on by the group."""
    fast, replicated = counted(deployment, lambda: read(deployment, "/", PAGE))
    require((fast, replicated) == (0, 1), f"{fast} fast and {replicated} replicated answers")
    return "GET /  200, replicated: f+1 = 2 agents or more gave the same answer"


def second_read(deployment):
    """From then on a read costs one origin: its answer matches the sketch of the agreed one."""
    fast, replicated = counted(deployment, lambda: read(deployment, "/", PAGE))
    require((fast, replicated) == (1, 0), f"{fast} fast and {replicated} replicated answers")
    return "GET /  200, fast: one origin was asked, its answer matches the history"


def write(deployment):
    """A write is ordered by the group and carried out by every origin."""
    put(deployment, "/note.txt", NOTE_1)
    wait_for_file(deployment, "/note.txt", NOTE_1, range(deployment.count))
    return "PUT /note.txt: the same bytes lie in all four folders"


def put(deployment, path, content):
    answer = curl(deployment.url + path, "--request", "PUT", "--data-binary", content.decode())
    require(answer.status in (200, 201, 204), f"PUT {path} was answered with {answer.status}")


def working(deployment):
    return [number for number in range(deployment.count) if number != CRASHED]


def wait_for_file(deployment, path, content, origins):
    # A quorum's replies answer the client; the slowest replica may still be at it, and a fast
    # read from it would be a moment old (the paper's delay-once consistency).
    try:
        wait_until(lambda: all(deployment.origins[number].read(path) == content
                               for number in origins), 10, f"{path} in the folders")
    except HarnessError as error:
        raise StepFailed(str(error)) from None


def read_after_write(deployment):
    """The read after it sees the write, and the one after that is fast again."""
    fast, replicated = counted(deployment, lambda: [read(deployment, "/note.txt", NOTE_1)
                                                    for _ in range(2)])
    require((fast, replicated) == (1, 1), f"{fast} fast and {replicated} replicated answers")
    return "GET /note.txt twice: replicated, then fast"


def defaced(deployment):
    """One origin lies: clients get the right bytes all the same, and the operator the name."""
    origin = deployment.origins[DEFACED]
    origin.write("/index.html", "<h1>Defaced</h1>\n")
    reads = 40
    for _ in range(reads):
        read(deployment, "/", PAGE)
    try:
        found = wait_until(lambda: [event for event in deployment.sketcher.divergences()
                                    if event["replica"] == DEFACED], 10,
                           "the divergence in the operator's report")
    except HarnessError as error:
        raise StepFailed(str(error)) from None
    others = [event for event in deployment.sketcher.divergences() if event["replica"] != DEFACED]
    require(not others, f"honest replicas were reported: {others[:2]}")
    return (f"{reads} reads, {reads} right answers; prophecyctl divergences names replica "
            f"{DEFACED}, {len(found)} times")


def repaired(deployment):
    """Repaired, it takes part again: every read is fast."""
    deployment.origins[DEFACED].write("/index.html", PAGE)
    fast, replicated = counted(deployment, lambda: [read(deployment, "/", PAGE)
                                                    for _ in range(20)])
    require((fast, replicated) == (20, 0), f"{fast} fast and {replicated} replicated answers")
    return "20 reads: 20 fast"


def origin_killed(deployment):
    """One Apache dies: reads that were to go to it are answered by the others, writes go on."""
    deployment.origins[CRASHED].kill()
    for _ in range(20):
        read(deployment, "/", PAGE)
    put(deployment, "/note.txt", NOTE_2)
    wait_for_file(deployment, "/note.txt", NOTE_2, working(deployment))
    read(deployment, "/note.txt", NOTE_2)
    return "20 reads and a write: all answered; the three folders left hold the new bytes"


def agent_killed(deployment):
    """Its agent dies too: 2f+1 = 3 are left, which is enough to agree."""
    deployment.agents[CRASHED].kill()
    started = time.monotonic()
    put(deployment, "/note.txt", NOTE_1)
    wait_for_file(deployment, "/note.txt", NOTE_1, working(deployment))
    for _ in range(20):
        read(deployment, "/note.txt", NOTE_1)
    return f"a write and 20 reads in {time.monotonic() - started:.1f} s: all answered"


STEPS = [first_read, second_read, write, read_after_write, defaced, repaired, origin_killed,
         agent_killed]
