"""What a benchmark yields, and how a person and a program get to read it."""

import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Figure:
    name: str
    value: float | str  # text when it could not be measured
    unit: str
    parameters: dict = field(default_factory=dict)


@dataclass
class Options:
    quick: bool = False  # small runs that show that everything works, and little more
    operations: int = 0  # of a benchmark that runs until so many are done; 0: its own number
    minutes: float = 0  # of a benchmark that runs so long; 0: its own number
    attack: bool = False  # pbft under attack
    liar: bool = False  # lb with an origin that lies
    mixed: bool = False  # lb with pages of all kinds, and origins that close, hang, and delay
    workers: bool = False  # lb with two workers, and with one


def median_figure(name, values, unit, **parameters):
    """The median of some runs, with all of them among the parameters."""
    return Figure(name, statistics.median(values), unit, {**parameters, "runs": values})


def machine():
    cpu = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    memory_kib = int(Path("/proc/meminfo").read_text().split()[1])
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "memory_mib": memory_kib // 1024}


def format_number(value):
    if isinstance(value, str):
        return value
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def table(figures):
    """One line a figure; the runs behind a median stay in the JSON file."""
    rows = []
    for figure in figures:
        parameters = ", ".join(f"{key} {value}" for key, value in figure.parameters.items()
                               if key != "runs")
        rows.append((figure.name, format_number(figure.value), figure.unit, parameters))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    return "\n".join(f"{name:<{widths[0]}}  {value:>{widths[1]}}  {unit:<{widths[2]}}  {parameters}"
                     .rstrip() for name, value, unit, parameters in rows)


def write_json(path, figures):
    document = {"machine": machine(), "figures": [asdict(figure) for figure in figures]}
    Path(path).write_text(json.dumps(document, indent=2) + "\n")
