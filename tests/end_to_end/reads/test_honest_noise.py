"""Correct origins that differ: their answers are noise, and what is made for one client stays its own."""

import contextlib
import itertools

import pytest

from harness import Deployment
from harness.http_client import RawConnection
from harness.scripted_origin import ScriptedOrigin

VOTE = {"group": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}}


def answer_text(body, fields=b"", status=b"200 OK"):
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, fields, len(body), body)


@contextlib.contextmanager
def noisy_group(answer_of):
    """Four origins of a group without agents; `answer_of(origin, head)` is what each of them says."""
    with Deployment(agents=False, start=False, sketcher_changes=VOTE) as deployment:
        servers = [ScriptedOrigin(origin.port,
                                  lambda head, number=number: [answer_of(number, head)])
                   for number, origin in enumerate(deployment.origins)]
        deployment.ports.close()
        try:
            deployment.sketcher.start()
            yield deployment
        finally:
            deployment.sketcher.stop()
            for server in servers:
                server.close()


def read(deployment, targets, fields=""):
    connection = RawConnection(deployment.sketcher.port)
    answers = []
    for target in targets:
        connection.send(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n".encode())
        answers.append(connection.answer())
    connection.close()
    return answers


def origins_of(deployment):
    return deployment.sketcher.status()["origins"]


@pytest.mark.parametrize("targets", [["/date"] * 60, [f"/date?{i}" for i in range(60)]],
                         ids=["one-page", "many-pages"])
def test_origins_that_share_a_second_in_pairs_are_not_accused(targets):
    """f+1 agree, and the others are as right as they are."""
    with noisy_group(lambda origin, head: answer_text(b"second %d" % (origin // 2))) as deployment:
        for answer in read(deployment, targets):
            assert answer.status == 200
            assert answer.body in (b"second 0", b"second 1")
        assert deployment.sketcher.divergences() == []
        assert {origin["state"] for origin in origins_of(deployment)} == {"ready"}


@pytest.mark.parametrize("status", [b"429 Too Many", b"503 Busy", b"408 Late"])
def test_an_origin_that_is_busy_does_not_lie(status):
    def answer_of(origin, _head):
        return answer_text(b"later", status=status) if origin == 3 else answer_text(b"page")

    with noisy_group(answer_of) as deployment:
        for answer in read(deployment, ["/"] * 100):
            assert answer.body == b"page"
        assert deployment.sketcher.divergences() == []
        assert origins_of(deployment)[3]["state"] != "quarantined"


def test_an_answer_that_sets_a_cookie_is_never_remembered():
    def answer_of(_origin, _head):
        return answer_text(b"welcome", b"Set-Cookie: sid=known\r\n")

    with noisy_group(answer_of) as deployment:
        for answer in read(deployment, ["/"] * 10):
            assert answer.field("set-cookie") == "sid=known"
        counters = deployment.sketcher.counters()
        assert (counters["replicated"], counters["fast"]) == (10, 0)


def test_a_page_that_shows_its_client_accuses_nobody():
    """Each fast read differs from what the group says to constants, and no origin is to blame."""
    serial = itertools.count()

    def answer_of(_origin, head):
        agents = [line for line in head.lower().split(b"\r\n") if line.startswith(b"user-agent")]
        return answer_text(b"you are " + b"".join(agents))

    with noisy_group(answer_of) as deployment:
        for _ in range(40):
            answer = read(deployment, ["/"], f"User-Agent: visitor-{next(serial)}\r\n")[0]
            assert answer.body == b"you are user-agent: prophecy"
        assert deployment.sketcher.divergences() == []
        assert sum(origin["confirmations"] for origin in origins_of(deployment)) > 0


def test_an_origin_that_lies_is_named_beside_the_noise():
    def answer_of(origin, head):
        if b"/date" in head:
            return answer_text(b"second %d" % (origin // 2))
        return answer_text(b"a lie" if origin == 2 else b"page")

    with noisy_group(answer_of) as deployment:
        answers = read(deployment, ["/", "/date"] * 40)
        assert all(answer.body == b"page" for answer in answers[::2])
        assert {event["replica"] for event in deployment.sketcher.divergences()} == {2}
