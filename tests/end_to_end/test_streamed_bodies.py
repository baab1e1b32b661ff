"""Requests' bodies beyond memory: they lie in a file of the sketcher's, and memory stays bounded."""

import hashlib
import os
import subprocess
import time

import pytest

from harness import Deployment
from harness.build import instrumented, patience
from harness.http_client import RawConnection, curl
from harness.processes import HarnessError, wait_until

MIB = 1 << 20
SIZE = int(os.environ.get("PROPHECY_BODY_MIB", "256")) * MIB
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
    # Nobody was blamed for the time that it took. (An agent that waits for its disk is silent.)
    assert all(view_of(agent) == 0 for agent in group.agents)


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


def test_a_folder_that_takes_no_file_is_told_at_the_start(tmp_path):
    with Deployment(agents=False, start=False,
                    sketcher_changes=changes(tmp_path / "none")) as deployment:
        with pytest.raises(HarnessError, match="spool.folder"):
            deployment.sketcher.start()
        deployment.sketcher.child = None
