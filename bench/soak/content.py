"""The truth: every byte that a client may get follows from its path, or from who has written it."""

import hashlib
import random
import re

SIZES = (0, 1, 100, 1000, 4096, 20_000, 65_536, 300_000)
VARIANTS = 4
WRITTEN_BYTES_MAX = 3000
# Answers beyond this go in blocks; bodies that are written beyond the spool's threshold go to a file.
WHOLE_ANSWER_BYTES = 1 << 20
LARGE_SIZES = (1_500_000, 5_000_000)
WRITTEN_LARGE_BYTES = (300_000, 2_500_000)
# Below it is what a group without agents serves.
VOTES = "/votes"


def stream(seed, size):
    """So many bytes that look random."""
    block = b"".join(hashlib.sha256(f"{seed} {number}".encode()).digest() for number in range(32))
    return (block * (size // len(block) + 1))[:size]


def static_files():
    """Of both groups."""
    return {f"{prefix}/static/{size}-{variant}.txt": stream(f"{size}-{variant}{prefix}", size)
            for prefix in ("", VOTES) for size in SIZES for variant in range(VARIANTS)}


def large_files():
    """Likewise; no two blocks of theirs are the same."""
    return {f"{prefix}/static/{size}.bin": random.Random(f"{size}{prefix}").randbytes(size)
            for prefix in ("", VOTES) for size in LARGE_SIZES}


def written(path, number):
    """The number-th content of a path; it tells which one it is."""
    filler = stream(f"{path} {number}", 37 * number % WRITTEN_BYTES_MAX)
    return f"{path} {number}\n".encode() + filler


def written_large(path, number):
    drawn = random.Random(f"{path} {number}")
    return f"{path} {number}\n".encode() + drawn.randbytes(drawn.randint(*WRITTEN_LARGE_BYTES))


def is_written(path, body, number_max, content=written):
    """Whether a body is one of the contents that the path has had."""
    found = re.match(rb"[^ ]+ (\d{1,9})\n", body)
    return bool(found) and int(found[1]) <= number_max and body == content(path, int(found[1]))
