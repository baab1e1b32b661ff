"""The settings of the programs: what they declare, what the pages and the examples say of them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness.build import build_folder
from harness.programs import run_program

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = {
    "sketcher.toml": ("prophecy-sketcher", "--describe"),
    "sketcher-vote.toml": ("prophecy-sketcher", "--describe"),
    "replica.toml": ("prophecy-replica", "--describe"),
    "group.toml": ("prophecy-replica", "--describe-group"),
}
DESCRIPTIONS = sorted(set(EXAMPLES.values()))


def described(program, option):
    return tomllib.loads(run_program(program, option).stdout)["table"]


def names(tables):
    """ "limits.body" for each setting, and "limits" for each table."""
    for table in tables:
        path = table["heading"].strip("[]")
        yield path
        for setting in table.get("setting", []):
            yield f"{path}.{setting['name']}"


def names_in_example(text):
    """What an example sets, and what it shows behind a "#"."""
    path = ""
    for line in text.splitlines():
        heading = re.match(r"(?:# )?\[\[?([a-z_.]+)\]\]?", line)
        if heading:
            path = heading[1]
            yield path
        setting = re.match(r"(?:# )?([a-z_0-9]+) = (.*)", line)
        if not setting:
            continue
        yield f"{path}.{setting[1]}"
        inner = setting[2].split("#")[0] if setting[2].startswith(("{", "[")) else ""
        for key in re.findall(r"[{,]\s*([a-z_]+) = ", inner):
            yield f"{path}.{setting[1]}.{key}"


def test_the_pages_say_what_the_programs_say():
    result = subprocess.run([sys.executable, ROOT / "scripts/settings_pages.py", "--check", "--build",
                             build_folder()],
                            capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout + result.stderr) == (0, "")


@pytest.mark.parametrize("program, option", DESCRIPTIONS)
def test_every_setting_is_explained(program, option):
    unexplained = [f"{table['heading']} {setting['name']}" for table in described(program, option)
                   for setting in table.get("setting", []) if not setting.get("help", "").endswith(".")]
    assert unexplained == []


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_names_settings_only(example):
    known = set(names(described(*EXAMPLES[example])))
    used = set(names_in_example((ROOT / "examples" / example).read_text()))
    assert used - known == set()


def test_the_examples_name_every_setting():
    for description in DESCRIPTIONS:
        used = set()
        for example, of_example in EXAMPLES.items():
            if of_example == description:
                used |= set(names_in_example((ROOT / "examples" / example).read_text()))
        missing = set(names(described(*description))) - used
        # Tables that stand in one line, and additions that group.toml shows.
        missing = {name for name in missing
                   if not re.search(r"\.tls(\.certificates)?(\.[a-z_]+)?$|^group\.canonical|^group\.shadow\.tls",
                                    name)}
        assert missing == set()


@pytest.mark.parametrize("example", ["sketcher.toml", "sketcher-vote.toml", "replica.toml"])
def test_a_dump_is_the_configuration_in_effect(tmp_path, example):
    program = EXAMPLES[example][0]
    first = run_program(program, "--config", ROOT / "examples" / example, "--dump")
    assert (first.returncode, first.stderr) == (0, "")
    elsewhere = tmp_path / "dump.toml"
    elsewhere.write_text(first.stdout)
    second = run_program(program, "--config", elsewhere, "--dump")
    assert second.stdout == first.stdout
    effective = tomllib.loads(first.stdout)
    written = tomllib.loads((ROOT / "examples" / example).read_text())
    assert set(written) <= set(effective)
    assert effective["log"] == {"level": "info", "format": "text"}


def test_all_mistakes_in_one_run(tmp_path):
    path = tmp_path / "wrong.toml"
    path.write_text("""[sketcher]
admin = "a.sock"
wokers = 2
[sketch]
key_file = "sketch.key"
[limits]
body = "16MB"
header = "1GiB"
[limits]
answer = "1MiB"
[listener]
address = "127.0.0.1:80"
[[group]]
file = "group.toml"
key_file = "client.key"
deadline = 10 s
""")
    result = run_program("prophecy-sketcher", "--config", path)
    assert result.returncode == 2
    prefix = f"prophecy-sketcher: {path}:"
    lines = result.stderr.splitlines()
    assert all(line.startswith(prefix) for line in lines)
    assert [line.removeprefix(prefix) for line in lines] == [
        '3:1: sketcher.wokers: unknown key; did you mean "workers"?',
        f'5:12: sketch.key_file: {tmp_path}/sketch.key: No such file or directory',
        '7:8: limits.body: expected a size with its unit (B, KiB, MiB, GiB) from "0B" to "16GiB", found "16MB"',
        '8:10: limits.header: expected a size with its unit (B, KiB, MiB, GiB) from "256B" to "128KiB", '
        'found "1GiB"',
        '9:1: limits: expected one table or one list of tables of this name, found another "[limits]"',
        '11:1: listener: expected tables, [[listener]], found a table',
        '13:1: group.origin: expected one [[group.origin]] for each replica, found nothing',
        f'14:8: group.file: {tmp_path}/group.toml: No such file or directory',
        f'15:12: group.key_file: {tmp_path}/client.key: No such file or directory',
        '16:15: group.deadline: expected a TOML value (strings stand in quotes), found "10 s"',
    ]


REPLICA = """[replica]
id = 0
group = "group.toml"
key_file = "replica-0.key"
admin = "replica-0.sock"
"""


def mistakes_of(command, configuration, wrong):
    """The lines of a program that has to end at once, without their beginnings."""
    result = run_program(command, "--config", configuration)
    assert (result.returncode, result.stdout) == (2, "")
    prefix = f"{command}: {wrong}:"
    lines = result.stderr.splitlines()
    assert [line for line in lines if not line.startswith(prefix)] == []
    return [line.removeprefix(prefix) for line in lines]


def test_all_mistakes_of_a_replica_in_one_run(tmp_path):
    path = tmp_path / "replica.toml"
    path.write_text(REPLICA + """view_change_timout = "1s"
key_refresh_interval = "10min"
body_bytes_max = "17GiB"
[service]
knd = "http"
origin = "127.0.0.1:8100"
connections_max = 0
[service]
idle_timout = "4s"
[[storage]]
folder = "replica-0.store"
""")
    assert mistakes_of("prophecy-replica", path, path) == [
        f'3:9: replica.group: {tmp_path}/group.toml: No such file or directory',
        f'4:12: replica.key_file: {tmp_path}/replica-0.key: No such file or directory',
        '6:1: replica.view_change_timout: unknown key; did you mean "view_change_timeout"?',
        '7:24: replica.key_refresh_interval: expected a time with its unit (us, ms, s, m, h) from "1s" to '
        '"24h", found "10min"',
        '8:18: replica.body_bytes_max: expected a size with its unit (B, KiB, MiB, GiB) from "1MiB" to '
        '"16GiB", found "17GiB"',
        '10:1: service.knd: unknown key; did you mean "kind"?',
        '12:19: service.connections_max: expected a whole number from 1 to 4096, found 0',
        '13:1: service: expected one table or one list of tables of this name, found another "[service]"',
        '14:1: service.idle_timout: unknown key; did you mean "idle_timeout"?',
        '15:1: storage: expected one table, [storage], found a list of tables',
    ]
    assert list(tmp_path.iterdir()) == [path]  # nothing has been started, or made


GROUP = """[group]
id = "5f1c0c5bb8b0d1f5a7b4f3e2d1c0b9a8"
founded = "0c9d2b7e51f84a6397d0e1b2c3a4f586"
fautls = 1
number = 0
[group]
faults = 1
[replica]
id = 0
[canonical]
whole_answer = "16MB"
answer_block = "1GiB"
"""
SKETCHER = """[sketcher]
admin = "a.sock"
[sketch]
key_file = "sketch.key"
[[listener]]
address = "127.0.0.1:0"
[[group]]
file = "group.toml"
client_id = 1024
key_file = "client.key"
""" + "".join(f'[[group.origin]]\nreplica = {number}\naddress = "127.0.0.1:{number + 1}"\n'
              for number in range(4))


@pytest.mark.parametrize("command, configuration", [
    ("prophecy-replica", REPLICA + '[service]\nkind = "null"\n'), ("prophecy-sketcher", SKETCHER)])
def test_all_mistakes_of_a_group_file_in_one_run(command, configuration, tmp_path):
    path, group = tmp_path / "own.toml", tmp_path / "group.toml"
    path.write_text(configuration)
    group.write_text(GROUP)
    for key in ("sketch.key", "client.key", "replica-0.key"):
        (tmp_path / key).write_text("sketch-secret:" + 32 * "00" + "\n")
        (tmp_path / key).chmod(0o600)
    there = sorted(tmp_path.iterdir())
    assert mistakes_of(command, path, group) == [
        '4:1: group.fautls: unknown key; did you mean "faults"?',
        '5:10: group.number: expected a whole number from 1 to 1000000000, found 0',
        '6:1: group: expected one table or one list of tables of this name, found another "[group]"',
        '8:1: replica: expected tables, [[replica]], found a table',
        '8:1: replica.address: expected ADDRESS:PORT with a numeric address, such as "127.0.0.1:8080" or '
        '"[::1]:8080", found nothing',
        '8:1: replica.public_key: expected a string in quotes, found nothing',
        "8:1: replica.public_signing_key: expected a signing key, found nothing; if the file was made before there "
        "were signing keys, make the group's keys anew with prophecyctl keygen",
        '11:16: canonical.whole_answer: expected a size with its unit (B, KiB, MiB, GiB) from "1KiB" to '
        '"1GiB", found "16MB"',
        '12:16: canonical.answer_block: expected a size with its unit (B, KiB, MiB, GiB) from "4KiB" to '
        '"2MiB", found "1GiB"',
    ]
    assert sorted(tmp_path.iterdir()) == there


def test_mistakes_of_several_files_in_one_run(tmp_path):
    path, group = tmp_path / "own.toml", tmp_path / "group.toml"
    path.write_text(SKETCHER + """[[group.origin]]
replica = 3
address = "127.0.0.1:0"
[group.origin.tls]
ca = "ca.pem"
server_name = "a.example"
[[listener]]
address = "127.0.0.1:9"
tls.certificates = [{chain = "chain.pem", key = "key.pem"}]
[limits]
body = "1MB"
""")
    group.write_text(GROUP)
    result = run_program("prophecy-sketcher", "--config", path, "--check")
    assert (result.returncode, result.stdout) == (2, "")
    lines = result.stderr.removeprefix("prophecy-sketcher: ").split("\nprophecy-sketcher: ")
    assert [line.replace(str(path), "own") for line in lines][:8] == [
        f"own:4:12: sketch.key_file: {tmp_path}/sketch.key: No such file or directory",
        f"own:10:12: group.key_file: {tmp_path}/client.key: No such file or directory",
        "own:24:11: group.origin.replica: expected a number that no other [[group.origin]] has, found 3",
        "own:25:11: group.origin.address: expected a port other than 0, found \"127.0.0.1:0\"",
        f"own:26:1: group.origin.tls: {tmp_path}/ca.pem: No such file or directory",
        f"own:31:1: listener.tls: {tmp_path}/chain.pem: No such file or directory",
        "own:33:8: limits.body: expected a size with its unit (B, KiB, MiB, GiB) from \"0B\" to \"16GiB\", "
        "found \"1MB\"",
        f"{group}:4:1: group.fautls: unknown key; did you mean \"faults\"?",
    ]
    assert sorted(tmp_path.iterdir()) == [group, path]  # nothing has been started, or made
