"""The mutation tester on a tree of one small source."""

import hashlib
import re
import signal
import subprocess
import sys

import pytest

from harness.build import ROOT
from harness.processes import wait_until

sys.path.insert(0, str(ROOT / "scripts"))
import mutants  # noqa: E402  (scripts/mutants.py)

SOURCE = """\
#include <cstdio>
#define LEAST 3

// A number < 4 in a comment.
static bool is_large(int number) {
  if (number < 10) return false;
  return true;
}

int main(int argc, char**) {
  int count = 0;
  for (int i = 0; i < 20; ++i) {
    if (is_large(i)) count += 1;
  }
  if (argc == 17) std::puts("never < said");
  return count == 10 ? 0 : 1;
}
"""
MESON = "project('small', 'cpp', default_options: ['werror=true', 'warning_level=3'])\n" \
        "executable('small', 'small.cpp')\n"
OPTIONS = "option('several_at_once', type: 'boolean', value: true)\n"


@pytest.fixture(name="tree")
def small_tree(tmp_path):
    (tmp_path / "small.cpp").write_text(SOURCE)
    (tmp_path / "meson.build").write_text(MESON)
    (tmp_path / "meson_options.txt").write_text(OPTIONS)
    return tmp_path


def command(tree, *options):
    return [ROOT / "scripts/mutate", "--root", tree, "--files", "*.cpp", "--targets", "small",
            "--run", "build/small", *map(str, options)]


def mutate(tree, *options):
    result = subprocess.run(command(tree, *options), capture_output=True, text=True, check=False,
                            timeout=100)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_mutants_are_tried_and_the_tree_is_left_alone(tree):
    output = mutate(tree, "--seed", 3, "--count", 12, "--time-limit", 5)
    assert (tree / "small.cpp").read_text() == SOURCE
    assert (tree / ".run/mutate/tree/small.cpp").read_text() == SOURCE
    killed, tried = map(int, re.search(r"^(\d+) of (\d+) killed", output, re.M).groups())
    assert tried == 12
    assert len(re.findall(r"^killed", output, re.M)) == killed
    assert len(re.findall(r"^survived: small.cpp:\d+\n  -.*\n  \+.*$", output, re.M)) == 12 - killed
    # No run has 16 arguments, so that line can change unnoticed; the loop and its bound cannot.
    assert 6 <= killed < 12


def test_seed_repeats_a_run(tree):
    first = mutate(tree, "--seed", 7, "--count", 4)
    assert mutate(tree, "--seed", 7, "--count", 4) == first
    assert mutate(tree, "--seed", 8, "--count", 4) != first


def test_hang_counts_as_killed(tree):
    (tree / "small.cpp").write_text("int main() {\n  bool ready = true;\n  while (ready != true) {\n"
                                    "  }\n  return 0;\n}\n")
    output = mutate(tree, "--count", 20, "--time-limit", 1)
    assert "killed (it hangs): small.cpp:3\n  -while (ready != true) {\n  +while (ready == true) {" \
        in output


def test_interrupted_run_restores_its_copy(tree):
    whole = hashlib.md5(SOURCE.encode()).hexdigest()
    process = subprocess.Popen(command(tree, "--count", 1, "--time-limit", 60)[:-1] +
                               ["60", "--run", f"md5sum small.cpp | grep -q {whole} || sleep 15"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    copied = tree / ".run/mutate/tree/small.cpp"
    # While the tree is copied, the file is empty for a moment.
    wait_until(lambda: copied.exists() and copied.read_text() not in ("", SOURCE), 60, "a mutant")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0, output
    assert "interrupted\n0 of 0 killed" in output
    assert copied.read_text() == SOURCE


def test_run_can_be_interrupted_before_its_first_mutant(tree):
    process = subprocess.Popen(command(tree, "--run", "sleep 60"), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    wait_until((tree / ".run/mutate/tree/build/small").exists, 60, "a build")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0, output
    assert output == "interrupted\n0 of 0 killed (0 did not compile; seed 1)\n"


def test_commands_have_to_succeed_without_a_mutant(tree):
    result = subprocess.run(command(tree, "--run", "false"), capture_output=True, text=True,
                            check=False, timeout=100)
    assert result.returncode == 1
    assert "mutate: false: fails without a mutant" in result.stderr


@pytest.mark.parametrize("text", [
    "// a < b\n", "/* a < b */\n", '#if 1 < 2\n', 'f("a < 1");\n', "char c = '<';\n",
    "ASSERT(a < 1);\n", 'log_.warning("it", {{"value", a < 1}});\n', "static_assert(a == 4);\n",
    'R"(a < 1)";\n', "template <typename T>\n", "a->b << c;\n",
    "if (is_mutated(Mutation::no_failover)) return false;\n",
])
def test_left_alone(text):
    found = [mutant for mutant in mutants.mutants_of(text) if mutant.kind != "statement"]
    assert found == []


@pytest.mark.parametrize("kind, before, after", [
    ("comparison", "x = a < b;", "x = a <= b;"),
    ("comparison", "x = a == b;", "x = a != b;"),
    ("constant", "  int x = 1'000;", "int x = 1001;"),
    ("constant", "  x = 0xFF;", "x = 0x100;"),
    ("constant", "  x = 0.5F;", "x = 1.5F;"),
    ("constant", "  bool x = true;", "bool x = false;"),
    ("condition", "  if (a(b) && c) return;", "if (!(a(b) && c)) return;"),
    ("condition", "  if (auto a = b(); !a) return;", "if (auto a = b(); !(!a)) return;"),
    ("statement", "  a.b->c(d);", "{}"),
    ("statement", "  ++a;", "{}"),
    ("statement", "  a[1] += b;", "{}"),
    ("statement", "  return;", "{}"),
])
def test_what_mutants_change(kind, before, after):
    found = [mutant.diff(before) for mutant in mutants.mutants_of(before) if mutant.kind == kind]
    assert (before.strip(), after) in found


@pytest.mark.parametrize("text", ["  int a = b;", "  const auto a = b;", "  return a;", "      b);",
                                  "  if (auto a = b()) c;", "  Thing a(b);"])
def test_no_statement_or_condition(text):
    assert {mutant.kind for mutant in mutants.mutants_of(text)} <= {"constant"}
