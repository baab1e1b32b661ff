"""Draining an origin with a time: what is under way there has so long, and is then cut or asked elsewhere."""

import threading
import time

import pytest

from harness import Deployment
from harness.build import patience
from harness.health import ALWAYS_DRAWN
from harness.http_client import RawConnection, curl
from harness.processes import wait_until
from harness.programs import run_program
from harness.replicas import ctl, ctl_json
from harness.scripted_origin import ScriptedOrigin

PAGE = b"<p>The page.</p>\n"
LARGE = bytes(range(256)) * 4096 * 24  # 24 MiB
VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None,
        "health": {**ALWAYS_DRAWN, "failures_max": 100000}}
ROUTES = [{"name": "site", "hedge": False}, {"name": "off", "path_prefix": "/off", "mode": "off"}]
# A read that waits for an origin does not end by itself.
TIMEOUTS = {"answer": "60s", "total": "60s", "send": "60s"}
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"
UPGRADE = b"GET /tunnel HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"


@pytest.fixture(name="site")
def _site():
    group = {**VOTE, "canonical": {"whole_answer": "1MiB", "answer_block": "256KiB"}}
    with Deployment(agents=False, content={"/index.html": PAGE, "/static/large.bin": LARGE, "/off/large.bin": LARGE},
                    sketcher_changes={"group": group, "route": ROUTES, "timeouts": TIMEOUTS}) as deployment:
        yield deployment


def admin(deployment, *arguments):
    return run_program("prophecyctl", "origin", arguments[0], "--admin", deployment.sketcher.admin, *arguments[1:])


def origin(deployment, replica):
    return ctl_json("origin", "list", "--admin", deployment.sketcher.admin, "--json")[replica]


def prefer(deployment, replica):
    """Nearly all reads go there."""
    ctl("origin", "weight", "--admin", deployment.sketcher.admin, f"default/{replica}", "256")


def wait_for_maint(deployment, replica):
    wait_until(lambda: origin(deployment, replica)["state"] == "maint", 20, "the end of the drain")


def test_a_read_that_hangs_there_goes_to_another_origin(site):
    assert curl(site.url + "/").body == PAGE
    prefer(site, 3)
    site.origins[3].pause()
    try:
        answers = []
        readers = [threading.Thread(target=lambda: answers.append(curl(site.url + "/", timeout_s=60)))
                   for _ in range(4)]
        for reader in readers:
            reader.start()
        time.sleep(1)  # most of them are there
        begun = time.monotonic()
        assert admin(site, "drain", "default/3", "--within", "3", "--reason", "new kernel").returncode == 0
        drained = origin(site, 3)
        assert (drained["state"], drained["reason"]) == ("drain", "new kernel")
        assert 1 <= drained["drain_seconds_left"] <= 3
        wait_until(lambda: origin(site, 3)["under_way"] > 0, 3, "the reads that are left")
        for reader in readers:
            reader.join(40 * patience())
        assert 2.5 < time.monotonic() - begun < 20 * patience()
        assert [answer.body for answer in answers] == [PAGE] * 4
        # Verified, as ever.
        assert all(answer.field("etag") for answer in answers)
        wait_for_maint(site, 3)
        maint = origin(site, 3)
        assert maint["reason"] == "new kernel" and maint["drain_seconds_left"] is None
        wait_until(lambda: origin(site, 3)["under_way"] == 0, 5, "the cut")
        assert "to=maint" in site.sketcher.child.log()
    finally:
        site.origins[3].resume()
    # Back in, it is asked again.
    assert admin(site, "set", "default/3", "ready").returncode == 0
    before = site.sketcher.status()["origins"][3]["fast_answers"]
    for _ in range(10):
        assert curl(site.url + "/").body == PAGE
    assert site.sketcher.status()["origins"][3]["fast_answers"] > before


def read_slowly(deployment, path, while_reading):
    """All that comes of a large answer, whose client stops after its first bytes."""
    with RawConnection(deployment.sketcher.port, timeout_s=60) as connection:
        connection.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        received = connection.receive(1 << 16)
        while_reading()
        while piece := connection.receive(1 << 20):
            received += piece
    return received.partition(b"\r\n\r\n")[2]


def test_a_verified_body_goes_on_elsewhere_and_an_unverified_one_is_cut_off(site):
    assert curl(site.url + "/static/large.bin").body == LARGE
    prefer(site, 3)

    def drain():
        assert admin(site, "drain", "default/3", "--within", "1").returncode == 0
        wait_for_maint(site, 3)
        time.sleep(1.5)

    assert read_slowly(site, "/static/large.bin", drain) == LARGE
    assert admin(site, "set", "default/3", "ready").returncode == 0
    cut = read_slowly(site, "/off/large.bin", drain)
    assert len(cut) < len(LARGE) and LARGE.startswith(cut)


def test_tunnels_end_with_the_drain():
    def answer(_head):
        yield SWITCH

    route = {"mode": "tunnel", "upgrades": ["echo"]}
    with Deployment(agents=False, start=False, sketcher_changes={"group": VOTE, "route": [route]}) as deployment:
        origins = [ScriptedOrigin(each.port, answer) for each in deployment.origins]
        deployment.sketcher.start()
        tunnels = [RawConnection(deployment.sketcher.port) for _ in range(12)]
        try:
            for tunnel in tunnels:
                tunnel.send(UPGRADE)
                assert tunnel.answer().status == 101
            assert admin(deployment, "drain", "default/1", "--within", "2").returncode == 0
            there = wait_until(lambda: origin(deployment, 1)["under_way"], 3, "the tunnels that are left")
            assert 0 < there < 12
            assert not any(tunnel.readable(0) for tunnel in tunnels)
            wait_for_maint(deployment, 1)
            wait_until(lambda: sum(tunnel.readable(0) for tunnel in tunnels) == there, 10, "their ends")
            assert deployment.sketcher.status()["workers"][0]["tunnels"] == 12 - there
        finally:
            for each in [*tunnels, *origins]:
                each.close()


def test_a_drain_is_taken_back_and_bad_ones_are_refused(site):
    for wrong in ("0", "86401", "soon", "-1"):
        assert admin(site, "drain", "default/3", "--within", wrong).returncode != 0
    assert origin(site, 3)["state"] == "ready"
    assert admin(site, "drain", "default/3", "--within", "2").returncode == 0
    assert admin(site, "set", "default/3", "ready").returncode == 0
    time.sleep(3)
    assert origin(site, 3)["state"] == "ready"
    # Without a time it stays in drain.
    assert admin(site, "drain", "default/3").returncode == 0
    assert origin(site, 3)["drain_seconds_left"] is None
    assert admin(site, "drain", "default/2").returncode == 0
    refused = admin(site, "drain", "default/1", "--within", "5")
    assert refused.returncode != 0 and "at least 2 origins" in refused.stderr
