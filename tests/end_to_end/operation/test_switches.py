"""What an operator switched holds after the death of the sketcher."""

import json

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.programs import run_program
from harness.replicas import ctl

PAGE = b"<p>The right page.</p>\n"


@pytest.fixture(name="deployment")
def _deployment():
    with Deployment(content={"/index.html": PAGE}) as deployment:
        yield deployment


def mode(sketcher):
    return sketcher.status()["routes"][0]["mode"]


def crash_and_start(sketcher):
    """The log of the new process alone."""
    before = len(sketcher.child.log())
    sketcher.kill()
    sketcher.start()
    return sketcher.child.log()[before:]


def test_bypass_outlives_the_master(deployment):
    sketcher = deployment.sketcher
    said = ctl("bypass", "on", "--admin", sketcher.admin)
    assert "It is remembered" in said
    assert "Writes still go through the group." in said
    log = crash_and_start(sketcher)
    assert " warning master bypass-restored on=true " in log
    assert sketcher.status()["bypass"] is True
    assert curl(deployment.url + "/").body == PAGE
    assert sketcher.counters()["unverified"] == 1
    said = ctl("bypass", "off", "--admin", sketcher.admin)
    assert "It is remembered" in said and "Writes" not in said
    log = crash_and_start(sketcher)
    assert "bypass-restored" not in log
    assert sketcher.status()["bypass"] is False


def test_route_mode_outlives_the_master(deployment):
    sketcher = deployment.sketcher
    assert "It is remembered" in ctl("route", "default", "observe", "--admin", sketcher.admin)
    log = crash_and_start(sketcher)
    assert "route-mode-restored route=default configured=enforce mode=observe" in log
    assert mode(sketcher) == "observe"
    # What is as configured is not remembered: a new configuration has its way.
    ctl("route", "default", "enforce", "--admin", sketcher.admin)
    assert json.loads(state_file(sketcher).read_text())["routes"] == {}
    assert "route-mode-restored" not in crash_and_start(sketcher)


def state_file(sketcher):
    return sketcher.folder / (sketcher.admin.name + ".state")


@pytest.mark.parametrize("content", [
    "", "{", "[]", '{"format": 1}', '{"format": 2, "bypass": true, "routes": {}}',
    '{"format": 1, "bypass": 1, "routes": {}}', '{"format": 1, "bypass": true, "routes": []}',
    "[" * 100_000,
])
def test_damaged_file_is_ignored_loudly(deployment, content):
    sketcher = deployment.sketcher
    sketcher.kill()
    state_file(sketcher).write_text(content)
    state_file(sketcher).chmod(0o600)
    sketcher.start()
    assert " error   master switches-forgotten " in sketcher.child.log()
    assert sketcher.status()["bypass"] is False
    assert "It is remembered" in ctl("bypass", "on", "--admin", sketcher.admin)
    assert json.loads(state_file(sketcher).read_text()) == {"format": 1, "bypass": True, "routes": {}}


def test_file_that_others_may_write_is_ignored(deployment):
    sketcher = deployment.sketcher
    sketcher.kill()
    state_file(sketcher).write_text('{"format": 1, "bypass": true, "routes": {}}')
    state_file(sketcher).chmod(0o666)
    sketcher.start()
    assert " error   master switches-forgotten " in sketcher.child.log()
    assert sketcher.status()["bypass"] is False


def test_unknown_routes_and_modes_are_ignored_loudly(deployment):
    sketcher = deployment.sketcher
    sketcher.kill()
    state_file(sketcher).write_text(json.dumps(
        {"format": 1, "bypass": False,
         "routes": {"gone": "off", "default": "fast"}}))
    state_file(sketcher).chmod(0o600)
    sketcher.start()
    log = sketcher.child.log()
    assert 'route-mode-forgotten route=gone problem="there is no route' in log
    assert "route-mode-forgotten route=default" in log
    assert mode(sketcher) == "enforce"


def test_switch_that_cannot_be_remembered_takes_effect(deployment):
    sketcher = deployment.sketcher
    state_file(sketcher).mkdir()
    result = run_program("prophecyctl", "bypass", "on", "--admin", sketcher.admin)
    assert result.returncode == 0
    assert "it holds now, but is not remembered" in result.stderr
    assert sketcher.status()["bypass"] is True
    assert "switch-not-remembered" in sketcher.child.log()


def test_configuration_in_the_working_folder(deployment):
    """Its paths have no folder then."""
    configuration = deployment.sketcher.configuration
    result = run_program("prophecy-sketcher", "--config", configuration.name, "--check",
                         cwd=deployment.folder)
    assert (result.returncode, result.stderr) == (0, "")


def test_check_finds_a_folder_that_is_missing(deployment):
    sketcher = deployment.sketcher
    sketcher.settings["sketcher"]["state_file"] = "missing/state"
    sketcher.write_configuration()
    result = run_program("prophecy-sketcher", "--config", sketcher.configuration, "--check")
    assert result.returncode == 2
    assert "sketcher.state_file: " in result.stderr and "No such file" in result.stderr
