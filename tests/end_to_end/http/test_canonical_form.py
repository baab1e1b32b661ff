"""What the canonical form leaves out, rewrites, and counts, with real clients and origins."""

from contextlib import closing

import pytest

from harness import Deployment
from harness.http_client import RawConnection, curl
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.recording_origin import RecordingOrigin
from harness.replicas import ctl, ctl_json

PAGE = b"<p>The page.</p>\n"


VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}


def vote_deployment(canonical=None, sketcher_changes=None, **options):
    group = {**VOTE, **({"canonical": canonical} if canonical else {})}
    # Of files under /static/ the harness's Apaches say when they were changed.
    return Deployment(content={"/index.html": PAGE, "/static/page.html": PAGE}, agents=False,
                      sketcher_changes={"group": group, **(sketcher_changes or {})}, **options)


class ScriptedWorld:
    """A group of kind vote whose origins are functions: origin number and request to answer."""

    def __init__(self, answer, canonical=None, listener=None, changes=None):
        changes = {**(changes or {}), **({"listener": listener} if listener else {})}
        self.deployment = vote_deployment(canonical, changes, start=False)
        self._answer = answer

    def __enter__(self):
        self.deployment.__enter__()
        self.origins = [
            RecordingOrigin(origin.port, lambda request, number=number: (
                self._answer(number, request), False))
            for number, origin in enumerate(self.deployment.origins)]
        self.deployment.sketcher.start()
        return self

    def __exit__(self, *error):
        for origin in self.origins:
            origin.close()
        self.deployment.__exit__(*error)

    @property
    def sketcher(self):
        return self.deployment.sketcher

    def get(self, path="/", source="127.0.0.1", lines=b""):
        with RawConnection(self.sketcher.port, source=source) as client:
            client.send(b"GET %b HTTP/1.1\r\nHost: site\r\n%b\r\n" % (path.encode(), lines))
            return client.answer()


def page(lines=b"", body=PAGE):
    return b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (lines, len(body), body)


def field_of(request, name):
    for line in request.split(b"\r\n")[1:]:
        if line.lower().startswith(name + b": "):
            return line.split(b": ", 1)[1]
    return b""


def counts(deployment):
    """{(message, name): count}, as prophecyctl tells."""
    rows = ctl_json("fields", "--admin", deployment.sketcher.admin, "--json")
    return {(row["message"], row["name"]): row["count"] for row in rows}


# R8: each action is counted by header name.

def test_what_was_taken_out_is_counted_by_name():
    with vote_deployment() as deployment:
        for _ in range(3):
            assert curl(deployment.url + "/", "-H", "X-Unknown: 1", "-H", "Cache-Control: no-cache",
                        "-H", "X-Forwarded-For: 6.6.6.6", "-H", "TE: trailers").body == PAGE
        # One read was voted on by four origins, two were fast. The vote does not wait for the last.
        wait_until(lambda: counts(deployment)["answer", "server"] == 6, 20, "all answers")
        counted = counts(deployment)
        for name in ("x-unknown", "cache-control", "x-forwarded-*", "te"):
            assert counted["request", name] == 3
        assert ("request", "user-agent") not in counted  # passed on
        assert counted["answer", "date"] == 6
        assert "x-forwarded-*" in ctl("fields", "--admin", deployment.sketcher.admin)


def test_names_of_fields_are_bounded():
    with closing(PortReservation(1)) as reservation, vote_deployment(sketcher_changes={
            "sketcher": {"metrics": f"127.0.0.1:{reservation.ports[0]}"}}) as deployment:
        with RawConnection(deployment.sketcher.port) as client:
            for first in range(0, 2000, 100):
                lines = b"".join(b"X-%d: 1\r\n" % (first + i) for i in range(100))
                client.send(b"GET / HTTP/1.1\r\nHost: a\r\n" + lines + b"\r\n")
                assert client.answer().body == PAGE
        counted = counts(deployment)
        unknown = {name: count for (message, name), count in counted.items()
                   if message == "request" and name.startswith(("x-", "(")) and name[-1] != "*"}
        assert len(unknown) <= 129 and unknown["(other)"] > 1000
        assert sum(unknown.values()) == 2000
        metrics = [line for line in
                   curl(f"http://127.0.0.1:{reservation.ports[0]}/metrics").body.decode().splitlines()
                   if line.startswith("prophecy_fields_removed_total")]
        assert not any("x-1" in line for line in metrics)
        assert [line.endswith(" 2000") for line in metrics if "(unknown)" in line] == [True]
        assert any('name="server"' in line for line in metrics)


def leak(number, _request):
    return page(b"X-Accel-Redirect: /secret\r\nX-Sendfile: /secret\r\n" if number == 1 else b"")


def test_control_of_an_origins_own_front_end_is_dropped_and_told_of():
    with ScriptedWorld(leak) as world:
        for _ in range(30):
            answer = world.get()
            assert answer.body == PAGE
            assert not any(name.startswith("x-") for name, _ in answer.fields)
        assert counts(world.deployment)["answer", "x-accel-*"] >= 1
        assert world.sketcher.divergences() == []
        log = world.sketcher.child.log()
        assert log.count("internal-field-leaked") == 1  # of many, the first
        assert "x-accel-redirect" in log


# Answers that depend on the client's address.

def told(_number, request):
    return page(body=b"you are " + field_of(request, b"x-forwarded-for"))


def test_the_clients_address_can_be_keyed():
    with ScriptedWorld(told, {"key_client_address": True}) as world:
        for _ in range(5):
            for last in (1, 2, 3):
                address = f"127.0.0.{last}"
                assert world.get(source=address).body == b"you are " + address.encode()
        counters = world.sketcher.counters()
        assert (counters["replicated"], counters["fast"]) == (3, 12)


def test_and_so_can_the_chain_of_a_trusted_peer():
    with ScriptedWorld(told, {"key_client_address": True},
                       {"trusted_peers": ["127.0.0.1"]}) as world:
        for _ in range(3):
            for address in (b"192.0.2.1", b"192.0.2.2"):
                answer = world.get(lines=b"X-Forwarded-For: " + address + b"\r\n")
                assert answer.body == b"you are " + address + b", 127.0.0.1"


def test_otherwise_the_group_answers_all_clients_alike():
    with ScriptedWorld(told) as world:
        for last in (1, 2, 1):
            assert world.get(source=f"127.0.0.{last}").body == b"you are 192.0.2.1"
        # Origins see the client in a fast read, so that no fast read repeats the answer remembered.
        assert world.sketcher.counters()["fast"] == 0
        seen = {field_of(request, b"x-forwarded-for")
                for origin in world.origins for request in origin.received}
        assert seen == {b"192.0.2.1", b"127.0.0.1", b"127.0.0.2"}


def test_the_address_that_the_group_is_given_can_be_chosen():
    with ScriptedWorld(told, changes={
            "forwarding": {"group_client_address": "2001:db8::7"}}) as world:
        assert world.get().body == b"you are 2001:db8::7"


def agent_page(_number, request):
    agent = field_of(request, b"user-agent")
    return page(body=(agent + b" and " + field_of(request, b"referer") + b"; ") * 1000)


@pytest.mark.parametrize("whole", ["1MiB", "4KiB"])
def test_what_depends_on_a_visible_exception_is_served_as_the_group_says(whole):
    """In blocks as well: an origin is asked for the body of what the group has agreed on."""
    with ScriptedWorld(agent_page, {"whole_answer": whole, "answer_block": "4KiB"}) as world:
        for agent in (b"a", b"b", b"c"):
            answer = world.get(lines=b"User-Agent: " + agent + b"\r\nReferer: x\r\n")
            assert (answer.status, answer.body) == (200, b"Prophecy and ; " * 1000)


@pytest.mark.parametrize("name", [b"User-Agent", b"X-Forwarded-For"])
def test_vary_on_what_is_not_keyed_is_never_remembered_and_counted(name):
    with ScriptedWorld(lambda _number, _request: page(b"Vary: Accept, " + name + b"\r\n")) as world:
        for _ in range(4):
            assert world.get().body == PAGE
        assert world.sketcher.counters()["fast"] == 0
        history = world.sketcher.status()["history"]
        assert (history["varies_unkeyed"], history["unsketchable"]) == (4, 4)


# Fields that are written anew.

def redirects(deployment):
    return {number: f'Header always set Location "http://127.0.0.1:{origin.port}/moved/?a"\n'
                    f'Header always set Content-Location "http://127.0.0.1:{origin.port}/moved/"\n'
            for number, origin in enumerate(deployment.origins)}


@pytest.mark.parametrize("listed", [True, False])
def test_origins_own_authorities_in_location(listed):
    with vote_deployment(start=False) as deployment:
        for number, addition in redirects(deployment).items():
            deployment.origins[number].additions = addition
        if listed:
            deployment.sketcher.settings["group"][0]["canonical"] = {
                "origin_authorities": [f"127.0.0.1:{origin.port}" for origin in deployment.origins]}
            deployment.sketcher.write_configuration()
        deployment.start()
        answers = [curl(deployment.url + "/") for _ in range(3)]
        if listed:
            assert {(answer.status, answer.field("location"), answer.field("content-location"))
                    for answer in answers} == {(200, "/moved/?a", "/moved/")}
            assert deployment.sketcher.counters()["fast"] == 2
        else:  # each makes an answer of its own
            assert {answer.field("prophecy-reason") for answer in answers} == {"no-agreement"}


def test_expires_beside_max_age_is_made_anew():
    additions = {number: 'Header set Cache-Control "max-age=60"\n'
                         f'Header set Expires "Thu, 01 Jan 1970 00:00:0{number} GMT"\n'
                 for number in range(4)}
    with vote_deployment(apache_additions=additions) as deployment:
        for _ in range(3):
            answer = curl(deployment.url + "/")
            expires, date = answer.field("expires"), answer.field("date")
            assert expires != date and expires[-6:] == date[-6:] and "1970" not in expires
        assert deployment.sketcher.counters()["fast"] == 2


@pytest.mark.parametrize("canonical", [
    {"dropped_answer_headers": ["last-modified"]},
    {"last_modified_max": "Tue, 14 Nov 2023 22:13:20 GMT"},
])
def test_last_modified_of_copies(canonical):
    additions = {number: f'Header set Last-Modified "Wed, 15 Nov 2023 00:00:0{number} GMT"\n'
                 for number in range(4)}
    with vote_deployment(canonical, apache_additions=additions) as deployment:
        fields = {curl(deployment.url + "/static/page.html").field("last-modified") for _ in range(3)}
        assert fields == {canonical.get("last_modified_max")}
        assert deployment.sketcher.counters()["fast"] == 2
