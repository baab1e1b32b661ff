"""Snapshots of the folders of real Apaches: equal requests make equal ones, restored ones serve."""

import os
import time

import pytest

from harness.apache import ApacheCluster
from harness.folders import make_folder, remove_folder
from harness.http_client import curl
from harness.ports import PortReservation
from harness.programs import run_program

CONTENT = {"/index.html": "the page\n", "/static/a.txt": "a" * 300_000, "/static/deep/b.txt": "b"}

COLOUR = ('<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:" xmlns:X="urn:x"><D:set><D:prop>'
          '<X:colour>blue</X:colour></D:prop></D:set></D:propertyupdate>')


@pytest.fixture(name="origins")
def _origins():
    folder = make_folder()
    ports = PortReservation(2)
    cluster = ApacheCluster(folder, ports.ports, CONTENT)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        ports.close()
        remove_folder(folder)


def root_of(origin):
    result = run_program("folder_state", "root", origin.htdocs)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def copy(origin, other):
    """Takes over the state; yields how many files had to be written."""
    result = run_program("folder_state", "copy", origin.htdocs, other.htdocs)
    assert result.returncode == 0, result.stderr
    return int(result.stdout)


def send(origin, method, path, *options):
    return curl(f"http://127.0.0.1:{origin.port}{path}", "-X", method, *options).status


def header(origin, name, value):
    """Options for a field that holds an address at this origin."""
    return "-H", f"{name}: http://127.0.0.1:{origin.port}{value}"


def write_a_lot(origin):
    """Requests of all kinds that change a folder; yields how they were answered."""
    yield send(origin, "PUT", "/new.txt", "--data-binary", "new")
    yield send(origin, "MKCOL", "/folder/")
    yield send(origin, "MKCOL", "/folder/inside/")
    for number in range(20):
        yield send(origin, "PUT", f"/folder/{number}.txt", "--data-binary", f"file {number}")
    yield send(origin, "PUT", "/folder/3.txt", "--data-binary", "another")
    yield send(origin, "PUT", "/folder/large", "--data-binary", "x" * 100_000)
    yield send(origin, "DELETE", "/folder/7.txt")
    yield send(origin, "COPY", "/folder/4.txt", *header(origin, "Destination", "/copied.txt"))
    yield send(origin, "MOVE", "/folder/5.txt", *header(origin, "Destination", "/moved.txt"))
    yield send(origin, "DELETE", "/index.html")


def test_equal_requests_make_equal_snapshots(origins):
    here, there = origins
    assert root_of(here) == root_of(there)
    before = root_of(here)
    answers = list(write_a_lot(here))
    assert {status // 100 for status in answers} == {2}
    assert root_of(here) != before
    time.sleep(1.1)  # the other one writes at other times: seconds later
    assert list(write_a_lot(there)) == answers
    assert root_of(here) == root_of(there)
    assert send(there, "PUT", "/folder/3.txt", "--data-binary", "Another") == 204
    assert root_of(here) != root_of(there)


def test_a_wiped_origin_serves_the_restored_state(origins):
    here, there = origins
    list(write_a_lot(here))
    for name in os.listdir(there.htdocs):
        os.rename(there.htdocs / name, there.folder / f"wiped-{name}")
    assert send(there, "GET", "/static/a.txt") == 404
    assert copy(here, there) > 20
    assert root_of(here) == root_of(there)
    assert copy(here, there) == 0
    for path in ("/static/a.txt", "/static/deep/b.txt", "/folder/3.txt", "/copied.txt", "/index.html"):
        answers = [curl(f"http://127.0.0.1:{origin.port}{path}") for origin in (here, there)]
        assert answers[0].status == answers[1].status
        # The error page names the port.
        assert answers[0].body == answers[1].body or answers[0].status == 404
        # Times below static/ are part of the state.
        assert answers[0].field("last-modified") == answers[1].field("last-modified")
    # Apache may write where the restore has written.
    answers = [[send(origin, "PUT", "/folder/inside/after.txt", "--data-binary", "x"),
                send(origin, "PUT", "/folder/3.txt", "--data-binary", "x"),
                send(origin, "DELETE", "/copied.txt"),
                send(origin, "DELETE", "/folder/")] for origin in (here, there)]
    assert answers[0] == answers[1] == [201, 204, 204, 204]
    assert root_of(here) == root_of(there)


def test_properties_are_to_be_left_out(origins):
    """mod_dav keeps them in databases, in folders called .DAV, that name their own inodes."""
    before = root_of(origins[0])
    for origin in origins:
        assert send(origin, "PROPPATCH", "/static/a.txt", "-H", "Content-Type: text/xml",
                    "--data-binary", COLOUR) == 207
        assert (origin.htdocs / "static/.DAV").is_dir()
        assert root_of(origin) == before
    copy(*origins)
    assert (origins[1].htdocs / "static/.DAV/a.txt").is_file()
