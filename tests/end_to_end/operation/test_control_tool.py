"""prophecyctl in front of a program that answers what it likes: one clear line for what is wrong."""

import json
import socket
import threading
from contextlib import contextmanager

import pytest

from harness.programs import run_program

SKETCHER = {"version": "1", "bypass": False, "requests": {}, "history": {}, "workers": [],
            "routes": [], "origins": []}
REPLICA = {"replica": 0, "version": "1", "state": "normal", "peers": [], "progress": {}}
EVENT = {"id": 0, "time": "now", "group": "web", "replica": 2, "origin": "127.0.0.1:1", "kind": "fast_read",
         "request": {"method": "GET", "authority": "a", "target": "/"},
         "differs": [{"part": "status"}, {"part": "header", "name": "etag"},
                     {"part": "body", "offset": 7}]}

FIELD = {"group": "web", "message": "answer", "name": "server", "action": "replaced", "count": 3}

STATS = {"table": {"capacity": 8, "entries": 2, "load": 0.25, "evictions": 0, "bytes": 320},
         "activity": {"records": 1, "capacity": 16, "blacklisted_automatically": 0},
         "routes": [{"name": "default", "hit_ratio": 0.5, "transition_ratio": 0}]}
TOP = {"url": "a/", "method": "GET", "route": "default", "hits": 1, "group_reads": 1, "transitions": 1,
       "transition_share": 0.5, "blacklisted_by": 0}
FOUND = {"refused": None, "route": "default", "group": "web", "mode": "enforce", "key": "00",
         "entry": {"mark": "none", "answer": None}, "activity": None}
GET = "history get http://a/"


def with_event(**changes):
    return {"next": 1, "events": [EVENT, {**EVENT, **changes}]}


@contextmanager
def answering(path, answer):
    """A program at this socket that gives one answer."""
    def serve(listener):
        connection, _ = listener.accept()
        with connection:
            while b"\n" not in connection.recv(4096):
                pass
            connection.sendall(answer.encode() + b"\n")

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield
        thread.join()


def ask(tmp_path, command, answer, *options):
    path = tmp_path / "program.sock"
    with answering(path, answer):
        return run_program("prophecyctl", *command.split(), "--admin", path, *options)


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "json"])
@pytest.mark.parametrize("command, answer", [
    ("status", SKETCHER),
    ("status", REPLICA),
    ("status", {**SKETCHER, "of a later version": [1, {"a": None}, [2]], "another": [{}, {"b": 1}]}),
    ("divergences", {"next": 0, "events": []}),
    ("divergences", with_event()),
    ("fields", {"fields": []}),
    ("fields", {"fields": [FIELD, FIELD]}),
    ("history stats", STATS),
    ("history top", {"requests": []}),
    ("history top", {"requests": [TOP, TOP]}),
    (GET, FOUND),
    (GET, {**FOUND, "entry": None, "activity": {"hits": 1}}),
    (GET, {"refused": {"status": 404, "reason": "no-route"}}),
], ids=["sketcher", "replica", "more", "no-events", "events", "no-fields", "fields", "stats", "no-top",
        "top", "request", "no-entry", "refused"])
def test_what_is_needed_is_enough(tmp_path, command, answer, options):
    result = ask(tmp_path, command, json.dumps(answer), *options)
    assert (result.returncode, result.stderr) == (0, "")


def test_an_event_for_people(tmp_path):
    result = ask(tmp_path, "divergences", json.dumps({"next": 1, "events": [EVENT]}))
    assert result.stdout == ("0 now  replica web/2 (127.0.0.1:1)  fast_read  GET a/  "
                             "differs: status, header etag, body from byte 7\n")


@pytest.mark.parametrize("options", [(), ("--json",)], ids=["people", "json"])
@pytest.mark.parametrize("command, answer, expected", [
    ("status", "nonsense", "no JSON object"),
    ("status", "[]", "no JSON object"),
    ("status", "{}", "version: missing; expected a text"),
    ("status", {"error": "not today"}, "not today"),
    ("status", {**SKETCHER, "routes": 7}, "routes: expected a list of objects"),
    ("status", {**SKETCHER, "requests": []}, "requests: expected an object"),
    ("status", {**SKETCHER, "workers": [{}, 1]}, "workers: expected a list of objects"),
    ("status", {**REPLICA, "replica": "0"}, "replica: expected a number"),
    ("status", {**REPLICA, "peers": None}, "peers: expected a list of objects"),
    ("fields", "{}", "fields: missing; expected a list of objects"),
    ("fields", {"fields": [FIELD, {**FIELD, "count": "3"}]}, "count: expected a number"),
    ("divergences", "{}", "next: missing; expected a number"),
    ("divergences", {"next": -1, "events": []}, "next: expected a number"),
    ("divergences", {"next": 1, "events": {}}, "events: expected a list of objects"),
    ("divergences", with_event(id="1"), "events[1].id: expected a number"),
    ("divergences", with_event(request={"method": "GET", "authority": "a"}),
     "events[1].request.target: missing; expected a text"),
    ("divergences", with_event(differs=[{"part": "body", "offset": "7"}]),
     "events[1].differs[0].offset: expected a number"),
    ("divergences", with_event(differs=[{"part": "header"}]),
     "events[1].differs[0].name: missing; expected a text"),
    ("history stats", {**STATS, "table": {}}, "table.capacity: missing; expected a number"),
    ("history stats", {**STATS, "routes": [{"name": "a", "hit_ratio": "1"}]},
     "routes.hit_ratio: expected a fraction"),
    ("history top", {"requests": [{**TOP, "url": None}]}, "requests.url: expected a text"),
    (GET, "{}", "refused: missing; expected an object"),
    (GET, {"refused": 7}, "refused: expected an object"),
    (GET, {"refused": {"status": 404}}, "refused.reason: missing; expected a text"),
    (GET, {**FOUND, "entry": []}, "entry: expected an object"),
    (GET, {**FOUND, "key": 1}, "key: expected a text"),
])
def test_what_is_no_answer(tmp_path, command, answer, expected, options):
    text = answer if isinstance(answer, str) else json.dumps(answer)
    result = ask(tmp_path, command, text, *options)
    assert (result.returncode, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert line.startswith(f"prophecyctl: {tmp_path / 'program.sock'}: ")
    assert line.endswith(expected)
