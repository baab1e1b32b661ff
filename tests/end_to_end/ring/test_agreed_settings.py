"""What operators set at one member of a ring holds at all of them: modes of routes, the bypass, states of
origins, and marks. It outlives the member where it was set, and ZooKeeper's restart, and reaches members that
join later."""

import json

import pytest

from harness.http_client import curl as plain_curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.replicas import ctl, ctl_json
from harness.ring import LivingRing
from harness.zookeeper import Driver

PAGES = [f"/p{number}" for number in range(12)]
NODE = "/prophecy/settings"


def curl(url, *options, **arguments):
    # (What prophecyctl history names has no Accept.)
    return plain_curl(url, "-H", "Host: localhost", "-H", "Accept:", *options, **arguments)


@pytest.fixture(name="ring")
def make_ring():
    with LivingRing(members=["a", "b", "c", "d"], present=["a", "b", "c"], lease="1s",
                    content={page: "initial" for page in PAGES}, ring_changes={"owner_wait": "15s"},
                    sketcher_changes={"group": {"deadline": "3s"}}) as ring:
        yield ring


def set_at(ring, name, *arguments):
    """Yields what prophecyctl says; it has to succeed."""
    return ctl(*arguments, "--admin", ring.members[name].admin)


def settings(ring, name):
    """By name: what is agreed, and what is done about it here."""
    shown = ctl_json("ring", "settings", "--json", "--admin", ring.members[name].admin)
    return {each["name"]: (each["agreed"], each["here"]) for each in shown["settings"]}


def problem(ring, name):
    return ctl_json("ring", "settings", "--json", "--admin", ring.members[name].admin)["problem"]


def in_force(ring, name):
    """What holds at this member, from what it does: the bypass, the route's mode, origin 2's state."""
    status = ring.members[name].status()
    return status["bypass"], status["routes"][0]["mode"], status["origins"][2]["state"]


def mark(ring, name, page):
    [shown] = ctl_json("history", "get", f"http://localhost{page}", "--json", "--admin", ring.members[name].admin)
    return (shown["entry"] or {}).get("mark")


def wait_in_force(ring, names, wanted):
    wait_until(lambda: all(in_force(ring, name) == wanted for name in names), 10, f"{wanted} at {names}")


def owner_of(ring, names, page):
    """Who has served it."""
    def served(name):
        counters = ring.members[name].counters()
        return counters["fast"] + counters["replicated"]
    before = {name: served(name) for name in names}
    assert curl(ring.members[names[0]].url + page).status == 200
    [owner] = [name for name in names if served(name) > before[name]]
    return owner


def test_settings_hold_at_all_members_and_outlive_one(ring):
    page = PAGES[3]
    owner = owner_of(ring, ["a", "b", "c"], page)
    others = [name for name in ("a", "b", "c") if name != owner]
    for said in (set_at(ring, owner, "bypass", "on"),
                 set_at(ring, owner, "bypass", "off"),
                 set_at(ring, owner, "route", "default", "observe"),
                 set_at(ring, owner, "route", "default", "enforce"),
                 set_at(ring, owner, "origin", "set", "default/2", "maint", "--reason", "a new disk"),
                 set_at(ring, owner, "history", "blacklist", f"http://localhost{page}")):
        assert "agreed on in the ring" in said
    wanted = (False, "enforce", "maint")
    wait_in_force(ring, ["a", "b", "c"], wanted)
    wait_until(lambda: all(mark(ring, name, page) == "blacklisted" for name in ("a", "b", "c")), 10, "the mark")
    assert {value for name, (value, _) in settings(ring, others[0]).items()} == {"maint a new disk", "blacklisted"}
    assert ring.members[others[0]].status()["origins"][2]["reason"] == "a new disk"

    # It holds at the next owner, and at a member that joins later.
    ring.members[owner].kill()
    ring.wait_settled(others)
    ring.members["d"].start()
    ring.wait_settled([*others, "d"])
    wait_in_force(ring, [*others, "d"], wanted)
    names = ["d", *others]
    assert mark(ring, "d", page) == "blacklisted"
    before = sum(ring.members[name].counters()["replicated"] for name in names)
    for name in names * 2:
        assert curl(ring.members[name].url + page).status == 200
    assert sum(ring.members[name].counters()["replicated"] for name in names) == before + 6

    # It outlives ZooKeeper's restart, and is taken away at all members, also at one that was away.
    ring.zookeeper.kill()
    wait_until(lambda: not any(ring.ring(name)["connected"] for name in names), 20, "the loss of ZooKeeper")
    ring.zookeeper.start()
    wait_until(lambda: all(ring.ring(name)["connected"] for name in names), 40, "ZooKeeper")
    ring.wait_settled(names)
    wait_in_force(ring, names, wanted)
    assert "agreed on in the ring" in set_at(ring, "d", "history", "unmark", f"http://localhost{page}")
    assert "agreed on in the ring" in set_at(ring, "d", "origin", "set", "default/2", "ready")
    ring.members[owner].start()
    ring.wait_settled([owner, *names])
    wait_in_force(ring, [owner, *names], (False, "enforce", "ready"))
    assert [mark(ring, name, page) for name in (owner, *names)] == [None] * 4
    assert settings(ring, owner) == {}


def test_without_zookeeper_a_change_holds_here_and_is_shared_later(ring):
    ring.zookeeper.kill()
    wait_until(lambda: not ring.ring("a")["connected"], 10, "the loss of ZooKeeper")
    said = run_program("prophecyctl", "bypass", "on", "--admin", ring.members["a"].admin)
    assert said.returncode == 0 and "it holds at this member alone" in said.stderr
    assert in_force(ring, "a")[0] is True and in_force(ring, "b")[0] is False
    [(agreed, here)] = settings(ring, "a").values()
    assert agreed is None and here.startswith("on, not shared yet: there is no connection to ZooKeeper")
    # It is not forgotten with the process.
    ring.members["a"].kill()
    ring.members["a"].start()
    assert in_force(ring, "a")[0] is True
    ring.zookeeper.start()
    ring.wait_settled(["a", "b", "c"])
    wait_until(lambda: all(in_force(ring, name)[0] for name in ("a", "b", "c")), 10, "the bypass at all members")
    assert settings(ring, "c") == {"bypass": ("on", "carried out")}


def test_put_backs_come_before_take_outs(ring):
    """Two origins may be out. A member that was stopped gets two changes at once."""
    set_at(ring, "a", "origin", "set", "default/0", "maint")
    set_at(ring, "a", "origin", "set", "default/1", "drain")
    wait_until(lambda: len(settings(ring, "b")) == 2, 10, "both at b")
    # One more is refused where it is asked for, and not shared.
    refused = run_program("prophecyctl", "origin", "set", "default/2", "maint", "--admin", ring.members["b"].admin)
    assert refused.returncode == 1 and "have to stay" in refused.stderr
    ring.members["c"].child.freeze()
    set_at(ring, "a", "origin", "set", "default/1", "ready")
    set_at(ring, "a", "origin", "set", "default/2", "maint")
    ring.members["c"].child.thaw()
    ring.wait_settled(["a", "b", "c"])
    for name in ("a", "b", "c"):
        wait_until(lambda: settings(ring, name) == {  # noqa: B023
            "origin/default/0": ("maint by an operator", "carried out"),
            "origin/default/2": ("maint by an operator", "carried out")}, 10, f"both at {name}")
    assert "setting-refused" not in ring.members["c"].child.log()


def test_a_member_with_another_route_shows_what_it_refuses(ring):
    """A build or a configuration that does not know a name."""
    member = ring.members["d"]
    set_at(ring, "a", "route", "default", "observe")
    for route in member.settings["route"]:
        route["name"] = "other"
    member.write_configuration()
    member.start()
    ring.wait_settled(["a", "b", "c", "d"])
    wait_until(lambda: settings(ring, "d").get("route/default", ("", ""))[1].startswith("refused: there is no route"),
               10, "the refusal")
    [refused] = member.status()["ring"]["settings"]["refused"]
    assert refused["name"] == "route/default" and refused["value"] == "observe"
    assert member.status()["ring"]["settings_refused"] == 1
    assert "setting-refused" in member.child.log()
    text = ctl("ring", "settings", "--admin", member.admin)
    assert "refused: there is no route" in text


def test_settings_that_were_put_back_wait_for_an_operator(ring):
    with Driver([ring.zookeeper.address]) as driver:
        driver.wait_for("session_begun")
        set_at(ring, "a", "route", "default", "observe")
        old = driver.call("get", NODE)
        set_at(ring, "a", "bypass", "on")
        wait_until(lambda: in_force(ring, "b")[0], 10, "the bypass at b")
        now = driver.call("get", NODE)
        driver.call("set", NODE, data=old["data"], version=now["version"])
        wait_until(lambda: all("were put back" in problem(ring, name) for name in ("a", "b", "c")), 10, "its report")
        assert all(in_force(ring, name)[:2] == (True, "observe") for name in ("a", "b", "c"))
        assert "problem: /prophecy/settings" in ctl("ring", "settings", "--admin", ring.members["b"].admin)
        # A switch works all the same, here.
        said = run_program("prophecyctl", "bypass", "off", "--admin", ring.members["b"].admin)
        assert said.returncode == 0 and "it holds at this member alone" in said.stderr
        assert in_force(ring, "b")[0] is False and in_force(ring, "a")[0] is True
        assert "agreed on in the ring" in set_at(ring, "c", "ring", "settings", "--accept")
        wait_until(lambda: all(in_force(ring, name)[:2] == (False, "observe") for name in ("a", "b", "c")), 10,
                   "what was put back")
        wait_until(lambda: problem(ring, "a") == "", 10, "its end")

        # Nonsense is named, and changes nothing.
        driver.call("set", NODE, data="nonsense", version=driver.call("get", NODE)["version"])
        wait_until(lambda: "no settings" in problem(ring, "a"), 10, "its report")
        accepted = run_program("prophecyctl", "ring", "settings", "--accept", "--admin", ring.members["a"].admin)
        assert accepted.returncode == 1 and "no settings to accept" in accepted.stderr
        # A member that joins waits for a decision, and owns nothing.
        ring.members["d"].start()
        wait_until(lambda: "no settings" in problem(ring, "d"), 10, "its report at d")
        assert ring.ring("d")["state"] == "joining"
        assert "agreed on in the ring" in set_at(ring, "a", "ring", "settings", "--restore")
        ring.wait_settled(["a", "b", "c", "d"])
        assert in_force(ring, "d")[:2] == (False, "observe")
        metrics = json.dumps(ring.members["a"].status()["ring"]["settings_undecided"])
        assert metrics == "0"


def test_marks_leave_room_for_the_bypass(ring):
    """So many long URLs that they fill what marks may have."""
    urls = [f"http://localhost/{'x' * 900}/{number}" for number in range(850)]
    results = [run_program("prophecyctl", "history", "blacklist", *urls[at:at + 50], "--admin",
                           ring.members["a"].admin, timeout_s=120) for at in range(0, len(urls), 50)]
    assert results[0].returncode == 0 and results[0].stdout.count("agreed on in the ring") == 50
    assert results[-1].returncode == 1 and "no room for another mark" in results[-1].stderr
    assert "agreed on in the ring" in set_at(ring, "b", "bypass", "on")
    wait_until(lambda: in_force(ring, "c")[0], 10, "the bypass at c")
    assert len(settings(ring, "c")) > 700
    # What the ring has refused is not marked here either.
    assert mark(ring, "a", "/" + "x" * 900 + "/849") is None
    wait_until(lambda: mark(ring, "c", "/" + "x" * 900 + "/0") == "blacklisted", 10, "the first mark at c")
