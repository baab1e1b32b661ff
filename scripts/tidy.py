"""Rules that hold for every file of the tree, checked as a test.

usage: tidy.py        prints every breach as FILE:LINE: RULE, and exits with 1 when there is one
"""

import re
import subprocess
import sys
from pathlib import Path

# Each floor may include from itself and from those before it.
FLOORS = ["base", "transport", "http", "sketch", "history_table", "pbft", "replica_client", "sketcher",
          "tools"]
# The same within pbft/; those of one line do not include each other.
PBFT_FLOORS = [
    ["auth"],
    ["wire"],
    ["core"],
    ["transport", "services", "storage", "group_file"],
    ["replica"],
]

# Deterministic objects: handed messages and the time, they hand back what to do.
CORES = ["http", "sketch", "pbft/auth", "pbft/wire", "pbft/core",
         "replica_client/core", "sketcher/core"]
# Beside a core for what they know; only shells and programs use them.
NOT_CORE = (
    "sketch/secret_file.cpp",  # reads a file
    "http/client/",            # connections
    "http/metrics/",           # the same
    "pbft/auth/keys.cpp",      # generate_private_keys() draws from OpenSSL, for keygen alone
)
CORE_BANS = [
    (r"#include\s*<boost/asio", "includes Asio"),
    (r'#include\s*"base/(admin_socket|signal_source|timeout_ticker|random|log|file|unique_fd|resident_memory)\.hpp"',
     "includes I/O or randomness"),
    (r'#include\s*"(transport|http/(client|metrics))/', "includes connections"),
    (r"#include\s*<(sys/(socket|epoll|time|mman|un|uio|wait)|netinet/|arpa/|netdb|unistd|poll|fcntl"
     r"|fstream|iostream|thread|mutex|random|ctime|time)\b", "includes a header of the system"),
    (r"\b(steady_clock|system_clock|high_resolution_clock)::now\b", "reads a clock"),
    (r"\b(random_device|getrandom|RAND_bytes|EVP_PKEY_Q_keygen|srand|clock_gettime|gettimeofday)\b",
     "reads a clock or draws randomness"),
]

LINES_MAX = 600
SOURCES = {".cpp", ".hpp", ".h", ".c"}
TEXTS = SOURCES | {".py", ".sh", ".toml", ".md", ".build", ".txt", ".1", ".8", ".yml", ".wrap", ""}


def files(root):
    """The files that git tracks or would track; all of them in a tree without git."""
    try:
        listing = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others",
                                  "--exclude-standard"], capture_output=True, check=True)
        names = [name for name in listing.stdout.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [str(path.relative_to(root)) for path in Path(root).rglob("*")]
        names = [name for name in names if not re.match(r"(build|\.git/|\.run/)", name)]
        names = [name for name in names
                 if not name.startswith("subprojects/llhttp-") and not name.endswith(".tar.gz")]
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


def pbft_floor(name):
    """The index of a file's floor within pbft/, and the floor's name; None outside of it."""
    parts = name.split("/")
    if parts[0] != "pbft" or len(parts) < 2:
        return None
    floor = parts[1].split(".")[0]
    for index, floors in enumerate(PBFT_FLOORS):
        if floor in floors:
            return index, floor
    return len(PBFT_FLOORS), floor


def no_floor_of_pbft_includes_upward(root):
    breaches = []
    for name in sources(root):
        own = pbft_floor(name)
        if own is None:
            continue
        if own[0] == len(PBFT_FLOORS):
            breaches.append(f"{name}:1: pbft/ has no floor {own[1]}")
            continue
        for number, line in enumerate(lines_of(root, name), 1):
            found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            other = pbft_floor(found[1]) if found else None
            if other is not None and other != own and other[0] >= own[0]:
                breaches.append(f"{name}:{number}: pbft/{own[1]} includes from pbft/{other[1]}, "
                                "which is not below it")
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
        # A precompiled one is its compiler's main file, where GCC does not want it.
        if "#pragma once" not in lines and not name.startswith("precompiled/"):
            breaches.append(f"{name}:1: #pragma once is missing")
    return breaches


def subprojects_hold_no_sources(root):
    """Other people's code is fetched, never tracked."""
    ours = re.compile(r"subprojects/([^/]+\.wrap|packagefiles/[^/]+/meson\.build)")
    return [f"{name}:1: neither a wrap file nor a subproject's meson.build" for name in files(root)
            if name.startswith("subprojects/") and not ours.fullmatch(name)]


def readme_is_filled_in(root):
    if "README.md" not in files(root):
        return []
    return [f"README.md:{number}: a placeholder is left"
            for number, line in enumerate(lines_of(root, "README.md"), 1) if "BENCH_" in line]


RULES = [no_floor_includes_upward, no_floor_of_pbft_includes_upward, cores_do_no_io,
         files_are_short, white_space_is_plain, headers_say_what_they_are,
         subprojects_hold_no_sources, readme_is_filled_in]


def main():
    root = Path(__file__).resolve().parent.parent
    breaches = [breach for rule in RULES for breach in rule(root)]
    for breach in breaches:
        print(breach)
    sys.exit(1 if breaches else 0)


if __name__ == "__main__":
    main()
