"""Writes sources that include several sources of a target each, and prints their names for Meson.

usage: several_at_once.py COUNT TARGET SOURCE...
       run by Meson's run_command(), which says in which folder; with a COUNT of 1 the names are those
       of the sources

The compiler then reads a header once for COUNT sources. Meson's own `unity` does the same with whole
paths: these would stand in the messages of assertions, and no two clones would share an object in ccache.
"""

import os
import sys
from pathlib import Path


def bundles(sources, count):
    return [sources[first:first + count] for first in range(0, len(sources), count)]


def write_if_changed(path, text):
    """A file that stays as it is keeps its time, so nothing is compiled again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main():
    count, target, sources = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if count == 1:
        print("\n".join(sources))
        return
    folder = os.environ["MESON_SUBDIR"]
    root = Path(os.environ["MESON_SOURCE_ROOT"])
    written = Path(os.environ["MESON_BUILD_ROOT"]) / folder
    for number, bundle in enumerate(bundles(sources, count)):
        path = written / f"{target}_{number}.cpp"
        names = [os.path.normpath(os.path.join(folder, source)) for source in bundle]
        write_if_changed(path, "".join(f'#include "{name}"\n' for name in names))
        print(os.path.relpath(path, root / folder))


if __name__ == "__main__":
    main()
