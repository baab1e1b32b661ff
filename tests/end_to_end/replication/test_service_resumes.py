"""How long a group is without service when its primary is lost, and that it does not replace one for
what networks and disks do all the time.

The clients are one prophecy-bench, which makes calls without a pause. The longest of them is how long
the group was without service."""

import json
import os
import shutil
import subprocess
import time
from contextlib import contextmanager

import pytest

from harness.build import instrumented, patience
from harness.cables import Cables, why_impossible
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation
from harness.processes import waited_for_processor_s
from harness.programs import program
from harness.replicas import ReplicaGroup
from harness.standstill import StandstillWatch

AFTER_A_KILL_S = 0.3
AFTER_A_CUT_S = 1.0
CLIENTS = 8
REPLICAS = 4
# The share of the time for which a replica waits for a processor. Beyond it the group may find its
# primary slow with good reason.
STARVED_SHARE = 0.1
WORSE_MACHINE = "worse_machine.so"


class Load:
    """prophecy-bench, with the client's environment."""

    def __init__(self, group, seconds, watch, wrapper=(), environment=()):
        command = [*wrapper, "env", *environment, program("prophecy-bench"), "pbft",
                   "--group", group.folder / "group.toml", "--key-file",
                   group.folder / "client-1024.key", "--clients", CLIENTS, "--warm-up", 0.5,
                   "--seconds", seconds]
        self._process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, text=True)
        self._seconds = seconds
        self._watch = watch
        assert "measuring" in self._process.stdout.readline()

    def longest_call_s(self):
        """At its end, when each call has had its answer."""
        output = self._process.communicate(timeout=(self._seconds + 30) * patience())[0]
        report = json.loads(output)
        assert self._process.returncode == 0 and not report["failed"], report
        longest = report["latency_us"]["max"] / 1e6
        print(f"{report['agreed']} calls, the longest {longest:.3f} s;"
              f" the machine stood still for {self.stood_still_s():.3f} s")
        return longest

    def stood_still_s(self):
        return self._watch.stood_still_s()

    def stop(self):
        self._process.kill()
        self._process.communicate()


@contextmanager
def group_of_four(hosts=None, prepare=lambda agent: None):
    """Without origins, with their disks."""
    folder = make_folder()
    reserved = PortReservation(REPLICAS)
    changes = {"service": {"kind": "null", "answer_bytes": "0B", "origin": None}}
    try:
        group = ReplicaGroup(folder, 1, reserved.ports, reserved.ports, changes, hosts=hosts)
        for agent in group:
            prepare(agent)
        try:
            group.start()
            yield group
        finally:
            group.stop()
    finally:
        reserved.close()
        remove_folder(folder)


@contextmanager
def load_on(group, seconds, **where):
    with StandstillWatch(group.folder) as watch:
        load = Load(group, seconds, watch, **where)
        try:
            yield load
        finally:
            load.stop()


def longest_wait_s(group):
    return max(waited_for_processor_s(agent.child.pid) for agent in group if agent.child)


def skip_when_starved(group, seconds):
    """Behind a load of so many seconds."""
    waited = longest_wait_s(group)
    if waited > STARVED_SHARE * seconds:
        pytest.skip(f"the machine is too busy: an agent waited {waited:.1f} s for a processor, and was slow")


def check_longest_call(load, group, limit_s):
    """The machine is answerable for the time that processes of the group waited for a processor, and
    for the time that it stood still."""
    longest = load.longest_call_s()
    allowed = limit_s * patience() + 2 * longest_wait_s(group) + load.stood_still_s()
    assert longest < allowed, [agent.child.log() for agent in group if agent.child]


def check_next_view(group, seconds):
    """Of its first primary the group is rid, and of no other. Behind a load of so many seconds."""
    others = list(group)[1:]
    statuses = [agent.status() for agent in others]
    if any(status["view"] > 1 for status in statuses):
        skip_when_starved(group, seconds)
    for status in statuses:
        assert (status["state"], status["view"], status["primary"]) == ("normal", 1, 1), \
            [agent.child.log() for agent in others]


def view_changes(agent):
    return {cause: count for cause, count in agent.metrics().items()
            if cause.startswith("prophecy_replica_view_changes_total") and count}


def check_no_view_changes(group, seconds):
    """One replica that asks for a view alone changes none. Behind a load of so many seconds."""
    asked = {agent.number: causes for agent in group if (causes := view_changes(agent))}
    if len(asked) > 1:
        skip_when_starved(group, seconds)
    assert len(asked) <= 1, asked
    for agent in group:
        entered = agent.metrics()["prophecy_replica_views_entered_total"]
        assert not entered, [other.child.log() for other in group]


def test_killed_primary():
    with group_of_four() as group, load_on(group, 3) as load:
        time.sleep(1)
        group[0].kill()
        check_longest_call(load, group, AFTER_A_KILL_S)
        check_next_view(group, 3)
        assert "peer-gone" in group[1].child.log()


def test_stopped_primary():
    with group_of_four() as group, load_on(group, 4) as load:
        time.sleep(1)
        group[0].pause()
        check_longest_call(load, group, AFTER_A_CUT_S)
        check_next_view(group, 4)


@pytest.mark.skipif(bool(why_impossible()), reason=str(why_impossible()))
def test_primary_whose_cable_is_cut():
    with Cables(REPLICAS + 1) as cables:
        def place(agent):
            agent.wrapper = cables.on(agent.number)

        with group_of_four(cables.hosts[:REPLICAS], place) as group, \
                load_on(group, 4, wrapper=cables.on(REPLICAS)) as load:
            time.sleep(1)
            cables.cut(0)
            check_longest_call(load, group, AFTER_A_CUT_S)
            check_next_view(group, 4)


def reset_connections(port):
    """Both ends of each get a reset, as an attacker in the network could forge it."""
    command = ["ss", "--kill", "--tcp", "--numeric", "sport", "=", f":{port}", "or", "dport", "=",
               f":{port}"]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=True).stdout.count("ESTAB")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ss"), reason="needs root and ss")
def test_forged_resets_replace_no_primary():
    with group_of_four() as group, load_on(group, 4) as load:
        for _ in range(3):
            time.sleep(1)
            if not reset_connections(group[0].agent_port):
                pytest.skip("the kernel resets no connections")
        check_longest_call(load, group, AFTER_A_CUT_S)
        assert "peer-lost" in group[1].child.log() and "peer-gone" not in group[1].child.log()
        check_no_view_changes(group, 4)


def under_loss(seconds):
    """5 % of the segments that reach any of the programs."""
    worse = {"LD_PRELOAD": str(program(WORSE_MACHINE)), "PROPHECY_LOSS_PERCENT": "5"}

    def lose(agent):
        agent.environment = worse

    with group_of_four(prepare=lose) as group:
        environment = [f"{name}={value}" for name, value in worse.items()]
        with load_on(group, seconds, environment=environment) as load:
            load.longest_call_s()
            check_no_view_changes(group, seconds)


@pytest.mark.skipif(instrumented(), reason="a sanitizer must be the first to be preloaded")
@pytest.mark.time_limit(120)
def test_loss_replaces_no_primary():
    under_loss(30)


@pytest.mark.skipif(instrumented(), reason="a sanitizer must be the first to be preloaded")
@pytest.mark.long
@pytest.mark.time_limit(900)
def test_ten_minutes_of_loss_replace_no_primary():
    under_loss(600)


def stall(group, number, seconds):
    (group.folder / f"stall-{number}").touch()
    time.sleep(seconds)
    (group.folder / f"stall-{number}").unlink()


def may_stall(agent):
    agent.environment = {"LD_PRELOAD": str(program(WORSE_MACHINE)),
                         "PROPHECY_STALL_FILE": str(agent.folder / f"stall-{agent.number}")}


@pytest.mark.skipif(instrumented(), reason="a sanitizer must be the first to be preloaded")
@pytest.mark.parametrize("number", [1, 3])
def test_a_disk_that_stalls_replaces_no_primary(number):
    with group_of_four(prepare=may_stall) as group, load_on(group, 5) as load:
        time.sleep(1)
        stall(group, number, 2)
        check_longest_call(load, group, AFTER_A_CUT_S)
        check_no_view_changes(group, 5)


@pytest.mark.skipif(instrumented(), reason="a sanitizer must be the first to be preloaded")
def test_a_primary_whose_disk_stalls():
    with group_of_four(prepare=may_stall) as group, load_on(group, 5) as load:
        time.sleep(1)
        stall(group, 0, 2)
        check_longest_call(load, group, AFTER_A_CUT_S)
