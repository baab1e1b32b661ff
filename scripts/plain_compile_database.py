"""Prints a compile database for clang-tidy: the build's own, without what only GCC understands.

Precompiled headers are GCC's as well. So each source is seen with what it includes by itself.

usage: plain_compile_database.py compile_commands.json
"""

import json
import shlex
import sys


def plain(command):
    words = shlex.split(command)
    if words[0].endswith("ccache"):
        words = words[1:]
    if "-include" in words:
        position = words.index("-include")
        del words[position:position + 2]
        words = [word for word in words if word not in ("-fpch-preprocess", "-Winvalid-pch")]
    words = [word for word in words if not word.startswith("--param=")]
    return shlex.join([*words, "-Wno-unknown-warning-option"])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        entries = json.load(file)
    for entry in entries:
        entry["command"] = plain(entry["command"])
    json.dump(entries, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
