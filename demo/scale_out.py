"""./run demo --scale-out: three sketchers as one, in front of four Apaches; ZooKeeper says who is a member. The steps
build on each other; each docstring's first line is what it proves."""

import threading
import time

from demo.steps import require
from harness.http_client import curl
from harness.ring import LivingRing

LEASE_S = 2
PAGES = {f"/page-{number}.html": f"<p>Page {number}.</p>\n" for number in range(12)}
# For whoever looks at it afterwards: no step reads it.
INDEX = {"/index.html": "".join(f'<p><a href="{path}">{path}</a></p>\n' for path in PAGES)}


def make_ring():
    # A loaded machine takes its time to start ZooKeeper again.
    return LivingRing(members=["north", "east", "south"], lease=f"{LEASE_S}s", content={**PAGES, **INDEX},
                      ring_changes={"owner_wait": "30s"})


def read(ring, name, path):
    answer = curl(ring.members[name].url + path, "-H", "Host: localhost", timeout_s=40)
    require(answer.status == 200, f"GET {path} at {name} was answered with {answer.status}")
    return answer.body


def write(ring, name, path, content):
    answer = curl(ring.members[name].url + path, "-H", "Host: localhost", "-X", "PUT", "--data-binary", content)
    require(answer.status in (200, 201, 204), f"PUT {path} at {name} was answered with {answer.status}")


def counts(ring, names):
    """How many answers were fast and how many replicated so far, at these members."""
    counters = [ring.members[name].counters() for name in names]
    return sum(each["fast"] for each in counters), sum(each["replicated"] for each in counters)


class Readers:
    """Read all pages at these members, one after the other, until the end. `longest_s` is how long an answer took."""

    def __init__(self, ring, names):
        self.ring, self.names = ring, names
        self.reads, self.longest_s, self.problems = 0, 0.0, []
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(name,)) for name in names]

    def _run(self, name):
        while not self._stopping.is_set():
            for path, content in PAGES.items():
                begun = time.monotonic()
                try:
                    right = read(self.ring, name, path) == content.encode()
                except Exception as problem:  # pylint: disable=broad-exception-caught
                    right = False
                    self.problems.append(str(problem))
                if not right:
                    self.problems.append(f"{path} at {name}")
                self.reads += 1
                self.longest_s = max(self.longest_s, time.monotonic() - begun)

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def proof(self):
        require(not self.problems, f"{len(self.problems)} reads failed: {self.problems[:2]}")
        return f"{self.reads} reads meanwhile, all right, the longest took {self.longest_s:.1f} s"


def shared(ring):
    """Three sketchers own a part of the history each, and answer as one."""
    for name in ring.names:
        for path, content in PAGES.items():
            require(read(ring, name, path) == content.encode(), f"{path} at {name} brought the wrong bytes")
    fast, replicated = counts(ring, ring.names)
    require((fast, replicated) == (2 * len(PAGES), len(PAGES)), f"{fast} fast and {replicated} replicated answers")
    parts = ", ".join(f"{each['name']} {each['partitions']}" for each in ring.ring("north")["members"])
    return f"{len(PAGES)} pages at each: agreed on once, then fast everywhere; of 4096 partitions {parts}"


def written(ring):
    """A write at one of them is what all read from then on."""
    for number, path in enumerate(PAGES):
        writer, reader = ring.names[number % 3], ring.names[(number + 1) % 3]
        write(ring, writer, path, f"new {number}")
        require(read(ring, reader, path) == f"new {number}".encode(), f"{reader} has an old {path}")
        write(ring, reader, path, PAGES[path])
    return f"{len(PAGES)} pages written at one and read at another, at once: each time the new one"


def drained(ring):
    """A member drains: the others take its part over, warm, and no request fails."""
    for path in PAGES:
        read(ring, "north", path)
    _, before = counts(ring, ring.names)
    with Readers(ring, ring.names) as readers:
        ring.drain("south")
        ring.wait_settled(ring.names, owners=["north", "east"])
        time.sleep(0.5)
    _, after = counts(ring, ring.names)
    ring.rejoin("south")
    ring.wait_settled(ring.names)
    return f"{readers.proof()}; {after - before} were replicated"


def killed(ring):
    """One is killed: its part waits until its lease is over, then others have it."""
    with Readers(ring, ["north", "east"]) as readers:
        time.sleep(0.5)
        ring.members["south"].kill()
        ring.wait_settled(["north", "east"])
        time.sleep(0.5)
    ring.members["south"].start()
    ring.wait_settled(ring.names)
    return f"{readers.proof()} (lease: {LEASE_S} s)"


def stopped(ring):
    """One is stopped beyond its lease: what it would answer from before is not accepted."""
    with Readers(ring, ["north", "east"]) as readers:
        ring.members["south"].child.freeze()
        time.sleep(2 * LEASE_S)
    for number, path in enumerate(PAGES):
        write(ring, "north", path, f"while stopped {number}")
    ring.members["south"].child.thaw()
    for number, path in enumerate(PAGES):
        require(read(ring, "south", path) == f"while stopped {number}".encode(), f"south has an old {path}")
        write(ring, "south", path, PAGES[path])
    ring.wait_settled(ring.names)
    return f"{readers.proof()}; it went on with what was written meanwhile"


def without_zookeeper(ring):
    """ZooKeeper is killed: serving goes on for a lease, then waits, and goes on when it is back."""
    ring.zookeeper.kill()
    begun = time.monotonic()
    while time.monotonic() - begun < LEASE_S / 4:
        read(ring, "north", next(iter(PAGES)))
    time.sleep(LEASE_S)
    left = [ring.ring(name)["lease_ms_left"] for name in ring.names]
    require(not any(left), f"leases go on without ZooKeeper: {left}")
    with Readers(ring, ["north", "east"]) as readers:
        time.sleep(0.5)
        ring.zookeeper.start()
        ring.wait_settled(ring.names)
    return readers.proof()


STEPS = [shared, written, drained, killed, stopped, without_zookeeper]
