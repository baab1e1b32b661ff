"""Prints a compile database for clang-tidy: the build's own, without what only GCC understands.

usage: plain_compile_database.py compile_commands.json
"""

import json
import shlex
import sys

# Followed by an argument: Meson names the precompiled header's folder and the header itself.
GCC_ONLY = {"-Winvalid-pch"}


def plain(command):
    words = shlex.split(command)
    if words[0].endswith("ccache"):
        words = words[1:]
    return shlex.join(word for word in words if word not in GCC_ONLY)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        entries = json.load(file)
    for entry in entries:
        entry["command"] = plain(entry["command"])
    json.dump(entries, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
