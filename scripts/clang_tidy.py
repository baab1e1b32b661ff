"""Reads sources with clang-tidy, as the build compiles them.

usage: clang_tidy.py BUILD-FOLDER SOURCE...
       prints the findings, and exits with 1 when there is one

Sources that are compiled as one (several_at_once.py) are read as one: the headers that they share, of
which most of the time goes into, are read once. Their texts are joined for that, since the analyzer and
some checks look at nothing but the main file. A using declaration passes for used when another of the
sources uses what it names.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import plain_compile_database

FILES_AT_ONCE = 2


def with_paths(text, folder):
    """A source's text whose includes of files beside it are found from any folder."""
    def whole(match):
        path = folder / match[1]
        return f'#include "{path}"' if path.exists() else match[0]
    return re.sub(r'^#include "([^"]+)"', whole, text, flags=re.M)


class Joined:
    """The text of several sources, and where each begins."""

    def __init__(self, root, names):
        self.text = ""
        self.starts = []
        lines = 0
        for name in names:
            source = root / name
            text = with_paths(source.read_text(encoding="utf-8"), source.parent)
            text += "" if text.endswith("\n") else "\n"
            self.starts.append((lines, name))
            self.text += text
            lines += text.count("\n")

    def place(self, line):
        """The source that a line of the text, counted from 1, comes from, and its number there."""
        start, name = max(entry for entry in self.starts if entry[0] < line)
        return f"{name}:{line - start}"


class ClangTidy:
    def __init__(self, root, build):
        self.root = Path(root)
        self.build = Path(build).resolve()
        self.folder = tempfile.TemporaryDirectory()
        commands = self.build / "compile_commands.json"
        self.entries = {}
        for target, entry in plain_compile_database.entries(commands):
            source = (Path(entry["directory"]) / entry["file"]).resolve()
            if source.is_relative_to(self.root):
                self.entries[str(source.relative_to(self.root))] = (target, entry)

    def together(self, names):
        """The names in groups of those that the build compiles as one, in the order of the first."""
        groups = {}
        for name in names:
            target = self.entries[name][0] if name in self.entries else name
            groups.setdefault(target, []).append(name)
        return list(groups.values())

    def findings(self, names):
        entry = self.entries.get(names[0], (None, None))[1]
        if entry is None:
            return [f"{names[0]}: is not part of the build"]
        joined = Joined(self.root, names)
        folder = Path(self.folder.name) / names[0].replace("/", "_")
        folder.mkdir()
        path = folder / "joined.cpp"
        path.write_text(joined.text, encoding="utf-8")
        command = entry["command"].replace(entry["file"], str(path))
        (folder / "compile_commands.json").write_text(
            json.dumps([{**entry, "file": str(path), "command": command}]), encoding="utf-8")
        result = subprocess.run(
            ["clang-tidy", "-p", folder, f"--config-file={self.root}/.clang-tidy", "--quiet", path],
            cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if result.returncode == 0:
            return []
        found = re.sub(rf"^\S*{re.escape(str(path))}:(\d+)",
                       lambda match: joined.place(int(match[1])), result.stdout, flags=re.M)
        return found.splitlines() or [f"{names[0]}: clang-tidy exited with {result.returncode}"]


def read(root, build, names, seconds=None):
    """Its findings in these sources, and the sources that it has not read for lack of time."""
    reader = ClangTidy(root, build)
    end = time.monotonic() + seconds if seconds is not None else None
    left = []

    def read_group(group):
        if end is not None and time.monotonic() > end:
            left.extend(group)
            return []
        return reader.findings(group)

    with ThreadPoolExecutor(FILES_AT_ONCE) as threads:
        findings = [line for lines in threads.map(read_group, reader.together(names))
                    for line in lines]
    return findings, left


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    root = Path(__file__).resolve().parent.parent
    names = [os.path.relpath(Path(name).resolve(), root) for name in sys.argv[2:]]
    findings, _ = read(root, sys.argv[1], names)
    for line in findings:
        print(line)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
