"""An agent that lies, with real keys, connections, disk and Apache, in each position of the group.

Clients write and read the whole time. They count: no request is lost, repeated or answered wrongly,
and what they see of files that they share is linearizable. The other agents stay up and within
their memory, and name the liar.
"""

import random
import signal
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from harness import Deployment
from harness.http_client import RawConnection
from harness.processes import HarnessError, wait_until
from harness.programs import run_program
from harness.register_history import Operation, contradictions
from harness.writers import Writers

BEHAVIOURS = run_program("byzantine-replica", "--list").stdout.splitlines()
# What the liar does as primary, and at last what costs it its view, in each position.
AS_PRIMARY = [["equivocating", "slow", "censoring"],
              ["equivocating", "selective MACs", "ordering junk"],
              ["equivocating", "replaying", "silent"],
              ["equivocating", "garbage", "censoring"]]
# Beside another primary: these in each position, and of all others a share in each.
EVERYWHERE = ["silent", "slow", "selective MACs", "garbage", "replaying", "censoring", "lying votes",
              "lying checkpoints", "lying replies"]
ELSEWHERE = [name for name in BEHAVIOURS if name not in EVERYWHERE]
# Of what the behaviours draw. With it, the client that is censored is the one that is there, and a
# primary that equivocates, wherever it is, splits its backups.
SEED = 5
TURN_S = 0.2
ANSWERS_EACH_TURN = 6

SHARED = ["/shared-0", "/shared-1"]
INITIAL = b"initial"
KEPT = b"kept" * 1000
ADDITIONS = """
LogFormat "%m %U %s %{Prophecy-Sequence}i" executed
CustomLog executed.log executed
"""
WRITES = ("PUT", "DELETE")
MEMORY_GROWTH_MAX = 256 << 20


class Clients(Writers):
    """Each has files of its own, whose every answer is known beforehand, and shares others."""

    def __init__(self, deployment, count=4):
        self.port = deployment.sketcher.port
        self.history = []
        self.wrong = []
        self.written = Counter()  # (method, path): how often it was acknowledged
        self.connections = {}
        super().__init__(deployment, count)

    def write(self, writer, number):
        if self.wrong:
            return time.sleep(0.01)  # it is all over
        try:
            if writer not in self.connections:
                self.connections[writer] = RawConnection(self.port)
            if number % 4 == 0:
                self.use_own(writer, f"/own-{writer}-{number}")
            self.share(writer, number)
        except (HarnessError, OSError) as error:
            self.wrong.append(("no answer", writer, error))

    def ask(self, writer, method, path, content=b""):
        begin = time.monotonic()
        answer = self.connections[writer].ask(method, path, content)
        end = time.monotonic()
        if method in WRITES and answer.status < 300:
            self.written[method, path] += 1
        return answer, begin, end

    def use_own(self, writer, path):
        """A write that is lost, or carried out twice, shows in one of these answers."""
        for method, content, status, body in [("PUT", b"one", 201, None),
                                              ("PUT", b"two", 204, b""),
                                              ("GET", b"", 200, b"two"),
                                              ("DELETE", b"", 204, b""),
                                              ("GET", b"", 404, None),
                                              ("PUT", b"three", 201, None)]:
            answer, _, _ = self.ask(writer, method, path, content)
            if answer.status != status or body not in (None, answer.body):
                self.wrong.append((method, path, answer))

    def share(self, writer, number):
        name = random.choice(SHARED)
        is_write = random.random() < 0.5
        value = f"{writer}.{number}".encode()
        if is_write:
            answer, begin, end = self.ask(writer, "PUT", name, value)
        else:
            answer, begin, end = self.ask(writer, "GET", name)
            value = answer.body
        if answer.status != (204 if is_write else 200):
            self.wrong.append((is_write, name, answer))
        self.history.append(Operation(name, value, is_write, begin, end))

    def wait_for_more(self, more, what):
        before = len(self.history)
        wait_until(lambda: len(self.history) >= before + more or self.wrong, 20,
                   f"{more} more answers {what}")
        assert not self.wrong, what


class Group:
    """A deployment with a liar among its agents, which takes these turns, and its clients."""

    def __init__(self, deployment, position, turns):
        self.deployment = deployment
        self.liar = deployment.agents[position]
        self.correct = [agent for agent in deployment.agents if agent is not self.liar]
        self.liar.command = ["byzantine-replica", "--seed", str(SEED)]
        for turn in turns:
            self.liar.command += ["--behaviour", turn]
        self.turns = turns
        deployment.start()
        self.clients = Clients(deployment)
        self.wait_beside(turns[0])
        self.memory = [memory_bytes(agent) for agent in self.correct]

    def wait_beside(self, behaviour, answers=ANSWERS_EACH_TURN):
        self.clients.wait_for_more(answers, f"beside an agent that is {behaviour}")

    def next_turn(self):
        before = self.turns_taken()
        self.liar.child.signal(signal.SIGUSR1)
        wait_until(lambda: self.turns_taken() > before, 10, "the liar's next turn")
        return self.turns[before]

    def turns_taken(self):
        return self.liar.child.log().count(" behaviour ")

    def view(self):
        return max(agent.status()["view"] for agent in self.correct)

    def end_view(self):
        """Pauses the primary until others ask for the next view."""
        view = self.view()
        primary = self.deployment.agents[view % 4]
        primary.pause()
        others = [agent for agent in self.correct if agent is not primary]
        try:
            wait_until(lambda: any(agent.status()["view"] > view for agent in others), 20,
                       f"the end of view {view}")
        finally:
            primary.resume()

    def let_it_lead(self):
        while self.view() % 4 != self.liar.number:
            self.end_view()

    def wait_for_view(self, what, wanted):
        """Until two of the correct agents, which make a quorum with any third, are in such a view.
        (One that was late may have asked for a later one, and executes along.)"""
        def settled():
            statuses = [agent.status() for agent in self.correct]
            return sum(status["state"] == "normal" and wanted(status["view"])
                       for status in statuses) >= 2

        wait_until(settled, 20, what)

    def wait_for_end_of_its_view(self):
        self.wait_for_view("the end of the liar's view", lambda view: view % 4 != self.liar.number)

    def wait_for_checkpoint(self):
        def stable():
            return [agent.status()["progress"]["last_stable"] for agent in self.correct]

        before = max(stable())
        wait_until(lambda: min(stable()) > before, 20, "a checkpoint of all correct agents")

    def check(self):
        self.clients.stop()
        assert not self.clients.wrong
        assert contradictions(self.clients.history, INITIAL) == []
        wait_until(lambda: not executions_missing(self), 20, "all writes at the correct origins")
        for agent, before in zip(self.correct, self.memory):
            assert memory_bytes(agent) < before + MEMORY_GROWTH_MAX

    def check_suspicions(self):
        for agent in self.correct:
            reasons = suspicions(agent)
            assert reasons.pop(self.liar.number), agent.number
            # A liar can use their names, but not prove that they have said what they have not.
            assert not any(reason.startswith("sent what no correct replica sends")
                           for other in reasons.values() for reason in other), reasons


def memory_bytes(agent):
    with open(f"/proc/{agent.child.pid}/status", encoding="utf-8") as status:
        line = next(line for line in status if line.startswith("VmRSS:"))
    return int(line.split()[1]) << 10


def suspicions(agent):
    """What it has against each of the others, as prophecyctl shows it."""
    return {peer["id"]: peer["suspected"] for peer in agent.status()["peers"]}


def executed(agent, origin):
    """{place in the order: (method, path, status)} of the writes. Each was carried out once, or
    anew, and alike, by an agent that has gone back to an older state."""
    went_back = agent.status()["core"]["states_restored"] > 0
    found = {}
    for line in (origin.folder / "executed.log").read_text().splitlines():
        method, path, status, place = line.split()
        if method in WRITES:
            write = (method, path, status)
            assert place not in found or (went_back and found[place] == write), (place, write)
            found[place] = write
    return found


def executions_missing(group):
    """What clients were told was done, and a correct origin has not done as often; and the same at
    each place of the order."""
    together = {}
    for agent in group.correct:
        own = executed(agent, group.deployment.origins[agent.number])
        differing = {place: (write, together[place]) for place, write in own.items()
                     if together.setdefault(place, write) != write}
        assert not differing
        done = Counter((method, path) for method, path, _ in own.values())
        assert not done - group.clients.written, "more was done than clients have asked for"
        if missing := group.clients.written - done:
            return missing
    return None


def changes_of(number):
    return {"service": {"state": "directory", "state_folder": f"origin-{number}/htdocs",
                        "state_exclude": [".DAV", ".davfs.tmp*"], "write_settle": "1s"}}


@contextmanager
def group_with_liar(position, turns):
    with Deployment(start=False, mode="pbft-ro", agent_changes=changes_of,
                    content={**dict.fromkeys(SHARED, INITIAL), "/kept.txt": KEPT},
                    apache_additions=dict.fromkeys(range(4), ADDITIONS)) as deployment:
        group = Group(deployment, position, turns)
        yield group
        group.check()


@pytest.mark.parametrize("position", range(4))
def test_a_liar_in_each_position(position):
    as_primary = AS_PRIMARY[position]
    beside = EVERYWHERE + ELSEWHERE[position::4]
    with group_with_liar(position, ["forged view changes", *as_primary, *beside]) as group:
        group.let_it_lead()
        for _ in as_primary:
            group.wait_beside(group.next_turn())
        group.wait_for_end_of_its_view()
        for _ in beside:
            behaviour = group.next_turn()
            time.sleep(TURN_S)
            group.wait_beside(behaviour)
        group.check_suspicions()


def test_a_primary_that_forges_its_view():
    """As it does four times out of five. Nobody takes such a view: the next one is asked for."""
    with group_with_liar(1, ["forged new views"]) as group:
        group.end_view()
        group.wait_for_view("a new view", lambda view: view > 0)
        group.wait_beside("forged new views")


def test_a_state_is_repaired_beside_a_liar():
    lies = [name for name in BEHAVIOURS
            if any(word in name for word in ("checkpoint", "root", "part"))]
    with group_with_liar(3, lies) as group:
        for behaviour in lies:
            group.wait_for_checkpoint()
            victim = group.deployment.origins[1]
            (victim.htdocs / "kept.txt").unlink()
            wait_until(lambda victim=victim: victim.read("/kept.txt") == KEPT, 30,
                       f"the repair beside an agent that is {behaviour}")
            group.wait_beside(behaviour)
            if behaviour != lies[-1]:
                group.next_turn()


def at(value, begin, end, is_write=False):
    return Operation("file", value, is_write, begin, end)


@pytest.mark.parametrize("history", [
    pytest.param([at(b"never written", 1, 2)], id="invented"),
    pytest.param([at(b"a", 1, 2), at(b"a", 3, 4, is_write=True)], id="read before written"),
    pytest.param([at(b"a", 1, 2, is_write=True), at(INITIAL, 3, 4)], id="lost"),
    pytest.param([at(b"a", 1, 2, is_write=True), at(b"b", 3, 4, is_write=True), at(b"a", 5, 6)],
                 id="old again"),
    pytest.param([at(b"a", 1, 9, is_write=True), at(b"a", 2, 3), at(INITIAL, 4, 5)],
                 id="seen and then not")])
def test_histories_that_no_file_can_have(history):
    assert contradictions(history, INITIAL)


def test_a_history_that_a_file_can_have():
    assert contradictions([at(b"a", 1, 9, is_write=True), at(INITIAL, 2, 3), at(b"a", 4, 5),
                           at(b"b", 6, 8, is_write=True), at(b"b", 7, 8), at(b"b", 10, 11)],
                          INITIAL) == []
