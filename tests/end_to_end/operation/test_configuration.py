"""Mistakes of an operator: each is told in a line that says where and what was expected."""

import os
import re
import socket

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.programs import run_program
from harness.toml_writer import merged, to_toml

PROGRAMS = {"prophecy-sketcher": "sketcher", "prophecy-replica": "replica-0"}


@pytest.fixture(name="deployment")
def _deployment():
    """All files, and nothing running."""
    with Deployment(start=False) as deployment:
        yield deployment


def sketcher_with(deployment, changes):
    path = deployment.folder / "changed.toml"
    path.write_text(to_toml(merged(deployment.sketcher.settings, changes)))
    return run_program("prophecy-sketcher", "--config", path)


def line_of(path, key):
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.startswith(key))


@pytest.mark.parametrize("table, key, value, expected", [
    ("sketcher", "workers", 0, "expected a whole number from 1"),
    ("route", "mode", "fast", 'expected one of "enforce", "observe", "off"'),
    ("route", "reads", "fast", 'expected one of "delay-once", "replicated", "read-only"'),
    ("route", "group", "others", "expected the name of a [[group]]"),
    ("route", "path_prefix", "/a//b", "expected a path from / on"),
    ("route", "hosts", ["a b"], "expected names such as"),
    ("listener", "address", "somewhere", "expected"),
    ("sketcher", "colour", "red", "unknown key"),
    ("limits", "body", 10, "expected a size with its unit"),
    ("limits", "body", "17GiB", "expected a size"),
    ("timeouts", "idle", "soon", "expected a time with its unit"),
    ("table", "size", "1B", "expected a size"),
    ("test", "fail_fast_reads", 2, "expected a number from 0 to 1"),
])
def test_wrong_value(deployment, table, key, value, expected):
    result = sketcher_with(deployment, {table: {key: value}})
    assert result.returncode == 2
    path = deployment.folder / "changed.toml"
    line = mistake_at(result, path, line_of(path, key), f"{table}.{key}")
    assert expected in line


def mistake_at(result, path, line, key):
    """The line of the output about this key, which names file, line and column."""
    pattern = rf"{re.escape(str(path))}:{line}:\d+: {re.escape(key)}: .*"
    found = re.search(pattern, result.stderr)
    assert found, result.stderr
    return found[0]


def test_more_sessions_than_one_client_may_have(deployment):
    # Each value is right by itself.
    result = sketcher_with(deployment, {"sketcher": {"workers": 5}, "group": {"sessions": 1024}})
    assert result.returncode == 2
    path = deployment.folder / "changed.toml"
    line = mistake_at(result, path, line_of(path, "sessions"), "group.sessions")
    assert "expected workers * sessions to be at most 4096, found 1024" in line


def test_two_groups_that_are_one_client(deployment):
    group = deployment.sketcher.settings["group"][0]
    changes = {"group": [{**group, "name": "a"}, {**group, "name": "b"}], "route": [{"group": "a"}]}
    result = sketcher_with(deployment, changes)
    assert result.returncode == 2
    path = deployment.folder / "changed.toml"
    lines = path.read_text().splitlines()
    last = max(number for number, line in enumerate(lines, 1) if line.startswith("client_id"))
    assert 'expected a client that group "a" of the same replicas does not have, found 1024' in \
        mistake_at(result, path, last, "group.client_id")
    assert len(result.stderr.splitlines()) == 1


def test_mistakes_of_a_group_file_that_two_groups_name(deployment):
    file = deployment.folder / "group.toml"
    file.write_text(file.read_text().replace("faults = 1", "faults = 22"))
    group = deployment.sketcher.settings["group"][0]
    changes = {"group": [{**group, "name": "a"}, {**group, "name": "b"}], "route": [{"group": "a"}]}
    result = sketcher_with(deployment, changes)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    mistake_at(result, file, line_of(file, "faults"), "group.faults")


def test_all_mistakes_at_once(deployment):
    result = sketcher_with(deployment, {"sketcher": {"workers": -1}, "route": {"mode": "x"},
                                        "timeouts": {"idle": 3}})
    assert result.returncode == 2
    for key in ("sketcher.workers", "route.mode", "timeouts.idle"):
        assert key in result.stderr


def test_file_that_is_no_toml(deployment):
    path = deployment.folder / "broken.toml"
    path.write_text("[sketcher]\nworkers = = 2\n")
    for name in PROGRAMS:
        result = run_program(name, "--config", path)
        assert result.returncode == 2
        assert f"{path}:2:11: " in result.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_file_that_is_missing(deployment, name):
    result = run_program(name, "--config", deployment.folder / "absent.toml")
    assert result.returncode == 2
    assert "absent.toml" in result.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_check_accepts_what_is_right(deployment, name):
    result = run_program(name, "--check", "--config",
                         deployment.folder / f"{PROGRAMS[name]}.toml")
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_and_version(name):
    assert "--config" in run_program(name, "--help").stdout
    assert re.search(r"\d+\.\d+\.\d+", run_program(name, "--version").stdout)


def run_with_key(deployment, name, change):
    """Spoils the program's key file, and runs the program with it."""
    key = deployment.folder / {"prophecy-sketcher": "client-1024.key",
                               "prophecy-replica": "replica-0.key"}[name]
    change(key)
    return run_program(name, "--config", deployment.folder / f"{PROGRAMS[name]}.toml"), key


@pytest.mark.parametrize("name", PROGRAMS)
def test_missing_key(deployment, name):
    result, key = run_with_key(deployment, name, lambda key: key.unlink())
    assert_one_clear_line(result, key)


@pytest.mark.parametrize("name", PROGRAMS)
def test_wrong_key(deployment, name):
    other = {"prophecy-sketcher": "replica-2.key", "prophecy-replica": "replica-1.key"}[name]
    result, key = run_with_key(deployment, name, lambda key: key.write_bytes(
        (deployment.folder / other).read_bytes()))
    assert_one_clear_line(result, key)


@pytest.mark.parametrize("name", PROGRAMS)
def test_garbage_key(deployment, name):
    result, key = run_with_key(deployment, name, lambda key: key.write_bytes(b"garbage\n"))
    assert_one_clear_line(result, key)


@pytest.mark.parametrize("name", PROGRAMS)
def test_key_without_a_signing_key(deployment, name):
    result, key = run_with_key(deployment, name, lambda key: key.write_bytes(
        key.read_bytes().splitlines(keepends=True)[0]))
    assert_one_clear_line(result, key)
    assert "anew" in result.stderr


@pytest.mark.parametrize("name", PROGRAMS)
def test_group_file_without_signing_keys(deployment, name):
    group = deployment.folder / "group.toml"
    lines = group.read_text().splitlines(keepends=True)
    group.write_text("".join(line for line in lines if "public_signing_key" not in line))
    result = run_program(name, "--config", deployment.folder / f"{PROGRAMS[name]}.toml")
    assert_one_clear_line(result, group)
    assert "anew" in result.stderr


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
@pytest.mark.parametrize("name", PROGRAMS)
def test_key_that_others_can_reach(deployment, name, mode):
    result, key = run_with_key(deployment, name, lambda key: key.chmod(mode))
    assert_one_clear_line(result, key)


def assert_one_clear_line(result, what):
    assert result.returncode != 0
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert str(getattr(what, "name", what)) in lines[0]


def test_sketch_key_that_others_can_reach(deployment):
    key = deployment.folder / "sketch.key"
    key.chmod(0o644)
    assert_one_clear_line(run_program("prophecy-sketcher", "--config",
                                      deployment.sketcher.configuration), key)


@pytest.mark.parametrize("name", PROGRAMS)
def test_port_in_use(deployment, name):
    port = {"prophecy-sketcher": deployment.sketcher.port,
            "prophecy-replica": deployment.agents[0].agent_port}[name]
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        result = run_program(name, "--config", deployment.folder / f"{PROGRAMS[name]}.toml")
    assert_one_clear_line(result, f"127.0.0.1:{port}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_admin_path_that_is_another_file(deployment, name):
    path = deployment.folder / f"{PROGRAMS[name]}.sock"
    path.write_text("somebody's\n")
    result = run_program(name, "--config", deployment.folder / f"{PROGRAMS[name]}.toml")
    assert_one_clear_line(result, path)
    assert "exists and is not a socket" in result.stderr
    assert path.read_text() == "somebody's\n"


def test_keygen_makes_secret_files(deployment):
    for key in deployment.folder.glob("*.key"):
        assert os.stat(key).st_mode & 0o777 == 0o600
    assert len(list(deployment.folder.glob("replica-*.key"))) == 4
    # What all may know holds nothing of what only one may.
    group = (deployment.folder / "group.toml").read_text()
    assert "private" not in group and "secret" not in group.replace("no secret", "")


def test_keygen_overwrites_nothing(deployment):
    before = (deployment.folder / "replica-0.key").read_bytes()
    result = run_program("prophecyctl", "keygen", "--directory", deployment.folder, "--faults", 1,
                         "--replica-addresses",
                         "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4")
    assert result.returncode != 0
    assert (deployment.folder / "replica-0.key").read_bytes() == before


@pytest.mark.parametrize("arguments", [
    ("--faults", "1", "--replica-addresses", "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3"),
    ("--faults", "0", "--replica-addresses", ""),
    ("--faults", "1", "--replica-addresses", "a,b,c,d"),
], ids=["three-replicas", "no-replica", "no-addresses"])
def test_keygen_refuses_nonsense(tmp_path, arguments):
    result = run_program("prophecyctl", "keygen", "--directory", tmp_path / "keys", *arguments)
    assert result.returncode != 0
    assert result.stderr


def test_control_tool_without_a_server(tmp_path):
    result = run_program("prophecyctl", "status", "--admin", tmp_path / "absent.sock", "--json")
    assert result.returncode != 0
    assert "absent.sock" in result.stderr


def test_hosts_that_are_not_served():
    with Deployment(sketcher_changes={"route": {"hosts": ["www.example.org"]}}) as deployment:
        assert curl(deployment.url + "/", "-H", "Host: www.example.org").status == 200
        assert curl(deployment.url + "/", "-H", "Host: evil.example").status == 421
