"""Checks of the tree that need tools: format, Python, commit subjects, clang-tidy of changed files.

usage: gates.py [--all] BUILD-FOLDER
       prints every breach, and exits with 1 when there is one

clang-tidy reads the sources that have changed, or all of them. ./run check runs the checks to their end;
./run test --check stops clang-tidy after a while, and names the files that it has not read.
"""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import clang_tidy
import tidy

SUBJECT_MAX = 72
FILES_AT_ONCE = 2


def run(root, *command):
    return subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)


def failure(result):
    """The lines of a tool that has failed; at least one, so that no failure passes in silence."""
    if result.returncode == 0:
        return []
    lines = (result.stdout + result.stderr).splitlines()
    return lines or [f"{result.args[0]} exited with {result.returncode}"]


def in_batches(names, size):
    return [names[start:start + size] for start in range(0, len(names), size)]


def sources_are_formatted(root):
    # A precompiled header's includes have an order of their own: each begins with the one below it.
    names = [name for name in tidy.sources(root)
             if name.endswith((".cpp", ".hpp")) and not name.startswith("precompiled/")]
    with ThreadPoolExecutor(FILES_AT_ONCE) as threads:
        results = threads.map(
            lambda batch: run(root, "clang-format", "--dry-run", "-Werror", *batch),
            in_batches(names, 50))
        return [line for result in results for line in failure(result)]


def python_is_clean(root):
    ruff = sorted(Path(root).glob(".run/ruff-*/bin/ruff"))
    if not ruff:
        return ["ruff is not installed; run scripts/fetch-ruff"]
    return failure(run(root, ruff[-1], "check", "--no-cache", "--output-format", "concise",
                       "--quiet", "."))


def recorded_base(root):
    return (Path(root) / "scripts/base-commit").read_text(encoding="ascii").strip()


def is_before_head(root, commit):
    """Whether HEAD has this commit in its past, and something beyond it."""
    if run(root, "git", "merge-base", "--is-ancestor", commit, "HEAD").returncode != 0:
        return False
    head = run(root, "git", "rev-parse", "HEAD").stdout
    return run(root, "git", "rev-parse", f"{commit}^{{commit}}").stdout != head


def commit_subjects_are_short(root):
    base = recorded_base(root)
    # A shallow clone ends behind the base: all of its commits are newer.
    is_cut_off = run(root, "git", "cat-file", "-e", base).returncode != 0
    if not is_cut_off and not is_before_head(root, base):
        return []
    commits = "HEAD" if is_cut_off else f"{base}..HEAD"
    subjects = run(root, "git", "log", "--no-merges", "--format=%h %s", commits).stdout
    return [f"{line}: a subject of more than {SUBJECT_MAX} characters"
            for line in subjects.splitlines() if len(line.partition(" ")[2]) > SUBJECT_MAX]


def changed_since(root):
    """The commit that changes are counted from: origin's main, else the last tag, else the recorded
    base. None when none of them is in HEAD's past."""
    tag = run(root, "git", "describe", "--tags", "--abbrev=0").stdout.strip()
    return next((commit for commit in ("origin/main", tag, recorded_base(root))
                 if commit and is_before_head(root, commit)), None)


def compiled_sources(root):
    return [name for name in tidy.sources(root)
            if name.endswith(".cpp") and not name.startswith("tests/fuzz/")]


def changed_sources(root):
    """Of the compiled sources those that differ from that commit, the newest changes first."""
    base = changed_since(root)
    if base is None:
        return []
    names = run(root, "git", "diff", "--name-only", "HEAD").stdout
    names += run(root, "git", "log", "--format=", "--name-only", f"{base}..HEAD").stdout
    compiled = set(compiled_sources(root))
    return [name for name in dict.fromkeys(names.splitlines()) if name in compiled]


RULES = [sources_are_formatted, python_is_clean, commit_subjects_are_short]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="clang-tidy reads all sources")
    parser.add_argument("build")
    options = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    breaches = [breach for rule in tidy.RULES + RULES for breach in rule(root)]
    names = compiled_sources(root) if options.all else changed_sources(root)
    findings, _ = clang_tidy.read(root, root / options.build, names)
    for line in breaches + findings:
        print(line)
    sys.exit(1 if breaches or findings else 0)


if __name__ == "__main__":
    main()
