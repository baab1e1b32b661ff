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
        '7:8: limits.body: expected a size with its unit (B, KiB, MiB, GiB) from "0B" to "16GiB", found "16MB"',
        '8:10: limits.header: expected a size with its unit (B, KiB, MiB, GiB) from "256B" to "128KiB", '
        'found "1GiB"',
        '9:1: limits: expected one table or one list of tables of this name, found another "[limits]"',
        '11:1: listener: expected tables, [[listener]], found a table',
        '13:1: group.origin: expected one [[group.origin]] for each replica, found nothing',
        '16:15: group.deadline: expected a value of TOML (a text stands in quotes), found "10 s"',
    ]
