"""The newcomer's script and the rules of the tree, where they must say no."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from harness.build import ROOT, build_folder
from harness.toml_writer import merged, to_toml

sys.path.insert(0, str(ROOT / "scripts"))
import clang_tidy  # noqa: E402
import gates  # noqa: E402
import test as runner  # noqa: E402  (scripts/test.py)
import tidy  # noqa: E402


def write(path, text):
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("rule, name, text", [
    (tidy.no_floor_includes_upward, "http/a.hpp", '#include "sketcher/worker/worker.hpp"\n'),
    (tidy.no_floor_includes_upward, "http/a.hpp", '#include "message.hpp"\n'),
    (tidy.no_floor_includes_upward, "http/a.hpp", '#include "http/client/origin_pool.hpp"\n'),
    (tidy.no_floor_includes_upward, "pbft/wire/a.hpp", '#include "pbft/core/state/log.hpp"\n'),
    (tidy.no_floor_includes_upward, "pbft/core/views/a.hpp",
     '#include "pbft/core/recovery/rejoin.hpp"\n'),
    (tidy.no_floor_includes_upward, "pbft/services/a.hpp",
     '#include "pbft/transport/socket.hpp"\n'),
    (tidy.no_floor_includes_upward, "pbft/core/a.hpp", '#include "pbft/group/group_file.hpp"\n'),
    (tidy.no_floor_includes_upward, "pbft/transport/a.hpp", '#include "pbft/other/a.hpp"\n'),
    (tidy.no_floor_includes_upward, "sketcher/config/a.hpp",
     '#include "sketcher/shared/shared_state.hpp"\n'),
    (tidy.cores_do_no_io, "pbft/core/a.cpp", "#include <boost/asio/io_context.hpp>\n"),
    (tidy.cores_do_no_io, "pbft/core/a.cpp", "#include <sys/socket.h>\n"),
    (tidy.cores_do_no_io, "sketch/a.cpp", "auto now = std::chrono::steady_clock::now();\n"),
    (tidy.cores_do_no_io, "sketch/a.cpp", "#include <random>\n"),
    (tidy.files_are_short, "base/a.cpp", "int a;\n" * 601),
    (tidy.white_space_is_plain, "base/a.cpp", "\tint a;\n"),
    (tidy.white_space_is_plain, "base/a.cpp", "int a; \n"),
    (tidy.headers_say_what_they_are, "base/a.hpp", "#pragma once\n"),
    (tidy.headers_say_what_they_are, "base/a.hpp", "// What it is.\n"),
])
def test_rules_find_breaches(tmp_path, rule, name, text):
    file = write(tmp_path / name, text)
    assert len(rule(tmp_path)) == 1
    file.write_text('// What it is.\n#pragma once\n#include "base/error.hpp"\n#include <string>\n')
    assert rule(tmp_path) == []


@pytest.mark.parametrize("name, text", [
    ("pbft/replica/a.hpp", '#include "pbft/services/service.hpp"\n'),
    ("pbft/transport/a.hpp",
     '#include "pbft/core/state/log.hpp"\n#include "pbft/transport/b.hpp"\n'),
    ("pbft/group/a.cpp", '#include "pbft/group/group_file.hpp"\n#include "pbft/auth/keys.hpp"\n'),
    ("replica_client/a.hpp", '#include "pbft/replica/replica_node.hpp"\n'),
    ("tests/unit/a.cpp", '#include "support/a.hpp"\n'),
])
def test_floors_include_downward(tmp_path, name, text):
    write(tmp_path / name, text)
    assert tidy.no_floor_includes_upward(tmp_path) == []


@pytest.mark.parametrize("name", ["pbft/other/a.cpp", "pbft/stray.cpp", "sketcher/stray.cpp",
                                  "stray.cpp"])
def test_no_source_is_without_a_floor(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("int a;\n")
    [breach] = tidy.no_floor_includes_upward(tmp_path)
    assert breach.endswith("is not on the list of floors")


@pytest.mark.parametrize("suffix", [".cpp", ".py"])
def test_folder_holds_forty_files_and_no_more(tmp_path, suffix):
    write(tmp_path / "base" / f"a0{suffix}", "")
    for number in range(1, 40):
        (tmp_path / "base" / f"a{number}{suffix}").write_text("")
    assert tidy.folders_are_small(tmp_path) == []
    (tmp_path / "base" / f"a40{suffix}").write_text("")
    assert len(tidy.folders_are_small(tmp_path)) == 1


def test_drawing_shows_the_floors(tmp_path):
    lines = [line.replace(" ", "/ | ") + "/  words" for line in tidy.FLOORS[::-1]]

    def drawing(lines):
        return "## Floors\n\nWords.\n\n```\n" + "\n".join(lines) + "\n```\n"
    page = write(tmp_path / "docs/architecture.md", drawing(lines))
    assert tidy.the_drawing_shows_the_floors(tmp_path) == []
    for wrong in (lines[1:], lines[::-1], [*lines, "stray/"]):
        page.write_text(drawing(wrong))
        assert len(tidy.the_drawing_shows_the_floors(tmp_path)) == 1


@pytest.mark.parametrize("name, allowed", [
    ("subprojects/thing.wrap", True),
    ("subprojects/packagefiles/thing/meson.build", True),
    ("subprojects/thing-1.0/thing.c", False),
    ("subprojects/thing-1.0/meson.build", False),
    ("subprojects/packagefiles/meson.build", False),
    ("subprojects/packagefiles/thing/thing.c", False),
    ("subprojects/packagefiles/thing/deeper/meson.build", False),
    ("subprojects/thing.wrap.orig", False),
])
def test_subprojects_hold_only_how_to_get_and_build_them(tmp_path, name, allowed):
    write(tmp_path / name, "text\n")
    assert len(tidy.subprojects_hold_no_sources(tmp_path)) == (0 if allowed else 1)


@pytest.mark.parametrize("text, succeeded, expected", [
    ("All tests passed (12 assertions in 3 test cases)\n", True, (3, 0)),
    ("All tests passed (1 assertion in 1 test case)\n", True, (1, 0)),
    ("test cases:  5 |  4 passed | 1 failed\nassertions: 9 | 8 passed | 1 failed\n", False, (4, 1)),
    ("test cases: 2 | 2 failed\n", False, (0, 2)),
    ("All tests passed (12 assertions in 3 test cases)\n", False, (3, 1)),
    ("", True, (1, 0)),
    ("", False, (0, 1)),
])
def test_counting_of_cases(text, succeeded, expected):
    count = runner.count_catch_cases(text, succeeded)
    assert (count.passed, count.failed) == expected


def test_a_folder_of_tests_that_is_lost_is_a_failure():
    assert (runner.nothing([]).passed, runner.nothing([]).failed) == (0, 1)
    assert (runner.nothing(["name"]).passed, runner.nothing(["name"]).failed) == (0, 0)


def test_configuration_writer():
    document = merged({"a": {"x": 1, "y": "z"}, "b": [{"k": True}, {"k": False}]},
                      {"a": {"x": None, "n": ["p", "q"]}})
    assert to_toml(document) == ('[a]\ny = "z"\nn = ["p", "q"]\n\n[[b]]\nk = true\n'
                                 '[[b]]\nk = false\n')
    nested = to_toml({"a": [{"x": 1, "b": [{"y": 2}, {"y": 3}], "c": {"z": 4}}]})
    assert nested == "[[a]]\nx = 1\n[[a.b]]\ny = 2\n[[a.b]]\ny = 3\n[a.c]\nz = 4\n"
    over_each = merged({"b": [{"k": 1}, {"k": 2}]}, {"b": {"n": 3}})
    assert over_each == {"b": [{"k": 1, "n": 3}, {"k": 2, "n": 3}]}


def test_script_explains_itself():
    result = subprocess.run([ROOT / "run", "help"], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    for command in ("demo", "test", "bench", "build", "check"):
        assert f"\n  {command} " in result.stdout


@pytest.mark.parametrize("target, names", [
    ("service", {"prophecy-sketcher", "prophecy-replica", "prophecyctl"}),
    ("programs", {"prophecy-sketcher", "prophecy-replica", "prophecyctl", "prophecy-bench",
                  "prophecy-measure"}),
])
def test_programs_are_built_without_tests(target, names):
    commands = subprocess.run(["/usr/bin/ninja", "-C", build_folder(), "-t", "commands", target],
                              capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r" -o [\w/]*/(prophecy[\w-]*) ", commands)) == names
    assert "tests/" not in commands


def commit(folder, subject):
    subprocess.run(["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@example.net",
                    "commit", "--quiet", "--allow-empty", "-m", subject], check=True)
    return subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True,
                          text=True, check=True).stdout


def test_commit_subjects_are_counted_from_the_recorded_base(tmp_path):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    base = commit(tmp_path, "a" * 100)
    write(tmp_path / "scripts/base-commit", base)
    commit(tmp_path, "b" * 72)
    assert gates.commit_subjects_are_short(tmp_path) == []
    commit(tmp_path, "c" * 73)
    (breach,) = gates.commit_subjects_are_short(tmp_path)
    assert "c" * 73 in breach


def test_commit_subjects_of_a_shallow_clone_are_those_that_it_has(tmp_path):
    whole, shallow = tmp_path / "whole", tmp_path / "shallow"
    subprocess.run(["git", "init", "--quiet", whole], check=True)
    base = commit(whole, "base")
    commit(whole, "b" * 73)
    commit(whole, "c" * 73)
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{whole}", shallow], check=True)
    write(shallow / "scripts/base-commit", base)
    (breach,) = gates.commit_subjects_are_short(shallow)
    assert "c" * 73 in breach


def test_changed_sources_are_those_since_the_base(tmp_path):
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    base = commit(tmp_path, "base")
    write(tmp_path / "scripts/base-commit", base)
    assert gates.changed_sources(tmp_path) == []
    for name in ("base/a.cpp", "http/a.hpp", "tests/fuzz/a.cpp"):
        write(tmp_path / name, "int a;\n")
    subprocess.run(["git", "-C", tmp_path, "add", "."], check=True)
    commit(tmp_path, "sources")
    assert gates.changed_sources(tmp_path) == ["base/a.cpp"]
    subprocess.run(["git", "-C", tmp_path, "tag", "v1"], check=True)
    commit(tmp_path, "after the tag")
    assert gates.changed_sources(tmp_path) == []


def test_format_and_python_are_checked(tmp_path):
    if shutil.which("clang-format") is None:
        pytest.skip("clang-format is not installed: ./run test --check installs it")
    source = write(tmp_path / "base/a.cpp", "int  a;\n")
    assert gates.sources_are_formatted(tmp_path)
    source.write_text("int a;\n")
    assert gates.sources_are_formatted(tmp_path) == []
    assert gates.python_is_clean(tmp_path) == ["ruff is not installed; run scripts/fetch-ruff"]


def run_script(name, *arguments, **environment):
    return subprocess.run([sys.executable, ROOT / "scripts" / name, *arguments], capture_output=True,
                          text=True, check=True, env={**os.environ, **environment}).stdout


def several_at_once(build, count):
    names = run_script("several_at_once.py", count, "http", "text.cpp", "client/a.cpp", "writer.cpp",
                       MESON_SOURCE_ROOT=str(ROOT), MESON_BUILD_ROOT=str(build), MESON_SUBDIR="http")
    return names.split()


def test_sources_are_compiled_several_at_once(tmp_path):
    assert several_at_once(tmp_path, "1") == ["text.cpp", "client/a.cpp", "writer.cpp"]
    bundles = [ROOT / "http" / name for name in several_at_once(tmp_path, "2")]
    assert [path.read_text() for path in bundles] == [
        '#include "http/text.cpp"\n#include "http/client/a.cpp"\n', '#include "http/writer.cpp"\n']
    times = [path.stat().st_mtime_ns for path in bundles]
    several_at_once(tmp_path, "2")
    assert [path.stat().st_mtime_ns for path in bundles] == times


def test_clang_tidy_reads_each_source_alone(tmp_path):
    bundle = (ROOT / "http" / several_at_once(tmp_path, "2")[0]).resolve()
    single = os.path.relpath(ROOT / "base/log.cpp", tmp_path)
    entries = [{"directory": str(tmp_path), "file": name, "output": "a.o",
                "command": f"ccache c++ -include a.hpp --param=b=1 -O2 -c {name}"}
               for name in (os.path.relpath(bundle, tmp_path), single)]
    (tmp_path / "commands.json").write_text(json.dumps(entries))
    plain = json.loads(run_script("plain_compile_database.py", tmp_path / "commands.json"))
    assert [(tmp_path / entry["file"]).resolve() for entry in plain] == [
        ROOT / "http/text.cpp", ROOT / "http/client/a.cpp", ROOT / "base/log.cpp"]
    for entry in plain:
        assert entry["command"] == f"c++ -O2 -c {entry['file']} -Wno-unknown-warning-option"


def test_joined_sources_have_places(tmp_path):
    write(tmp_path / "http/a.cpp", '#include "beside.hpp"\n#include "base/log.hpp"\nint a;')
    write(tmp_path / "base/b.cpp", "int b;\n")
    (tmp_path / "http/beside.hpp").write_text("")
    joined = clang_tidy.Joined(tmp_path, ["http/a.cpp", "base/b.cpp"])
    assert joined.text == (f'#include "{tmp_path}/http/beside.hpp"\n#include "base/log.hpp"\n'
                           "int a;\nint b;\n")
    assert [joined.place(line) for line in (1, 3, 4)] == ["http/a.cpp:1", "http/a.cpp:3",
                                                           "base/b.cpp:1"]


def test_clang_tidy_finds_what_is_wrong_in_joined_sources(tmp_path):
    if shutil.which("clang-tidy") is None:
        pytest.skip("clang-tidy is not installed: ./run test --check installs it")
    build = write(tmp_path / "build/compile_commands.json", json.dumps([
        {"directory": str(tmp_path / "build"), "file": f"../{name}", "command": f"c++ -c ../{name}"}
        for name in ("base/a.cpp", "http/b.cpp")])).parent
    write(tmp_path / "base/a.cpp", "int a;\n")
    write(tmp_path / "http/b.cpp", "static int b(int unused) { return 1; }\nint c = b(1);\n")
    shutil.copy(ROOT / ".clang-tidy", tmp_path)
    names = ["base/a.cpp", "http/b.cpp"]
    reader = clang_tidy.ClangTidy(tmp_path, build)
    assert reader.together(names) == [["base/a.cpp"], ["http/b.cpp"]]
    found = reader.findings(names)
    assert found[0].startswith("http/b.cpp:1:18: error: parameter 'unused' is unused")
    assert clang_tidy.read(tmp_path, build, names, seconds=-1) == ([], names)
    assert reader.findings(["base/c.cpp"]) == ["base/c.cpp: is not part of the build"]


def test_progress_has_an_estimate_once_something_is_done():
    assert runner.progress_line("tests", 0, 10, 60) == "\n[1 min] tests: 0 of 10"
    assert runner.progress_line("tests", 4, 10, 120) == \
        "\n[2 min] tests: 4 of 10, about 3 min left"


def test_a_folder_without_tests_is_a_failure_unless_tests_were_named(tmp_path, monkeypatch):
    def no_meson_tests(*_, **__):
        return subprocess.CompletedProcess([], 0, stdout="[]")

    assert runner.run_pytest(tmp_path, [], False) == runner.nothing([])
    assert runner.run_pytest(tmp_path, ["named"], False) == runner.Count()
    monkeypatch.setattr(runner.subprocess, "run", no_meson_tests)
    assert runner.run_meson([], False) == runner.nothing([])
    assert runner.run_meson(["named"], False) == runner.Count()


def test_failures_are_named(tmp_path):
    write(tmp_path / "few/test_few.py", '''import pytest
def test_well(): pass
def test_wrong(): assert False
@pytest.fixture
def broken(): raise OSError
def test_error(broken): pass
''')
    count = runner.run_pytest(tmp_path / "few", [], False)
    assert (count.passed, count.failed) == (1, 2)
    assert [name.rpartition("::")[2] for name in count.failures] == ["test_wrong", "test_error"]
    assert runner.outcome_of("rule", ["one", "two"]) == runner.Count(failed=1, failures=["rule: one"])
    assert runner.outcome_of("rule", []) == runner.Count(passed=1)


def test_long_tests_wait_for_their_option(tmp_path):
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n@pytest.mark.long\ndef test_long():\n    pass\n\n"
        "def test_short():\n    pass\n")
    for options, expected in (([], "1 passed, 1 deselected"), (["--long"], "2 passed")):
        result = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                                 "-p", "tests.conftest", *options, tmp_path], cwd=ROOT,
                                capture_output=True, text=True, check=False)
        assert expected in result.stdout


def test_script_refuses_what_it_does_not_know():
    result = subprocess.run([ROOT / "run", "fly"], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "unknown command: fly" in result.stderr
