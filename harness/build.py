"""The build under test: the folder that PROPHECY_BUILD names, and how much slower than others its
programs are."""

import functools
import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# How many times as long as usual one waits for programs with a sanitizer, on a busy machine.
PATIENCE = {"none": 1, "thread": 8}
PATIENCE_OF_OTHERS = 4


def build_folder():
    folder = Path(os.environ.get("PROPHECY_BUILD", "build"))
    return folder if folder.is_absolute() else ROOT / folder


@functools.cache
def sanitizer():
    """Meson's name of what the programs are instrumented with; "none"."""
    try:
        options = json.loads((build_folder() / "meson-info/intro-buildoptions.json").read_text())
    except FileNotFoundError:
        return "none"
    return next((option["value"] for option in options if option["name"] == "b_sanitize"), "none")


def patience():
    """Every time-out of a test is multiplied by this."""
    return PATIENCE.get(sanitizer(), PATIENCE_OF_OTHERS)


def instrumented():
    """Whether time and memory are not the programs' own: a sanitizer's shadow is resident too."""
    return sanitizer() != "none"
