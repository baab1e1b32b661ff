#!/usr/bin/python3
"""Writes the metrics of the programs into the manual and into docs/metrics.md.

usage: metrics_pages.py [--build FOLDER] [--check]

The programs describe their metrics themselves (`--describe-metrics`), from the tables with which they
write them. This script lays that out, between the marks "begin metrics NAME" and "end metrics NAME" of
each page. The pages are committed, so that they can be read without a build; with --check nothing is
written, and a page that differs is an error.
"""

import subprocess
import sys
import tomllib

from settings_pages import roff, roff_lines, run, wrapped

PROGRAMS = {"sketcher": "sketcher/prophecy-sketcher", "replica": "pbft/replica/prophecy-replica"}
PAGES = {
    "man/prophecy-sketcher.8": ("sketcher",),
    "man/prophecy-replica.8": ("replica",),
    "docs/metrics.md": ("sketcher", "replica"),
}


def described(build, name):
    text = subprocess.run([build / PROGRAMS[name], "--describe-metrics"], check=True, capture_output=True,
                          text=True).stdout
    return tomllib.loads(text)["metric"]


def helped(metric):
    return " ".join(filter(None, (metric["help"], metric.get("more"))))


def values(metric):
    """The values of a metric's own label that there is something to say of."""
    return [value for value in metric.get("value", []) if "meaning" in value or "status" in value]


def names(metric):
    """The values of an enum, in one line."""
    return [value["name"] for value in metric.get("value", []) if "meaning" not in value and "status" not in value]


# ---- The manual ----------------------------------------------------------------

def roff_item(metric):
    labels = f"Va {metric['labels'].replace(',', ' ,')}" if "labels" in metric else ""
    gauge = "gauge" if metric["type"] == "gauge" else ""
    about = " ; No ".join(filter(None, (labels, gauge)))
    yield f".It Va {metric['name']}" + (f" Pq {about}" if about else "")
    yield from roff_lines(helped(metric))
    if names(metric):
        yield from roff_lines(f"One of {', '.join(f'`{name}`' for name in names(metric))}.")
    if values(metric):
        yield ".Bl -tag -width Ds -compact"
        for value in values(metric):
            yield f".It Cm {roff(value['name'])}"
            yield from roff_lines(value.get("meaning", ""))
        yield ".El"


def manual(metrics):
    lines = [line for metric in metrics for line in roff_item(metric)]
    return "\n".join([".Bl -tag -width Ds", *lines, ".El"]) + "\n"


# ---- docs/metrics.md -----------------------------------------------------------

def facts(metric):
    """ "counter, requests; labels `route`, `path`" """
    labels = [f"`{label}`" for label in metric.get("labels", "").split(", ") if label]
    text = f"{metric['type']}, {metric['unit']}"
    if labels:
        text += f"; by {', '.join(labels)}"
    if "status" in metric:
        text += f"; status: `{metric['status']}`"
    return text


def markdown_item(metric):
    text = f"- **`{metric['name']}`** ({facts(metric)}): {helped(metric)}"
    if names(metric):
        text += f" One of {', '.join(f'`{name}`' for name in names(metric))}."
    yield from wrapped(text, indent="  ")
    for value in values(metric):
        status = f" (status: `{value['status']}`)" if "status" in value else ""
        meaning = f": {value['meaning']}" if "meaning" in value else ""
        yield from wrapped(f"  - `{value['name']}`{status}{meaning}", indent="    ")


def markdown(metrics):
    return "\n" + "\n".join(line for metric in metrics for line in markdown_item(metric)) + "\n\n"


def layout(page, build, name):
    lay_out = markdown if page.endswith(".md") else manual
    return lay_out(described(build, name))


if __name__ == "__main__":
    sys.exit(run(__doc__, "metrics", PAGES, layout))
