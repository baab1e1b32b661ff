"""The truth: every byte that a client may get follows from its path, or from who has written it."""

import hashlib
import re

SIZES = (0, 1, 100, 1000, 4096, 20_000, 65_536, 300_000)
VARIANTS = 4
WRITTEN_BYTES_MAX = 3000


def stream(seed, size):
    """So many bytes that look random."""
    block = b"".join(hashlib.sha256(f"{seed} {number}".encode()).digest() for number in range(32))
    return (block * (size // len(block) + 1))[:size]


def static_files():
    return {f"/static/{size}-{variant}.txt": stream(f"{size}-{variant}", size)
            for size in SIZES for variant in range(VARIANTS)}


def written(path, number):
    """The number-th content of a path; it tells which one it is."""
    filler = stream(f"{path} {number}", 37 * number % WRITTEN_BYTES_MAX)
    return f"{path} {number}\n".encode() + filler


def is_written(path, body, number_max):
    """Whether a body is one of the contents that the path has had."""
    found = re.match(rb"[^ ]+ (\d{1,9})\n", body)
    return bool(found) and int(found[1]) <= number_max and body == written(path, int(found[1]))
