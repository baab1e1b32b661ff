"""The history table in a file: what it remembers survives the sketcher, and nothing else is taken for
it."""

import json
import os
import time

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.processes import HarnessError, wait_until
from harness.programs import run_program

PAGES = {f"/page-{number}.html": f"page {number}\n" for number in range(20)}
TABLE = {"table": {"size": "8MiB", "file": "history.table"}, "log": {"format": "json"}}
VOTE = {"group": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}}


def kept_deployment(changes=None, **options):
    return Deployment(content=PAGES, sketcher_changes={**TABLE, **(changes or {})}, **options)


def events(deployment, name):
    lines = (deployment.folder / "sketcher.log").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


def read_all(deployment):
    """How many of the reads were fast, and how many replicated."""
    before = deployment.sketcher.counters()
    for path, content in PAGES.items():
        assert curl(deployment.url + path).body == content.encode()
    after = deployment.sketcher.counters()
    return after["fast"] - before["fast"], after["replicated"] - before["replicated"]


def test_a_restart_keeps_what_was_agreed():
    with kept_deployment() as deployment:
        assert read_all(deployment) == (0, len(PAGES))
        assert deployment.sketcher.counters()["fast"] == 0
        for _ in range(2):
            deployment.sketcher.stop()
            deployment.sketcher.start()
            assert read_all(deployment) == (len(PAGES), 0)
        (*_, mapped) = events(deployment, "table-mapped")
        assert mapped["entries_kept"] == len(PAGES)
        assert events(deployment, "table-emptied") == []
        assert os.stat(deployment.folder / "history.table").st_mode & 0o777 == 0o600


def test_a_sketcher_that_was_killed_finds_its_table_too():
    with kept_deployment() as deployment:
        assert read_all(deployment) == (0, len(PAGES))
        for _ in range(3):
            deployment.sketcher.kill()
            deployment.sketcher.start()
            assert read_all(deployment) == (len(PAGES), 0)


def test_a_change_while_the_sketcher_was_away_is_seen_and_an_old_answer_refuted():
    """An entry that was kept does not outlive the newer answer, whatever happened meanwhile."""
    with kept_deployment() as deployment:
        read_all(deployment)
        deployment.sketcher.stop()
        for origin in deployment.origins:
            origin.write("/page-0.html", b"changed")
        deployment.sketcher.start()
        for _ in range(10):
            assert curl(deployment.url + "/page-0.html").body == b"changed"
        assert deployment.sketcher.divergences() == []
        assert deployment.sketcher.counters()["replicated"] == 1


def test_a_group_that_began_anew_behind_its_back_is_followed():
    """Agents that were all restarted count from the beginning: their newer answers have smaller
    numbers than the entries that were kept, and are taken all the same."""
    with kept_deployment(agent_changes={"storage": None}) as deployment:
        for number in range(30):  # numbers go well beyond what the new history begins with
            curl(f"{deployment.url}/page-1.html?{number}")
        read_all(deployment)
        deployment.sketcher.stop()
        for agent in deployment.agents:
            agent.stop()
        for origin in deployment.origins:
            origin.write("/page-0.html", b"changed")
        deployment.agents.start()
        wait_until(lambda: not any(agent.status()["recovery"]["rejoining"]
                                   for agent in deployment.agents), 20, "the group to begin anew")
        deployment.sketcher.start()
        # What was kept is known from its first answer on to be of another history.
        wait_until(lambda: curl(deployment.url + "/page-0.html").body == b"changed", 20, "the page")
        deployment.origins[3].write("/page-0.html", PAGES["/page-0.html"])  # stuck
        assert [curl(deployment.url + "/page-0.html").body for _ in range(40)] == [b"changed"] * 40
        assert deployment.sketcher.status()["history"]["group_restarts"] == 1
        assert deployment.sketcher.counters()["fast"] > 20


def test_votes_go_on_being_numbered():
    with kept_deployment(VOTE, agents=False) as deployment:
        assert read_all(deployment) == (0, len(PAGES))
        deployment.sketcher.stop()
        for origin in deployment.origins:
            origin.write("/page-0.html", b"changed")
        deployment.sketcher.start()
        bodies = [curl(deployment.url + "/page-0.html").body for _ in range(10)]
        assert bodies == [b"changed"] * 10
        counters = deployment.sketcher.counters()
        assert (counters["replicated"], counters["fast"]) == (1, 9)


@pytest.mark.parametrize("change,reason", [
    ({"table": {"size": "9MiB"}}, "another size"),
    ({"sketch": {"digest": "sha256"}}, "another digest"),
    ({"group": {"name": "renamed"}}, "other groups"),
])
def test_another_configuration_begins_empty_and_says_why(change, reason):
    with kept_deployment(VOTE, agents=False) as deployment:
        read_all(deployment)
        deployment.sketcher.stop()
        for section, values in change.items():
            target = deployment.sketcher.settings[section]
            (target[0] if isinstance(target, list) else target).update(values)
        deployment.sketcher.write_configuration()
        deployment.sketcher.start()
        assert read_all(deployment) == (0, len(PAGES))
        (emptied,) = events(deployment, "table-emptied")
        assert emptied["reason"] == reason


def test_another_key_begins_empty():
    with kept_deployment(VOTE, agents=False) as deployment:
        read_all(deployment)
        deployment.sketcher.stop()
        key = deployment.folder / "sketch.key"
        text = key.read_text()
        digits = [place for place, letter in enumerate(text) if letter in "0123456789abcdef"]
        place = digits[-1]
        key.write_text(text[:place] + ("0" if text[place] != "0" else "1") + text[place + 1:])
        deployment.sketcher.start()
        assert read_all(deployment) == (0, len(PAGES))
        (emptied,) = events(deployment, "table-emptied")
        assert emptied["reason"] == "another key_file"


def test_a_damaged_file_begins_empty():
    with kept_deployment(VOTE, agents=False) as deployment:
        read_all(deployment)
        deployment.sketcher.stop()
        with open(deployment.folder / "history.table", "r+b") as file:
            file.seek(1_000_000)
            file.write(b"x")
        deployment.sketcher.start()
        assert read_all(deployment) == (0, len(PAGES))
        (emptied,) = events(deployment, "table-emptied")
        assert emptied["reason"] == "its check sum does not fit"


def refusal_of(deployment):
    with pytest.raises(HarnessError):
        deployment.sketcher.start()
    (*_, last) = (deployment.folder / "sketcher.log").read_text().splitlines()
    deployment.sketcher.child = None
    return last


def test_a_file_of_somebody_else_is_an_error_and_stays_as_it_is():
    with kept_deployment(VOTE, agents=False) as deployment:
        deployment.sketcher.stop()
        file = deployment.folder / "history.table"
        file.write_bytes(b"precious")
        assert "is not a history table; it is left as it is" in refusal_of(deployment)
        assert file.read_bytes() == b"precious"
        file.chmod(0o644)
        assert "expected mode 0600" in refusal_of(deployment)
        file.unlink()


def test_a_file_has_one_sketcher():
    with kept_deployment(VOTE, agents=False) as deployment:
        began = time.monotonic()
        second = run_program("prophecy-sketcher", "--config", deployment.sketcher.configuration)
        assert second.returncode == 1
        assert "another process uses it" in second.stdout + second.stderr
        assert time.monotonic() - began > 4
        assert curl(deployment.url + "/page-0.html").status == 200
