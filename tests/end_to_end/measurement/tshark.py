"""tshark, as another reader of captures of packets."""

import collections
import json
import shutil
import subprocess

from harness.build import patience

TSHARK = shutil.which("tshark")


def run(path, port, *options):
    command = [TSHARK, "-r", path, "-d", f"tcp.port=={port},http", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=100 * patience(), check=True).stdout


def statuses(path, port):
    """Those of all answers, interim ones too."""
    told = run(path, port, "-Y", "http.response", "-T", "fields", "-e", "http.response.code")
    return [status for line in told.splitlines() for status in line.split(",")]


def members(value, found):
    """Those of all layers below; of several with one name, the first."""
    for name, below in value.items():
        found.setdefault(name, below)
        if isinstance(below, dict):
            members(below, found)
    return found


def answers(path, port):
    """By URL, each answer in its order: status, Location, body with its codings undone. Not of pipelined requests."""
    told = run(path, port, "-Y", "http.response", "-T", "json", "-x", "-J", "http")
    found = collections.defaultdict(list)
    for packet in json.loads(told):
        layers = members(packet["_source"]["layers"], {})
        body = layers.get("http.file_data_raw", [""])[0]
        found[layers["http.response_for.uri"]].append(
            (layers["http.response.code"], layers.get("http.location"), bytes.fromhex(body)))
    return found


def transitions(path, port):
    return {url: sum(one != other for one, other in zip(each, each[1:])) for url, each in answers(path, port).items()}
