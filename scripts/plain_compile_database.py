"""Prints a compile database for clang-tidy: the build's own, without what only GCC understands.

Precompiled headers are GCC's as well. Sources that are compiled as one (several_at_once.py) get an entry
each. So each source is seen with what it includes by itself.

usage: plain_compile_database.py compile_commands.json
"""

import json
import os
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def plain(words):
    if words[0].endswith("ccache"):
        words = words[1:]
    if "-include" in words:
        position = words.index("-include")
        del words[position:position + 2]
        words = [word for word in words if word not in ("-fpch-preprocess", "-Winvalid-pch")]
    words = [word for word in words if not word.startswith("--param=")]
    return [*words, "-Wno-unknown-warning-option"]


def sources_of(entry):
    """The source of an entry; or those that it includes, where several_at_once.py has written it."""
    folder = Path(entry["directory"]).resolve()
    path = (folder / entry["file"]).resolve()
    if not path.is_relative_to(folder):
        return [entry["file"]]
    included = re.findall(r'^#include "(.*\.cpp)"$', path.read_text(encoding="utf-8"), re.M)
    return [os.path.relpath(ROOT / name, folder) for name in included] or [entry["file"]]


def entries(path):
    """Yields for each source the file that the compiler gets, which may include others, and its entry."""
    with open(path, encoding="utf-8") as file:
        built = json.load(file)
    for entry in built:
        words = plain(shlex.split(entry["command"]))
        for source in sources_of(entry):
            command = shlex.join([source if word == entry["file"] else word for word in words])
            yield entry["file"], {**entry, "file": source, "command": command}


def main():
    json.dump([entry for _, entry in entries(sys.argv[1])], sys.stdout, indent=1)


if __name__ == "__main__":
    main()
