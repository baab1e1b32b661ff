"""REDbot, a lint for HTTP: its notes on answers through the sketcher are no worse than on the
origin's own. It asks for each page again with conditions, a range and a content coding."""

import json

import pytest
from suite_tools import tried_codings, run, suite_folder, with_and_without_compression

from harness import Deployment

PAGE = b"<!doctype html><title>A page</title><p>The same at each origin.</p>\n" * 40
# Path to the fields that Apache adds to it.
PAGES = {
    "/static/page.html": [],
    "/static/style.css": ['Cache-Control "public, max-age=3600"'],
    "/static/old.txt": ['Expires "Thu, 01 Dec 1994 16:00:00 GMT"'],
    "/static/both.txt": ['Cache-Control "max-age=60"', 'Expires "Thu, 01 Dec 1994 16:00:00 GMT"'],
    "/static/vary.html": ['Vary "Accept-Language, Cookie"', 'Content-Language "en"'],
    "/static/cookie.html": ['Set-Cookie "a=b; Path=/; HttpOnly"', 'Cache-Control "no-store"'],
    "/static/policy.html": ['Content-Security-Policy "default-src \'self\'"',
                            'X-Content-Type-Options "nosniff"',
                            'Strict-Transport-Security "max-age=31536000"'],
    "/static/data.json": ['Cache-Control "no-cache"'],
    "/static/empty.html": [],
    "/written.html": [],  # has no Last-Modified
    "/static/": [],       # refused: there is no listing
    "/none": [],
}
WORSE = ("WARN", "BAD")
# What cannot be as good as the origin's: an answer that sets a cookie is one client's, so the history has no sketch
# of it, and it has no entity tag to be asked for again by.
EXPECTED = {"/static/cookie.html": [("INM_304", "field-etag")]}


def apache_fields():
    return "\n".join(f'<Location "{path}">\n' + "\n".join(f"Header always set {field}"
                                                        for field in fields) + "\n</Location>"
                     for path, fields in PAGES.items() if fields)


def notes(url):
    """{(note, what it is about): level}"""
    folder = suite_folder("redbot") / "packages"
    status, output = run(["/usr/bin/python3", folder / "bin/redbot", "--output-format", "har", url],
                         60, {"PYTHONPATH": str(folder)})
    assert status == 0, output
    entries = json.loads(output[output.index("{"):])["log"]["entries"]
    return {(note["note_id"], note["subject"]): note["level"]
            for entry in entries for note in entry["_red_messages"]}


def worse(straight, through):
    """What REDbot holds against the sketcher alone, and what it praises at the origin alone."""
    blamed = [note for note, level in through.items()
              if level in WORSE and straight.get(note) not in WORSE]
    praised = {name for (name, _), level in through.items() if level == "GOOD"}
    missed = [(name, subject) for (name, subject), level in straight.items()
              if level == "GOOD" and name not in praised]
    return blamed + missed


@with_and_without_compression
@pytest.mark.time_limit(300)
def test_notes_are_no_worse_than_the_origins(compression, tell):
    content = {path: b"" if "empty" in path else PAGE for path in PAGES if "." in path}
    with Deployment(content=content, sketcher_changes=compression,
                    apache_additions=dict.fromkeys(range(4), apache_fields())) as deployment:
        straight = {path: notes(f"http://127.0.0.1:{deployment.origins[0].port}{path}")
                    for path in PAGES}
        through = {path: notes(deployment.url + path) for path in PAGES}
        coded = tried_codings(deployment.sketcher)
    counts = [sum(map(len, each.values())) for each in (straight, through)]
    found = {path: worse(straight[path], through[path]) for path in PAGES}
    tell(f"{len(PAGES)} pages, {counts[0]} notes straight and {counts[1]} through the sketcher, "
         f"{sum(map(len, found.values()))} of them worse, {coded} answers coded, or tried")
    assert bool(coded) == bool(compression)
    assert counts[0] > 5 * len(PAGES), "REDbot has not looked"
    assert {path: worse_ones for path, worse_ones in found.items() if worse_ones} == EXPECTED


def test_the_comparison_finds_both_mistakes():
    straight = {("a", ""): "GOOD", ("b", ""): "WARN"}
    assert worse(straight, {("a", ""): "GOOD", ("b", ""): "WARN", ("c", ""): "INFO"}) == []
    assert worse(straight, {("c", ""): "BAD"}) == [("c", ""), ("a", "")]
