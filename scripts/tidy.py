"""Rules that hold for every file of the tree, checked as a test.

usage: tidy.py        prints every breach as FILE:LINE: RULE, and exits with 1 when there is one
"""

import re
import subprocess
import sys
from pathlib import Path

# Every folder of sources, from the ground up. A file includes from its own folder and from those on
# lines before it; folders of one line do not include each other. So no two folders form a circle.
FLOORS = [
    "base",
    "base/config base/command_line base/memory",
    "base/io",
    "transport",
    "http",
    "http/http2 http/pipeline",
    "http/client http/metrics",
    "canonical",
    "sketch",
    "history_table",
    "history_table/transfer",
    "pbft/auth",
    "pbft/wire",
    "pbft/core/state",
    "pbft/core/bodies",
    "pbft/core/ordering",
    "pbft/core/execution",
    "pbft/core/views",
    "pbft/core/recovery",
    "pbft/core/intake",
    "pbft/core pbft/client",
    "pbft/services/state",
    "pbft/links",
    "pbft/transport pbft/services pbft/storage pbft/group",
    "pbft/replica",
    "replica_client/core/health replica_client/core/hedge",
    "replica_client/core",
    "replica_client",
    "dht/core",
    "dht/wire",
    "dht/zookeeper/core",
    "dht/zookeeper",
    "sketcher/core/admission",
    "sketcher/core/policy",
    "sketcher/counters",
    "sketcher/core/read",
    "sketcher/answer",
    "sketcher/config",
    "sketcher/installation",
    "sketcher/shared",
    "sketcher/members",
    "sketcher/spool",
    "sketcher/group",
    "sketcher/reads",
    "sketcher/client/session",
    "sketcher/client/http",
    "sketcher/client/tunnel",
    "sketcher/client",
    "sketcher/health",
    "sketcher/history",
    "sketcher/ring",
    "sketcher/worker",
    "sketcher/report",
    "sketcher/master",
    "tools/keys",
    "tools/answers",
    "measurement/input",
    "measurement/analysis",
    "measurement/readers",
    "measurement",
    "measurement/live measurement/capture measurement/proposal",
    "tools measurement/program bench/load",
]
LEVELS = {folder: level for level, line in enumerate(FLOORS) for folder in line.split()}
# Sources beside the floors: they may include from all of them.
BESIDE = ("tests/", "precompiled/")

# Deterministic objects: handed messages and the time, they hand back what to do.
CORES = ["http", "canonical", "sketch", "pbft/auth", "pbft/wire", "pbft/core",
         "pbft/client", "replica_client/core", "dht/core", "dht/wire", "dht/zookeeper/core", "sketcher/core",
         "measurement/input", "measurement/analysis", "measurement/readers"]
# Beside a core for what they know; only shells and programs use them.
NOT_CORE = (
    "sketch/secret_file.cpp",  # reads a file
    "http/client/",            # connections
    "http/metrics/",           # the same
    "pbft/auth/keys.cpp",      # generate_private_keys() draws from OpenSSL, for keygen alone
)
CORE_BANS = [
    (r"#include\s*<boost/asio", "includes Asio"),
    (r'#include\s*"base/(io/\w+|random|log|file|unique_fd|unnamed_file|resident_memory)\.hpp"',
     "includes I/O or randomness"),
    (r'#include\s*"(transport|http/(client|metrics))/', "includes connections"),
    (r"#include\s*<(sys/(socket|epoll|time|mman|un|uio|wait)|netinet/|arpa/|netdb|unistd|poll|fcntl"
     r"|fstream|iostream|thread|mutex|random|ctime|time)\b", "includes a header of the system"),
    (r"\b(steady_clock|system_clock|high_resolution_clock)::now\b", "reads a clock"),
    (r"\b(random_device|getrandom|RAND_bytes|EVP_PKEY_Q_keygen|srand|clock_gettime|gettimeofday)\b",
     "reads a clock or draws randomness"),
]

LINES_MAX = 600
FILES_MAX = 40  # of sources, in a folder
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


def folder_of(name):
    return name.rpartition("/")[0]


def no_floor_includes_upward(root):
    breaches = []
    for name in sources(root):
        own = folder_of(name)
        if name.startswith(BESIDE):
            continue
        if own not in LEVELS:
            breaches.append(f"{name}:1: {own or '.'} is not on the list of floors")
            continue
        for number, line in enumerate(lines_of(root, name), 1):
            found = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
            other = folder_of(found[1]) if found else own
            if other == own:
                continue
            if other not in LEVELS:
                breaches.append(f"{name}:{number}: the include does not begin with a floor")
            elif LEVELS[other] >= LEVELS[own]:
                breaches.append(f"{name}:{number}: {own} includes from {other}, "
                                "which is not below it")
    return breaches


def folders_are_small(root):
    held = {}
    for name in sources(root) + [name for name in files(root) if name.endswith(".py")]:
        held.setdefault(folder_of(name), []).append(name)
    return [f"{names[0]}:1: {folder} holds {len(names)} files, more than {FILES_MAX}"
            for folder, names in held.items() if len(names) > FILES_MAX]


def the_drawing_shows_the_floors(root):
    """In docs/architecture.md, from the top down: "pbft/core/ | pbft/client/   what they are"."""
    page = "docs/architecture.md"
    if page not in files(root):
        return []
    text = "\n".join(lines_of(root, page))
    drawing = re.search(r"^## Floors\n.*?^```\n(.*?)^```", text, re.S | re.M)
    drawn = re.findall(r"^((?:[\w/]+/ \| )*[\w/]+/)(?: |$)", drawing[1] if drawing else "", re.M)
    drawn = [line.replace("/ | ", " ").rstrip("/") for line in drawn]
    if drawn == FLOORS[::-1]:
        return []
    odd = ", ".join(sorted(set(drawn) ^ set(FLOORS))) or "their order"
    return [f"{page}:1: the drawing of the floors differs from FLOORS in scripts/tidy.py: {odd}"]


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


RULES = [no_floor_includes_upward, folders_are_small, the_drawing_shows_the_floors,
         cores_do_no_io,
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
