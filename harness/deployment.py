"""A whole deployment: origins, agents and a sketcher in one temporary folder."""

from harness.apache import ApacheCluster
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation
from harness.processes import HarnessError, wait_until
from harness.replicas import ReplicaGroup
from harness.sketcher import Sketcher

DEFAULT_CONTENT = {"/index.html": "<p>The page that all four origins serve.</p>\n"}

# The modes of the paper's evaluation.
READS = {"prophecy": "delay-once", "pbft": "replicated", "pbft-ro": "read-only"}

SANITIZER_MARKS = ["ERROR: AddressSanitizer", "ERROR: LeakSanitizer", "WARNING: ThreadSanitizer",
                   ": runtime error: "]


class Deployment:
    """Context manager, which fails at its end when a program died of itself. Options:

    faults            f; there are 3f+1 origins and agents
    mode              prophecy, pbft or pbft-ro
    content           what all origins serve: {"/path": text or bytes}
    apache_additions  {origin number: text for the end of its httpd.conf}
    agent_changes     over every agent's configuration, {"table": {"key": value}}, or a function that
                      yields them for an agent's number
    sketcher_changes  over the sketcher's configuration
    make_origins      a function of (folder, ports) that yields other origins than Apaches, like ApacheCluster
    agents            False leaves them out: for a sketcher that needs none
    canonical         the table [canonical] of the group file
    clients           how many sketchers the group knows
    port              the sketcher's port; default: one from the system
    start             False leaves everything prepared and stopped
    """

    def __init__(self, faults=1, mode="prophecy", content=None, apache_additions=None,
                 agent_changes=None, sketcher_changes=None, canonical=None, port=None,
                 agents=True, start=True, clients=1, make_origins=None):
        self.count = 3 * faults + 1
        self.folder = make_folder()
        self.ports = PortReservation(2 * self.count + 1)
        self._start_at_once = start
        try:
            origin_ports = self.ports.ports[:self.count]
            agent_ports = self.ports.ports[self.count:2 * self.count]
            self.origins = (make_origins(self.folder, origin_ports) if make_origins else
                            ApacheCluster(self.folder, origin_ports,
                                          content or DEFAULT_CONTENT, apache_additions))
            self.agents = ReplicaGroup(self.folder, faults, agent_ports, origin_ports,
                                       agent_changes, canonical, agents, clients)
            self.sketcher = Sketcher(self.folder, port or self.ports.ports[-1], origin_ports,
                                     _with_mode(sketcher_changes, mode))
        except BaseException:
            self.close()
            raise

    @property
    def url(self):
        return self.sketcher.url

    def start(self):
        self.origins.start()
        self.agents.start()
        self.sketcher.start()

    def _stop_programs(self):
        for part in ("sketcher", "agents", "origins"):
            if hasattr(self, part):
                getattr(self, part).stop()

    def read_until_divergence(self, read):
        """Calls `read` until some origin is found out, which is asked when it is drawn; and yields the events."""
        for _ in range(100):
            read()
            if events := self.sketcher.divergences():
                return events
        raise HarnessError("no divergence in 100 reads")

    def wait_for_write(self, path, content, origins=None):
        """Until these origins (all, by default) hold the bytes; None: until the file is gone.

        A quorum's replies answer a write's client while the slowest replica is still at it. A
        fast read from that one may be as old as the write before: delay-once consistency.
        """
        wait_until(lambda: all(self.origins[number].read(path) == content
                               for number in origins or range(self.count)),
                   10, f"the write of {path} at the origins")

    def close(self):
        try:
            self._stop_programs()
        finally:
            if hasattr(self, "origins"):
                self.origins.close()
            self.ports.close()
            remove_folder(self.folder)

    def logs(self):
        """What all programs wrote, for the report of a failure."""
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-4000:]}"
                         for path in sorted(self.folder.glob("*.log")))

    def problems(self):
        """Programs that ended without being told to, and reports of sanitizers."""
        found = []
        for owner in (self.sketcher, *self.agents, *self.origins):
            if owner.child and not owner.child.running():
                found.append(f"{owner.child.name} ended with status {owner.child.wait(0)}:\n"
                             f"{owner.child.log()[-4000:]}")
        for path in self.folder.glob("*.log"):
            text = path.read_text(errors="replace")
            if any(mark in text for mark in SANITIZER_MARKS):
                found.append(f"{path.name}:\n{text[-8000:]}")
        return found

    def __enter__(self):
        if self._start_at_once:
            try:
                self.start()
            except BaseException:
                self.close()
                raise
        return self

    def __exit__(self, kind, *_):
        try:
            found = self.problems()
            self._stop_programs()
            found = found or self.problems()
        finally:
            self.close()
        if found and kind is None:
            raise HarnessError("\n".join(found))


def _with_mode(changes, mode):
    changes = dict(changes or {})
    if not isinstance(changes.get("route"), list):
        changes["route"] = {"reads": READS[mode], **changes.get("route", {})}
    return changes
