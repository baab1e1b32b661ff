"""What the processes may do, and what a crash leaves: no core file with keys, no root."""

import os
import resource
import signal
import ssl
from contextlib import closing
from pathlib import Path

import pytest

from harness import Deployment
from harness.certificates import Authority
from harness.http_client import curl
from harness.ports import PortReservation
from harness.processes import children_of, wait_until
from harness.programs import run_program

PAGE = b"<p>The page.</p>\n"
ACCOUNT, UID = "nobody", 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may start workers of another user")


@pytest.fixture(name="core_files_allowed")
def _core_files_allowed():
    """What we start may leave core files as large as the system allows us."""
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (limits[1], limits[1]))
    yield limits[1] != 0
    resource.setrlimit(resource.RLIMIT_CORE, limits)


def status_of(pid):
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return {name: value.split() for name, _, value in (line.partition(":") for line in lines)}


def core_limit(pid):
    """The soft one and the hard one, as text."""
    for line in Path(f"/proc/{pid}/limits").read_text(encoding="ascii").splitlines():
        if line.startswith("Max core file size"):
            return line.split()[4:6]
    raise AssertionError("no limit of core files")


def deployed(**settings):
    return Deployment(content={"/index.html": PAGE}, sketcher_changes={"sketcher": settings},
                      agent_changes={"replica": {"core_dumps": settings.get("core_dumps", False)}})


def test_no_process_leaves_a_core_file(core_files_allowed):
    with deployed(core_dumps=False) as deployment:
        assert curl(deployment.url + "/").body == PAGE
        master = deployment.sketcher.child.pid
        processes = [master, *children_of(master), *[agent.child.pid for agent in deployment.agents]]
        assert {core_limit(pid)[0] for pid in processes} == {"0"}
        (worker,) = deployment.sketcher.workers()
        os.kill(worker, signal.SIGABRT)
        log = wait_until(lambda: [line for line in deployment.sketcher.child.log().splitlines()
                                  if " worker-died " in line], 10, "the worker's end")
        assert "signal=6" in log[0] and "core_dumped=false" in log[0]
        wait_until(lambda: deployment.sketcher.workers() not in ([], [worker]), 10, "another worker")
        assert curl(deployment.url + "/").body == PAGE


def test_developers_may_have_core_files(core_files_allowed):
    with deployed(core_dumps=True) as deployment:
        for pid in (deployment.sketcher.child.pid, deployment.agents[0].child.pid):
            soft, hard = core_limit(pid)
            assert soft == hard
        assert "core-dumps-allowed" in deployment.sketcher.child.log()


@as_root
def test_workers_are_not_root():
    with deployed(user=ACCOUNT, workers=2) as deployment:
        assert curl(deployment.url + "/").body == PAGE
        sketcher = deployment.sketcher
        assert status_of(sketcher.child.pid)["Uid"] == ["0"] * 4
        for pid in sketcher.workers():
            status = status_of(pid)
            assert status["Uid"] == [str(UID)] * 4 and status["Gid"] == [str(UID)] * 4
            assert status["Groups"] == [str(UID)]
            assert status["CapEff"] == status["CapPrm"] == ["0" * 16]
            assert status["NoNewPrivs"] == ["1"]
            # A process that may be dumped or traced owns this folder itself.
            assert Path(f"/proc/{pid}/environ").stat().st_uid == 0
        assert "runs-as-root" not in sketcher.child.log()
        # The end of the master is theirs still.
        workers = sketcher.workers()
        os.kill(sketcher.child.pid, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() and
                                   status_of(pid)["State"][0] != "Z" for pid in workers), 10,
                   "the workers' end")
        sketcher.kill()
        sketcher.start()
        assert curl(deployment.url + "/").body == PAGE


@as_root
def test_workers_that_may_not_read_the_keys_get_new_certificates(tmp_path):
    authority = Authority(tmp_path)
    files = authority.issue("changing", ["www.example.org"])
    with closing(PortReservation(1)) as reserved, \
            Deployment(content={"/index.html": PAGE}, start=False,
                       sketcher_changes={"sketcher": {"user": ACCOUNT, "workers": 2}}) as deployment:
        (port,) = reserved.ports
        sketcher = deployment.sketcher
        sketcher.settings["listener"].append({"address": f"127.0.0.1:{port}",
                                              "tls": {"certificates": [files]}})
        sketcher.write_configuration()
        deployment.start()
        address, workers = ("127.0.0.1", port), sketcher.workers()
        first = ssl.get_server_certificate(address)
        authority.issue("changing", ["www.example.org"])
        sketcher.child.signal(signal.SIGHUP)
        wait_until(lambda: sketcher.child.log().count(" worker-renewed ") == 2, 10, "new workers")
        assert not set(workers) & set(sketcher.workers())
        for _ in range(8):  # of each worker
            assert ssl.get_server_certificate(address) != first
        assert [worker["restarts"] for worker in sketcher.status()["workers"]] == [0, 0]
        assert " worker-died " not in sketcher.child.log()
        assert "certificates-not-reloaded" not in sketcher.child.log()
        assert curl(deployment.url + "/").body == PAGE


@as_root
def test_root_is_warned():
    with deployed() as deployment:
        assert "runs-as-root" in deployment.sketcher.child.log()


@pytest.mark.parametrize("settings, complaint", [
    ({"user": "no-such-user"}, 'there is no user "no-such-user"'),
    ({"user": "root"}, "expected another user than root"),
    ({"user": ACCOUNT, "group": "no-such-group"}, 'there is no group "no-such-group"'),
    ({"group": "nogroup"}, "expected user as well"),
])
def test_mistakes_are_told(settings, complaint):
    with Deployment(start=False, sketcher_changes={"sketcher": settings}) as deployment:
        result = run_program("prophecy-sketcher", "--config", deployment.sketcher.configuration)
        assert result.returncode == 2
        named = [f": sketcher.{key}: " in result.stderr for key in settings]
        assert any(named)
        assert complaint in result.stderr
