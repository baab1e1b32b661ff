"""Autobahn's WebSocket testsuite: a tunnel changes nothing of what a server's clients see."""

from contextlib import ExitStack

import pytest
from autobahn import EchoServer, fuzz, installed

from harness import Deployment
from harness.ports import PortReservation

pytestmark = pytest.mark.skipif(not installed(), reason="needs Python 2.7, which Debian has not")

# Depends on which of two packets is read first.
SAME = {"NON-STRICT": "OK"}


def differences(one, other):
    return {case: (one[case], other.get(case)) for case in one
            if [SAME.get(part, part) for part in one[case]]
            != [SAME.get(part, part) for part in other.get(case, ())]}


@pytest.mark.time_limit(900)
def test_the_runner_finds_a_correct_server_correct(tmp_path, tell):
    ports = PortReservation(1)
    with EchoServer(tmp_path, ports.ports[0]) as server:
        results = fuzz(tmp_path / "straight", server.port)
    ports.close()
    good = sum(set(result) <= {"OK", "NON-STRICT", "INFORMATIONAL"} for result in results.values())
    tell(f"{good} of {len(results)}")
    assert good == len(results) > 250


@pytest.mark.time_limit(900)
def test_a_tunnel_gives_the_same_results_as_straight(tmp_path, tell):
    with Deployment(agents=False, start=False, sketcher_changes={
            "group": {"kind": "vote", "file": None, "client_id": None, "key_file": None},
            "route": {"mode": "tunnel"}}) as deployment, \
            ExitStack() as servers:
        ports = PortReservation(1)
        with EchoServer(tmp_path, ports.ports[0]) as server:
            straight = fuzz(tmp_path / "straight", server.port)
        ports.close()
        for origin in deployment.origins:
            servers.enter_context(EchoServer(tmp_path, origin.port, deployment.sketcher.port))
        deployment.sketcher.start()
        through = fuzz(tmp_path / "through", deployment.sketcher.port)
        deployment.sketcher.stop()
    different = differences(straight, through)
    tell(f"{len(straight) - len(different)} of {len(straight)} as straight")
    assert len(straight) > 250
    assert not different
