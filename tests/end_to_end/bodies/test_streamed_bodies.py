"""Requests' bodies beyond memory: they lie in a file of the sketcher's, and memory stays bounded."""

import hashlib
import os
import subprocess
import time

import pytest

from harness import Deployment
from harness.build import instrumented, patience, sanitizer
from harness.http_client import RawConnection, curl
from harness.processes import HarnessError, wait_until

MIB = 1 << 20
# With ThreadSanitizer, agents need more than their time-outs for 256 MiB.
SIZE = int(os.environ.get("PROPHECY_BODY_MIB", "32" if sanitizer() == "thread" else "256")) * MIB
MEMORY_MAX = 64 * MIB
ORDERING_MEMORY_MAX = 128 * MIB
VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None,
        "key_file": None}
ROUTES = [{"name": "off", "path_prefix": "/off/", "mode": "off"}, {"name": "rest"}]


def changes(folder, limit=2 * SIZE, **spool):
    return {"group": VOTE, "route": ROUTES, "limits": {"body": f"{limit}B"},
            "timeouts": {"answer": f"{20 * patience()}s"},
            "spool": {"folder": str(folder), **spool}}


@pytest.fixture(name="spool", scope="module")
def _spool(tmp_path_factory):
    return tmp_path_factory.mktemp("spool")


@pytest.fixture(name="deployment", scope="module")
def _deployment(spool):
    content = {"/index.html": "", "/off/index.html": "", "/on/index.html": ""}
    with Deployment(agents=False, content=content, sketcher_changes=changes(spool)) as deployment:
        yield deployment


@pytest.fixture(name="large", scope="module")
def _large(tmp_path_factory):
    """A file of SIZE bytes and a few, and its digest."""
    path = tmp_path_factory.mktemp("large") / "body"
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for _ in range(SIZE // MIB):
            piece = os.urandom(MIB)
            file.write(piece)
            digest.update(piece)
        file.write(b"a few")
        digest.update(b"a few")
    yield path, digest.hexdigest()
    path.unlink()


def peak_bytes(process_id):
    with open(f"/proc/{process_id}/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def digest_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def put(url, file, *options):
    result = subprocess.run(["curl", "--silent", "--show-error", "--noproxy", "*",
                             "--max-time", str(120 * patience()), "--upload-file", file,
                             "--write-out", "%{http_code}", *options, url],
                            stdin=subprocess.DEVNULL, capture_output=True, check=False)
    assert result.returncode == 0, result.stderr
    return int(result.stdout[-3:])


@pytest.fixture(name="group", scope="module")
def _group(spool):
    """Four agents, which have to do with as little memory."""
    with Deployment(agent_changes={"service": {"answer_timeout": f"{20 * patience()}s"}},
                    sketcher_changes={"limits": {"body": f"{2 * SIZE}B"},
                                      "spool": {"folder": str(spool)},
                                      "group": {"deadline": f"{60 * patience()}s"}}) as deployment:
        yield deployment


def assert_nothing_is_held(deployment):
    wait_until(lambda: deployment.sketcher.status()["spool"]["bytes"] == 0, 10,
               "the end of the last file")


@pytest.mark.time_limit(240)
@pytest.mark.parametrize("name, options", {
    "/on/plain": ["--http1.1"],
    "/on/chunked": ["--http1.1", "-H", "Transfer-Encoding: chunked"],
    "/off/plain": ["--http1.1", "-H", "Expect:"],
    "/on/http2": ["--http2-prior-knowledge"]}.items())
def test_a_large_put_is_the_same_at_all_origins(deployment, spool, large, name, options):
    file, digest = large
    assert put(deployment.url + name, file, *options) == 201
    paths = [origin.htdocs / name[1:] for origin in deployment.origins]
    assert [digest_of(path) for path in paths] == [digest] * 4
    for path in paths:
        path.unlink()
    assert_nothing_is_held(deployment)
    assert list(spool.iterdir()) == []
    assert deployment.sketcher.status()["spool"]["bodies"] > 0
    if not instrumented():
        assert peak_bytes(deployment.sketcher.workers()[0]) < MEMORY_MAX


def view_of(agent):
    deadline = time.monotonic() + 60
    while True:
        try:
            return agent.status()["view"]
        except HarnessError:
            if time.monotonic() > deadline:
                raise


@pytest.mark.time_limit(300)
@pytest.mark.parametrize("name, options", {
    "/plain": ["--http1.1"],
    "/http2": ["--http2-prior-knowledge"]}.items())
def test_a_large_put_is_ordered(group, large, name, options):
    file, digest = large
    assert put(group.url + name, file, *options) == 201
    paths = [origin.htdocs / name[1:] for origin in group.origins]
    wait_until(lambda: all(path.is_file() and path.stat().st_size == SIZE + 5 for path in paths),
               60, "the body at all origins")
    assert [digest_of(path) for path in paths] == [digest] * 4
    for path in paths:
        path.unlink()
    assert_nothing_is_held(group)
    if instrumented():
        return
    assert peak_bytes(group.sketcher.workers()[0]) < ORDERING_MEMORY_MAX
    for agent in group.agents:
        assert peak_bytes(agent.child.pid) < ORDERING_MEMORY_MAX
    # The primary was not replaced for the time that it took. (An agent that waits for its disk is
    # silent. Where a promise of all others waits for the disk for half a second, one alone may ask
    # for a view, which changes nothing.)
    assert sum(view_of(agent) == 0 for agent in group.agents) >= 3


def test_sizes_about_the_threshold(deployment):
    piece = 128 * 1024
    for size in (2 * piece - 1, 2 * piece, 2 * piece + 1, 3 * piece - 1, 3 * piece, 3 * piece + 1):
        body = os.urandom(size)
        file = deployment.folder / "body"
        file.write_bytes(body)
        for name, options in (("/on/one", ["--http1.1"]), ("/on/two", ["--http2-prior-knowledge"]),
                              ("/on/three", ["--http1.1", "-H", "Transfer-Encoding: chunked"])):
            assert put(deployment.url + name, file, *options) in (201, 204)
            assert [origin.read(name) for origin in deployment.origins] == [body] * 4


def test_a_client_that_leaves_in_the_middle_holds_nothing(deployment):
    with RawConnection(deployment.sketcher.port) as connection:
        connection.send(b"PUT /on/left HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                        % (8 * MIB))
        connection.send(bytes(2 * MIB))
        wait_until(lambda: deployment.sketcher.status()["spool"]["bytes"] >= MIB, 10, "a file")
    assert_nothing_is_held(deployment)
    assert all(origin.read("/on/left") is None for origin in deployment.origins)


def test_a_read_with_a_large_body_is_refused(deployment):
    file = deployment.folder / "body"
    file.write_bytes(bytes(MIB))
    answer = curl(deployment.url + "/", "-X", "GET", "--data-binary", f"@{file}")
    assert (answer.status, answer.field("prophecy-reason")) == (400, "a read with a body")
    assert_nothing_is_held(deployment)


def refused(deployment, count):
    status = deployment.sketcher.status()
    return status["spool"]["refused"] >= count and status["spool"]["bytes"] == 0


@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
def test_the_files_of_all_together_are_bounded(tmp_path, version):
    """What finds no room is refused with a reason, and what has room goes on."""
    limit = 4 * MIB
    with Deployment(agents=False, sketcher_changes=changes(tmp_path, limit, size=f"{limit}B")
                    ) as deployment:
        file = deployment.folder / "body"
        file.write_bytes(bytes(3 * MIB))
        with RawConnection(deployment.sketcher.port) as connection:
            connection.send(b"PUT /half HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
                            % (2 * MIB))
            connection.send(bytes(2 * MIB - 1))
            wait_until(lambda: deployment.sketcher.status()["spool"]["bytes"] > MIB, 10, "a file")
            if version == "--http1.1":
                answer = curl(deployment.url + "/none", version, "-T", file, "-H", "Expect:")
                assert (answer.status, answer.field("prophecy-reason")) == (503, "spool-full")
            else:  # curl 7.88 makes an error of an answer that comes before it has sent all
                with pytest.raises(HarnessError, match="status 92"):
                    curl(deployment.url + "/none", version, "-T", file)
            connection.send(b"x")
            assert connection.answer().status == 201
        wait_until(lambda: refused(deployment, 1), 10, "the end of the last file")
        assert deployment.sketcher.status()["refusals"]["spool-full"] == 1
        assert curl(deployment.url + "/now", version, "-T", file, "-H", "Expect:").status == 201


@pytest.mark.time_limit(120)
@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
def test_who_drips_gives_way_when_room_is_short(tmp_path, version):
    """Over seven eighths of the room, held by three who send a little now and then: one has to go,
    and an honest body finds room. With enough room, they may go on."""
    limit = 8 * MIB
    spool = {"size": f"{limit}B", "rate_min": "1MiB"}
    with Deployment(agents=False, sketcher_changes=changes(tmp_path, limit, **spool)) as deployment:
        def state():
            return deployment.sketcher.status()["spool"]

        file = deployment.folder / "body"
        file.write_bytes(bytes(3 * MIB))
        slow = []
        try:
            for size in (2, 1, 2):
                slow.append(RawConnection(deployment.sketcher.port))
                slow[-1].send(b"PUT /slow HTTP/1.1\r\nHost: localhost\r\n"
                              b"Content-Length: %d\r\n\r\n" % limit + bytes(size * MIB))
            time.sleep(7)
            for connection in slow:
                connection.send(bytes(8192))
            assert state()["too_slow"] == 0
            with RawConnection(deployment.sketcher.port) as last:
                last.send(b"PUT /last HTTP/1.1\r\nHost: localhost\r\n"
                          b"Content-Length: %d\r\n\r\n" % (3 * MIB) + bytes(3 * MIB - 10))
                assert slow[1].answer().field("prophecy-reason") == "body-too-slow"
                last.send(bytes(10))
                assert last.answer().status == 201
            assert state()["too_slow"] == 1
            assert deployment.sketcher.status()["refusals"]["body-too-slow"] == 1
            assert curl(deployment.url + "/honest", version, "-T", file,
                        "-H", "Expect:").status == 201
        finally:
            for connection in slow:
                connection.close()
        assert_nothing_is_held(deployment)


@pytest.mark.parametrize("large", [False, True])
def test_a_body_has_an_end_to_its_time(tmp_path, large):
    """However regularly its bytes come."""
    options = changes(tmp_path)
    options["timeouts"]["body_total"] = "2s"
    with Deployment(agents=False, sketcher_changes=options) as deployment:
        with RawConnection(deployment.sketcher.port) as connection:
            connection.send(b"PUT /slow HTTP/1.1\r\nHost: localhost\r\n"
                            b"Content-Length: %d\r\n\r\n" % MIB + bytes(MIB // 2 if large else 1))
            began = time.monotonic()
            while not connection.readable(0.2):
                connection.send(bytes(5000))
            answer = connection.answer()
            assert (answer.status, answer.field("prophecy-reason")) == (408, "body-takes-too-long")
            assert 1.5 < time.monotonic() - began < 8 * patience()
        assert_nothing_is_held(deployment)
        status = deployment.sketcher.status()
        assert status["spool"]["too_slow"] == status["requests"]["client_timeouts"] == 1
        assert status["refusals"] == {"body-takes-too-long": 1}


def test_a_folder_that_takes_no_file_is_told_at_the_start(tmp_path):
    with Deployment(agents=False, start=False,
                    sketcher_changes=changes(tmp_path / "none")) as deployment:
        with pytest.raises(HarnessError, match="spool.folder"):
            deployment.sketcher.start()
        deployment.sketcher.child = None
