"""A kept-alive connection over HTTP/1.1 that waits for longer than a second has no session: its client sees nothing of
that, and it is closed when its time is over, counted from its last answer."""

import contextlib
import ssl
import time

import pytest

from harness import Deployment
from harness.build import patience
from harness.certificates import Authority
from harness.http_client import RawConnection
from harness.ports import PortReservation

PAGE = b"page\n"
IDLE_S, HEADER_S = 4.0, 1.0
RESTS_AFTER_S = 1.5  # a second, and a tick
VOTE = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None, "key_file": None}


@pytest.fixture(scope="module", name="deployment")
def _deployment(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("certificates"))
    with contextlib.closing(PortReservation(1)) as ports, \
            Deployment(agents=False, start=False, content={"/index.html": PAGE},
                       sketcher_changes={"group": VOTE, "timeouts": {"idle": f"{IDLE_S:.0f}s",
                                                                     "header": f"{HEADER_S:.0f}s"}}) as deployment:
        [tls_port] = ports.ports
        deployment.sketcher.settings["listener"].append({
            "address": f"127.0.0.1:{tls_port}",
            "tls": {"certificates": [authority.issue("localhost", ["localhost"])]}})
        deployment.sketcher.write_configuration()
        deployment.start()
        deployment.connect = {
            "plain": lambda: RawConnection(deployment.sketcher.port),
            "tls": lambda: RawConnection(tls_port, context=ssl.create_default_context(cafile=authority.certificate))}
        yield deployment


@pytest.mark.parametrize("through", ["plain", "tls"])
def test_a_connection_that_has_waited_is_served_as_before(deployment, through):
    with deployment.connect[through]() as connection:
        for _ in range(3):
            assert connection.get("/").body == PAGE
            time.sleep(RESTS_AFTER_S)
        # The request comes in two parts, and another one behind it.
        connection.send(b"GET / HTTP/1.1\r\nHo")
        time.sleep(0.1)
        connection.send(b"st: localhost\r\n\r\nGET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert connection.rest().count(PAGE) == 2


@pytest.mark.parametrize("through", ["plain", "tls"])
def test_its_time_is_counted_from_its_last_answer(deployment, through):
    with deployment.connect[through]() as connection:
        assert connection.get("/").body == PAGE
        begun = time.monotonic()
        assert connection.ended()
        assert IDLE_S - 0.3 < time.monotonic() - begun < IDLE_S + 5 * patience()


def test_half_a_request_has_the_time_of_a_request(deployment):
    before = deployment.sketcher.counters()["client_timeouts"]
    with deployment.connect["plain"]() as connection:
        assert connection.get("/").body == PAGE
        time.sleep(RESTS_AFTER_S)
        connection.send(b"GET / HTTP/1.1\r\n")
        assert connection.rest().startswith(b"HTTP/1.1 408 ")
    assert deployment.sketcher.counters()["client_timeouts"] == before + 1


def test_one_that_waits_ends_with_its_sketcher(deployment):
    """Last: the sketcher is gone then."""
    with deployment.connect["plain"]() as connection:
        assert connection.get("/").body == PAGE
        time.sleep(RESTS_AFTER_S)
        begun = time.monotonic()
        deployment.sketcher.stop()
        assert connection.ended()
        assert time.monotonic() - begun < IDLE_S
