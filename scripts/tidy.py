"""Rules that hold for every file of the tree, checked as a test.

usage: tidy.py        prints every breach as FILE:LINE: RULE, and exits with 1 when there is one
"""

import re
import subprocess
import sys
from pathlib import Path

# Each floor may include from itself and from those before it.
FLOORS = ["base", "http", "sketch", "history_table", "pbft", "replica_client", "sketcher", "tools"]

# Deterministic objects: handed messages and the time, they hand back what to do.
CORES = ["http", "sketch", "pbft/core", "sketcher/core"]
# Beside a core for what they know; only shells and programs use them.
NOT_CORE = ("sketch/secret_file.cpp", "http/client/")
CORE_BANS = [
    (r"#include\s*<boost/asio", "includes Asio"),
    (r'#include\s*"base/(asio|random|log|file|unique_fd)\.hpp"', "includes I/O or randomness"),
    (r"#include\s*<(sys/(socket|epoll|time|mman|un|uio|wait)|netinet/|arpa/|netdb|unistd|poll|fcntl"
     r"|fstream|iostream|thread|mutex|random|ctime|time)\b", "includes a header of the system"),
    (r"\b(steady_clock|system_clock|high_resolution_clock)::now\b", "reads a clock"),
    (r"\b(random_device|getrandom|RAND_bytes|srand|clock_gettime|gettimeofday)\b",
     "reads a clock or draws randomness"),
]

LINES_MAX = 600
SOURCES = {".cpp", ".hpp", ".h", ".c"}
TEXTS = SOURCES | {".py", ".sh", ".toml", ".md", ".build", ".txt", ".1", ".yml", ".wrap", ""}


def files(root):
    """The files that git tracks or would track; all of them in a tree without git."""
    try:
        listing = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                                  "--exclude-standard"], capture_output=True, check=True)
        names = [name for name in listing.stdout.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(root)) for path in Path(root).rglob("*")]
        names = [name for name in names if not re.match(r"(build|\.git/|\.run/)", name)]
    names = [name for name in names if not name.startswith("subprojects/llhttp-")]
    return sorted(name for name in names if (Path(root) / name).is_file())


def lines_of(root, name):
    try:
        return (Path(root) / name).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        return []


def sources(root):
    return [name for name in files(root) if Path(name).suffix in SOURCES]


def texts(root):
    return [name for name in files(root) if Path(name).suffix in TEXTS]


def no_floor_includes_upward(root):
    breaches = []
    for name in sources(root):
        own = name.split("/")[0]
        if own not in FLOORS:
            continue
        for number, line in enumerate(lines_of(root, name), 1):
            found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            if not found:
                continue
            other = found[1].split("/")[0]
            if other not in FLOORS:
                breaches.append(f"{name}:{number}: the include does not start with a floor's name")
            elif FLOORS.index(other) > FLOORS.index(own):
                breaches.append(f"{name}:{number}: {own} includes from {other}, a floor above it")
    return breaches


def cores_do_no_io(root):
    breaches = []
    for name in sources(root):
        if name.startswith(NOT_CORE) or not any(name.startswith(core + "/") for core in CORES):
            continue
        for number, line in enumerate(lines_of(root, name), 1):
            breaches += [f"{name}:{number}: a core {what}" for pattern, what in CORE_BANS
                         if re.search(pattern, line)]
    return breaches


def files_are_short(root):
    return [f"{name}:{len(lines)}: more than {LINES_MAX} lines"
            for name in sources(root) + [name for name in files(root) if name.endswith(".py")]
            if len(lines := lines_of(root, name)) > LINES_MAX + 1]


def white_space_is_plain(root):
    breaches = []
    for name in texts(root):
        for number, line in enumerate(lines_of(root, name), 1):
            if "\t" in line:
                breaches.append(f"{name}:{number}: a tab")
            if line != line.rstrip():
                breaches.append(f"{name}:{number}: white space at the end of the line")
    return breaches


def headers_say_what_they_are(root):
    """Every header opens with a comment and guards itself."""
    breaches = []
    for name in sources(root):
        if not name.endswith(".hpp"):
            continue
        lines = lines_of(root, name)
        if not lines[0].startswith("//"):
            breaches.append(f"{name}:1: a header opens with a comment that says what it is")
        if "#pragma once" not in lines:
            breaches.append(f"{name}:1: #pragma once is missing")
    return breaches


RULES = [no_floor_includes_upward, cores_do_no_io, files_are_short, white_space_is_plain,
         headers_say_what_they_are]


def main():
    root = Path(__file__).resolve().parent.parent
    breaches = [breach for rule in RULES for breach in rule(root)]
    for breach in breaches:
        print(breach)
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
