#!/usr/bin/python3
"""Writes the settings of the programs into the manual and into docs/settings.md.

usage: settings_pages.py [--build FOLDER] [--check]

The programs describe their settings themselves (`--describe`), from the declarations with which they
read a configuration. This script lays that out, between the marks "begin settings NAME" and "end
settings NAME" of each page. The pages are committed, so that they can be read without a build; with
--check nothing is written, and a page that differs is an error.
"""

import argparse
import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 110

# Name: the program of the build folder, and what it is asked for.
DESCRIPTIONS = {
    "sketcher": ("sketcher/prophecy-sketcher", "--describe"),
    "replica": ("pbft/replica/prophecy-replica", "--describe"),
    "group": ("pbft/replica/prophecy-replica", "--describe-group"),
}
PAGES = {
    "man/prophecy-sketcher.8": ("sketcher", "group"),
    "man/prophecy-replica.8": ("replica",),
    "docs/settings.md": ("sketcher", "replica", "group"),
}


def described(build, name):
    program, option = DESCRIPTIONS[name]
    text = subprocess.run([build / program, option], check=True, capture_output=True, text=True).stdout
    return tomllib.loads(text)["table"]


def facts(setting):
    """ "size, 64B to 64KiB; default: 8KiB" """
    kind, bounds = setting["type"], setting.get("bounds", "")
    if kind == "choice":
        text = bounds
    elif kind == "flag":
        text = "true or false"
    else:
        text = f"{kind}, {bounds}" if bounds else kind
    default = setting.get("default")
    return f"{text}; default: {default}" if default else text


def helped(setting):
    again = " `SIGHUP` opens the file again." if setting["reload"] == "file" else ""
    return setting.get("help", "") + again


def wrapped(text, indent=""):
    """Lines of the text; what stands between backquotes is not broken."""
    whole = re.sub(r"`[^`]*`", lambda code: code[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(whole, WIDTH, subsequent_indent=indent, break_long_words=False,
                          break_on_hyphens=False)
    return [line.replace("\0", " ") for line in lines]


def by_condition(settings):
    """Lists of settings with their condition, those without one first."""
    groups = {"": []}
    for setting in settings:
        groups.setdefault(setting.get("condition", ""), []).append(setting)
    return [(condition, group) for condition, group in groups.items() if group]


def shared(table, condition):
    """What a table's own condition says already is not said again for each of its settings."""
    return "" if condition == table.get("condition", "") else condition


# ---- The manual ----------------------------------------------------------------

def roff(text):
    text = text.replace("\\", "\\e")
    return re.sub(r"`([^`]*)`", r"\\fB\1\\fP", text)


def roff_lines(text):
    """A line for each sentence, none too long, and none that would be taken for a macro."""
    for sentence in re.split(r"(?<=[.!?]) (?=[A-Z`(])", text):
        for line in wrapped(sentence):
            yield "\\&" + roff(line) if line[:1] in ".'" else roff(line)


def roff_item(setting):
    about = roff(facts(setting).replace("`", "")).replace('"', "\\(dq")
    yield f'.It Cm {setting["name"]} Pq "{about}"'
    yield from roff_lines(helped(setting))


def roff_table(table):
    yield f".Ss {table['heading']}"
    if "condition" in table:
        yield from roff_lines(f"Where {table['condition']}.")
    if "help" in table:
        yield from roff_lines(table["help"])
    for condition, settings in by_condition(table.get("setting", [])):
        if shared(table, condition):
            yield ".Pp"
            yield from roff_lines(f"Where {condition}, also:")
        yield ".Bl -tag -width Ds"
        for setting in settings:
            yield from roff_item(setting)
        yield ".El"


def manual(tables):
    return "\n".join(line for table in tables for line in roff_table(table)) + "\n"


# ---- docs/settings.md ----------------------------------------------------------

def markdown_item(setting):
    text = f"- **`{setting['name']}`** ({facts(setting)}): {helped(setting)}"
    return wrapped(text, indent="  ")


def markdown_table(table):
    yield f"### `{table['heading']}`"
    yield ""
    about = f"Where {table['condition']}. " if "condition" in table else ""
    about += table.get("help", "")
    if about:
        yield from wrapped(about)
        yield ""
    for condition, settings in by_condition(table.get("setting", [])):
        if shared(table, condition):
            yield f"Where {condition}, also:"
            yield ""
        for setting in settings:
            yield from markdown_item(setting)
        yield ""


def markdown(tables):
    return "\n" + "\n".join(line for table in tables for line in markdown_table(table))


# ---- Pages ---------------------------------------------------------------------

def layout(page, build, name):
    lay_out = markdown if page.endswith(".md") else manual
    return lay_out(described(build, name))


def filled(what, names, text, body_of):
    """The text with each body between its marks; SystemExit where a mark is missing."""
    for name in names:
        pattern = rf"(begin {what} {name}\b[^\n]*\n).*?(^[^\n]*end {what} {name}\b)"
        body = body_of(name)
        text, count = re.subn(pattern, lambda marks: marks[1] + body + marks[2],  # noqa: B023
                              text, count=1, flags=re.DOTALL | re.MULTILINE)
        if count != 1:
            sys.exit(f"expected the marks of {what} {name}")
    return text


def run(about, what, pages, lay_out):
    """Writes the pages, {page: names}, with lay_out(page, build, name) between the marks of each name."""
    parser = argparse.ArgumentParser(description=about.split("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail at differences")
    options = parser.parse_args()
    differing = []
    for page, names in pages.items():
        path = ROOT / page
        before = path.read_text(encoding="utf-8")
        after = filled(what, names, before,
                       lambda name: lay_out(page, options.build, name))  # noqa: B023
        if after == before:
            continue
        differing.append(page)
        if not options.check:
            path.write_text(after, encoding="utf-8")
    for page in differing:
        print(f"{page}: " + (f"differs; run scripts/{what}_pages.py" if options.check else "written"))
    return 1 if options.check and differing else 0


if __name__ == "__main__":
    sys.exit(run(__doc__, "settings", PAGES, layout))
