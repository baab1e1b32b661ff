"""What downloads of a large file take of a worker's memory: several at once, each of less than 8 MiB. With
PROPHECY_DOWNLOAD_MIB=1024 of a GiB each; by default smaller, since the group has to read it four times to
agree on its blocks."""

import os
import subprocess
from pathlib import Path

import pytest

from harness import Deployment
from harness.apache import CONTENT_TIME
from harness.build import instrumented, patience
from harness.processes import read_memory, wait_until

MIB = 1 << 20
SIZE = int(os.environ.get("PROPHECY_DOWNLOAD_MIB", "64")) * MIB
# Agreement and downloads at some 20 MiB a second in all, on a busy machine.
TIME_S = 60 + 12 * SIZE // (20 * MIB)
CLIENTS = 8
BYTES_OF_EACH_MAX = 8 * MIB
CHANGES = {"group": {"kind": "vote", "file": None, "client_id": None, "key_file": None},
           "timeouts": {"total": "20m", "answer": "60s"}}


@pytest.fixture(name="deployment")
def _deployment():
    with Deployment(agents=False, sketcher_changes=CHANGES) as deployment:
        for origin in deployment.origins:
            file = origin.htdocs / "static" / "large"
            file.parent.mkdir()
            with open(file, "wb") as sparse:
                sparse.truncate(SIZE)
            file.chmod(0o644)
            os.utime(file, (CONTENT_TIME, CONTENT_TIME))
        yield deployment


def download(url, version):
    return subprocess.Popen(["curl", "--silent", "--show-error", "--noproxy", "*", version,
                             "--max-time", str(TIME_S * patience()), "--output", "/dev/null",
                             "--write-out", "%{http_code} %{http_version} %{size_download}", url],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


@pytest.mark.time_limit(60 + 3 * TIME_S)
@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
@pytest.mark.parametrize("version, number", [("--http1.1", "1.1"),
                                             ("--http2-prior-knowledge", "2")])
def test_eight_downloads_at_once(deployment, version, number, record_property):
    url = deployment.url + "/static/large"
    [worker] = deployment.sketcher.workers()
    expected = f"200 {number} {SIZE}".encode()
    # The first takes the group's agreement, which is not what this is about.
    assert download(url, version).communicate()[0] == expected
    Path(f"/proc/{worker}/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = read_memory(worker, "VmHWM")
    downloads = [download(url, version) for _ in range(CLIENTS)]
    assert [each.communicate()[0] for each in downloads] == [expected] * CLIENTS
    growth = read_memory(worker, "VmHWM") - before
    record_property("growth_bytes_each", growth // CLIENTS)
    assert growth < CLIENTS * BYTES_OF_EACH_MAX, f"{growth} bytes on top of {before}"
    # A client has the last byte before that is counted.
    wait_until(lambda: deployment.sketcher.status()["large"]["completed"] == 1 + CLIENTS, 10,
               "all downloads to be counted")
    assert deployment.sketcher.status()["large"]["broken"] == 0
