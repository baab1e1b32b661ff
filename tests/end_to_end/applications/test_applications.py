"""Real applications as origins (docs/applications.md): deterministic, and repaired under load."""

import re
import shutil
import subprocess
import time

import pytest

from harness.applications import APPLICATIONS, EXAMPLES, ApplicationCluster
from harness.board_clients import Connection, form, upload_of
from harness.build import ROOT
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation

KINDS = sorted(APPLICATIONS)
TOKEN = "t" * 64  # of Django's forms, before they were changed
UNCOVERED = ("date", "connection", "keep-alive")


def original(kind, folder):
    """The application as it was before it was made deterministic."""
    board = folder / "original"
    shutil.copytree(EXAMPLES / kind, board, ignore=shutil.ignore_patterns("__pycache__", "agreed.*"))
    difference = (EXAMPLES / f"{kind}.diff").read_text()
    subprocess.run(["patch", "--quiet", "--reverse", "--strip=1", "--directory", board], input=difference,
                   text=True, check=True)
    return board


@pytest.fixture(name="folder")
def _folder():
    folder = make_folder()
    yield folder
    remove_folder(folder)


@pytest.fixture(name="ports")
def _ports():
    ports = PortReservation(2)
    yield ports.ports
    ports.close()


def use(origin, pause_s):
    """A user's requests, with what an agent adds to them; yields the answers."""
    connection = Connection(origin.port)
    cookie = f"csrftoken={TOKEN}"
    answers = []

    def ask(method, path, content=b"", fields=None):
        number = len(answers)
        agreed = {"Prophecy-Time": f"2026-01-01T00:00:{number:02}.123456789Z",
                  "Prophecy-Seed": f"{number:064x}"} if method == "POST" else {}
        status, got, body = connection.ask(method, path, content,
                                           {**(fields or {}), **agreed, "Cookie": cookie, "X-CSRFToken": TOKEN})
        answers.append((status, [field for field in got.items() if field[0].lower() not in UNCOVERED], body))
        return got

    cookie += "; " + ask("POST", "/login", *form(name="Ann"))["Set-Cookie"].split(";")[0]
    note = ask("POST", "/notes", *form(text="one"))["Location"]
    time.sleep(pause_s)
    other = ask("POST", "/notes", *form(text="two"))["Location"]
    ask("POST", f"{note}/edit", *form(text="edited"))
    files = [ask("POST", "/uploads", *upload_of(origin.kind, "file", b"content"))["Location"] for _ in range(2)]
    ask("POST", f"{other}/delete")
    ask("POST", f"{files[0]}/delete")
    for path in ("/", note, other, *files):
        ask("GET", path)
    cookie = "PHPSESSID=0123456789abcdef0123456789abcdef; session=0; sessionid=0"
    ask("GET", "/")
    connection.close()
    return answers


def compared(kind, folder, ports, board=None):
    """The answers and the states of two origins that serve the same requests, seconds apart."""
    cluster = ApplicationCluster(folder, ports, kind, board)
    try:
        cluster.start()
        answers = [use(origin, pause_s) for origin, pause_s in zip(cluster, (0, 1.1))]
        states = [origin.state() for origin in cluster]
    finally:
        cluster.close()
    return answers, states


@pytest.mark.parametrize("kind", KINDS)
def test_equal_requests_make_equal_answers_and_states(kind, folder, ports):
    answers, states = compared(kind, folder, ports)
    assert [status for status, _, _ in answers[0]] == [303] * 8 + [200, 200, 404, 404, 200, 200]
    assert answers[0] == answers[1]
    assert states[0] == states[1]


@pytest.mark.parametrize("kind", KINDS)
def test_as_it_was_written_each_origin_has_a_state_of_its_own(kind, folder, ports):
    board = original(kind, folder)
    assert "agreed" not in "".join(path.read_text() for path in board.rglob("*") if path.is_file())
    answers, states = compared(kind, folder, ports, board)
    assert [status for status, _, _ in answers[0]] == [status for status, _, _ in answers[1]]
    assert answers[0][0][0] == 303
    assert answers[0] != answers[1]
    assert states[0] != states[1]


def test_the_page_shows_the_true_differences():
    page = (ROOT / "docs" / "applications.md").read_text()
    shown = re.findall(r"^```diff\n(.*?)^```$", page, re.S | re.M)
    assert sorted(shown) == sorted((EXAMPLES / f"{kind}.diff").read_text() for kind in KINDS)
