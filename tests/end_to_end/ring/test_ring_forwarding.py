"""Two and three sketchers with a configured ring, in front of four Apaches: whichever a client comes to, the
owner of the URI answers."""

import os
import signal
import ssl
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness.apache import CONTENT_TIME
from harness.build import instrumented, patience
from harness.certificates import Authority
from harness.http2_client import HEADERS, Http2Client, status_of
from harness.http_client import RawConnection
from harness.http_client import curl as plain_curl
from harness.ports import PortReservation
from harness.processes import HarnessError, read_memory, wait_until
from harness.programs import run_program
from harness.recording_origin import RecordingOrigin
from harness.ring import RingDeployment

VOTE = {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}
LARGE = bytes(range(256)) * 4096 * 3  # 3 MiB
PAGES = {f"/pages/{number}": f"page {number}\n" for number in range(40)}
CONTENT = {"/index.html": "<p>The page.</p>\n", "/static/large.bin": LARGE, "/empty.txt": b"", **PAGES}


def curl(url, *options, **more):
    """All members serve one site: its name is part of a URI, and so of what has an owner."""
    return plain_curl(url, "-H", "Host: site", *options, **more)


@pytest.fixture(scope="module", name="ring")
def _ring():
    with RingDeployment(members=["a", "b", "c"], content=CONTENT) as ring:
        yield ring


def answered(ring, name):
    """What this member had answered by others."""
    return sum(ends["answered"] for ends in ring.forwarded(name).values())


def foreign_page(ring, name, owner=None, pages=PAGES):
    """A page that this member forwards, to `owner`."""
    for path in pages:
        before = ring.forwarded(name)
        curl(ring.members[name].url + path)
        after = ring.forwarded(name)
        for each, ends in after.items():
            if ends["answered"] > before[each]["answered"] and owner in (None, each):
                return path
    raise HarnessError(f"{name} forwards none of the pages")


def test_every_member_answers_every_page(ring):
    for path, body in PAGES.items():
        answers = [curl(member.url + path) for member in ring.members.values()]
        assert [answer.status for answer in answers] == [200] * 3
        assert {answer.body for answer in answers} == {body.encode()}
        # The owner's: nobody can tell where it was answered.
        assert len({answer.field("etag") for answer in answers}) == 1
        assert all(answer.field("prophecy-member") is None for answer in answers)
        assert all(answer.field_values("server") == ["prophecy"] for answer in answers)


def test_the_owner_of_a_page_has_the_only_entry(ring):
    """A page is replicated once, whoever is asked for it."""
    path = "/pages/once"
    assert curl(ring.members["a"].url + path, "-X", "PUT", "--data-binary", "once").status == 201
    ring.wait_for_write(path, b"once")
    before = [member.counters()["replicated"] for member in ring.members.values()]
    for _ in range(4):
        for member in ring.members.values():
            assert curl(member.url + path).body == b"once"
    after = [member.counters()["replicated"] for member in ring.members.values()]
    assert sum(after) - sum(before) == 1


def test_each_forwards_what_it_does_not_own(ring):
    before = {name: answered(ring, name) for name in ring.members}
    for path in PAGES:
        for member in ring.members.values():
            curl(member.url + path)
    shares = {name: (answered(ring, name) - before[name]) / len(PAGES) for name in ring.members}
    # Each page has one owner: of three members, two forward it.
    assert sum(shares.values()) == pytest.approx(2)
    assert all(0.4 < share < 0.9 for share in shares.values())
    status = ring.members["a"].status()
    assert sum(member["partitions"] for member in status["ring"]["members"]) == 4096
    requests = status["requests"]
    ends = ("fast", "unverified", "replicated", "read_only", "forwarded", "refused", "failed", "abandoned")
    assert requests["reads"] + requests["writes"] + requests["refused"] == sum(requests[end] for end in ends)


def test_a_write_through_one_member_is_read_through_the_others(ring):
    urls = [member.url for member in ring.members.values()]
    for number in range(12):
        path, content = f"/pages/{number}", f"written {number}".encode()
        assert curl(urls[number % 3] + path, "-X", "PUT", "--data-binary", content.decode()).status == 204
        for url in urls:
            assert curl(url + path).body == content


def test_head_ranges_and_conditions(ring):
    path = foreign_page(ring, "a")
    url = ring.members["a"].url + path
    whole = curl(url)
    head = curl(url, "--head")
    assert (head.status, head.body) == (200, b"")
    assert head.field("content-length") == str(len(whole.body))
    part = curl(url, "-r", "1-3")
    assert (part.status, part.body) == (206, whole.body[1:4])
    assert part.field("content-range") == f"bytes 1-3/{len(whole.body)}"
    assert curl(url, "-H", f"If-None-Match: {whole.field('etag')}").status == 304
    unsatisfiable = curl(url, "-r", "5000-")
    assert (unsatisfiable.status, unsatisfiable.field("prophecy-reason")) == (416, "range-not-satisfiable")
    old = curl(url, "-H", 'If-Range: "other"', "-r", "1-3")
    assert (old.status, old.body) == (200, whole.body)


def test_errors_are_the_owners(ring):
    missing = [curl(member.url + "/pages/none") for member in ring.members.values()]
    assert [answer.status for answer in missing] == [404] * 3
    assert len({answer.body for answer in missing}) == 1
    refused = [curl(member.url + "/pages/1", "-X", "TRACE").status for member in ring.members.values()]
    assert refused == [501] * 3
    nominated = [curl(member.url + "/pages/1", "-H", "Connection: cookie").status
                 for member in ring.members.values()]
    assert nominated == [400] * 3


@pytest.mark.parametrize("version", ["--http1.1", "--http2-prior-knowledge"])
def test_large_bodies_both_ways(ring, version, tmp_path):
    up, down = tmp_path / "up", tmp_path / "down"
    up.write_bytes(LARGE[::-1])
    for name, member in ring.members.items():
        url = f"{member.url}/pages/large-{name}"
        subprocess.run(["curl", "-sS", "--fail", version, "-H", "Host: site", "-T", up, url], check=True,
                       timeout=60 * patience())
        for other in ring.members.values():
            subprocess.run(["curl", "-sS", "--fail", version, "-H", "Host: site", "-o", down,
                            f"{other.url}/pages/large-{name}"], check=True, timeout=60 * patience())
            assert down.read_bytes() == LARGE[::-1]


def test_a_client_that_reads_nothing_stops_no_other(ring, tmp_path):
    content = tmp_path / "large"
    content.write_bytes(LARGE)
    paths = [f"/pages/slow-{number}" for number in range(12)]
    for path in paths:
        assert curl(ring.members["b"].url + path, "-T", content, timeout_s=60).status in (201, 204)
    idle = []
    for path in paths:
        connection = RawConnection(ring.members["a"].port)
        connection.send(f"GET {path} HTTP/1.1\r\nHost: site\r\n\r\n".encode())
        idle.append(connection)
    time.sleep(1)
    begun = time.monotonic()
    for path in PAGES:
        assert curl(ring.members["a"].url + path).status == 200
    assert time.monotonic() - begun < 20 * patience()
    for connection in idle:
        connection.close()
    # They were given up at the owners as well: nothing is held for them.
    wait_until(lambda: all(worker["untaken_bytes"] == 0 for member in ring.members.values()
                           for worker in member.status()["workers"]), 10, "the end of what is held")


def test_cancelled_requests_end_no_connection(ring):
    """More than a client may cancel at once: members' connections carry many clients."""
    before = {name: member["connections"] for name, member in
              ((each["name"], each) for each in ring.members["a"].status()["ring"]["members"])}
    for _ in range(4):
        clients = [RawConnection(ring.members["a"].port) for _ in range(75)]
        for number, client in enumerate(clients):
            client.send(f"GET /static/large.bin?{number} HTTP/1.1\r\nHost: site\r\n\r\n".encode())
        for client in clients:
            client.close()
    for path in PAGES:
        assert curl(ring.members["a"].url + path).status == 200
    after = {each["name"]: each for each in ring.members["a"].status()["ring"]["members"]}
    assert {name: each["connections"] for name, each in after.items()} == before
    assert all(each["forwarded"]["lost"] == 0 for each in after.values())


def test_a_client_cannot_say_who_it_is(ring):
    """The field that members tell each other of clients is dropped from what clients send."""
    path = foreign_page(ring, "a")
    answer = curl(ring.members["a"].url + path, "-H", "prophecy-client: nobody",
                  "-H", "prophecy-peers: 0.0.0.0/0", "-H", "prophecy-member: own")
    assert answer.status == 200


def connect_as(ring, chain, key, name="b"):
    context = ssl.create_default_context(cafile=str(ring.folder / "ring-ca.pem"))
    context.check_hostname = False
    context.set_alpn_protocols(["h2"])
    if chain:
        context.load_cert_chain(chain, key)
    return Http2Client(ring.member_ports[name][0], context=context)


def answer_to(ring, chain, key, more=(("prophecy-client", "192.0.2.7"),)):
    """The status that a member with this certificate gets; None without an answer."""
    try:
        client = connect_as(ring, chain, key)
        client.request("/pages/1", more=more)
        got = client.wait_for(HEADERS)
    except OSError:
        return None
    return status_of(got[3]) if got else None


def test_strangers_are_refused(ring, tmp_path):
    strangers = Authority(tmp_path, "strangers")
    forged = strangers.issue("a", ["a"])
    member = ring.folder / "ring-a.pem", ring.folder / "ring-a.key"
    made = run_program("prophecyctl", "keygen", "--directory", ring.folder, "--ring-members", "nobody")
    assert made.returncode == 0
    for chain, key in ((None, None), (forged["chain"], forged["key"]),
                       (ring.folder / "ring-nobody.pem", ring.folder / "ring-nobody.key")):
        refused_before = ring.members["b"].status()["transport"]["tls"]["failed"]
        assert answer_to(ring, chain, key) is None
        wait_until(lambda before=refused_before: ring.members["b"].status()["transport"]["tls"]["failed"] > before,
                   10, "the refusal to be counted")
    assert answer_to(ring, *member) in (200, 421)
    # Nor is a member believed that does not say whose request it is.
    assert answer_to(ring, *member, more=()) == 400


def test_metrics_name_members():
    port = PortReservation(1)
    with RingDeployment(members={"a": {"sketcher": {"metrics": f"127.0.0.1:{port.ports[0]}"}}, "b": {}},
                        content=CONTENT) as ring:
        foreign_page(ring, "a", "b")
        page = curl(f"http://127.0.0.1:{port.ports[0]}/metrics").body.decode()
        assert 'prophecy_forwarded_requests_total{end="answered",member="b"} 1' in page
        assert 'prophecy_member_partitions{member="a"}' in page
    port.close()


def test_one_member_alone_forwards_nothing():
    with RingDeployment(members=["a"], content=CONTENT) as ring:
        for path, body in PAGES.items():
            assert curl(ring.url + path).body == body.encode()
        [member] = ring.sketcher.status()["ring"]["members"]
        assert member["partitions"] == 4096
        assert set(member["forwarded"].values()) == {0}


def test_roles_apart():
    with RingDeployment(members=["front", "back"], roles={"front": "request", "back": "response"},
                        workers=2, content=CONTENT) as ring:
        for _ in range(3):
            for path, body in PAGES.items():
                assert curl(ring.url + path).body == body.encode()
        assert answered(ring, "front") == 3 * len(PAGES)
        front, back = ring.members["front"].counters(), ring.members["back"].counters()
        assert (front["fast"], front["replicated"], front["forwarded"]) == (0, 0, 3 * len(PAGES))
        assert back["fast"] + back["replicated"] == 3 * len(PAGES)
        # Each of two workers has a connection of its own to the one that clients came to.
        assert len([worker for worker in ring.members["back"].status()["workers"]
                    if worker["fast"] + worker["replicated"] > 0]) == 2


def test_the_client_address_reaches_the_origin():
    """X-Forwarded-For names the client, not the member; and a trusted peer's chain is kept."""
    with RingDeployment(agents=False, start=False, sketcher_changes={
            "listener": {"trusted_peers": ["127.0.0.0/8"]}, "route": {"mode": "off"}, "group": VOTE}) as ring:
        page = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage", False
        origins = [RecordingOrigin(origin.port, lambda _: page) for origin in ring.origins]
        for member in ring.members.values():
            member.start()
        for number in range(12):
            for name, member in ring.members.items():
                answer = curl(f"{member.url}/{name}{number}", "-H", "X-Forwarded-For: 192.0.2.9",
                              "-H", "Prophecy-Client: 6.6.6.6", "-H", "Prophecy-Peers: ::/0")
                assert answer.body == b"page"
        told = b"".join(piece for origin in origins for piece in origin.received).lower()
        assert sum(ends["answered"] for name in "ab" for ends in ring.forwarded(name).values()) > 4
        assert told.count(b"x-forwarded-for: 192.0.2.9, 127.0.0.1\r\n") == 24
        assert b"prophecy-" not in told.replace(b"via: 1.1 prophecy", b"")
        for origin in origins:
            origin.close()


def test_a_killed_member_is_waited_for_and_then_503():
    with RingDeployment(members=["a", "b"], content=CONTENT,
                        sketcher_changes={"ring": {"owner_wait": "1s"}}) as ring:
        path = foreign_page(ring, "a", "b")
        ring.members["b"].kill()
        begun = time.monotonic()
        answer = curl(ring.members["a"].url + path)
        assert (answer.status, answer.field("prophecy-reason")) == (503, "owner-unreachable")
        assert answer.field("retry-after") == "1"
        assert 0.8 < time.monotonic() - begun < 5 * patience()
        # A member that comes back is found by those that wait.
        results = []
        waiting = threading.Thread(target=lambda: results.append(curl(ring.members["a"].url + path).status))
        ring.members["b"].start()
        waiting.start()
        waiting.join()
        assert results == [200]


def test_a_member_killed_mid_request():
    """A write of which nobody knows what became is answered so, and never made again."""
    with RingDeployment(members=["a", "b"], content=CONTENT) as ring:
        path = foreign_page(ring, "a", "b")
        for agent in ring.agents:
            agent.child.signal(signal.SIGSTOP)
        results = []
        writing = threading.Thread(target=lambda: results.append(
            curl(ring.members["a"].url + path, "-X", "PUT", "--data-binary", "x")))
        writing.start()
        wait_until(lambda: ring.members["b"].status()["requests"]["writes"] > 0, 10, "the write to begin")
        ring.members["b"].kill()
        writing.join()
        for agent in ring.agents:
            agent.child.signal(signal.SIGCONT)
        [answer] = results
        assert (answer.status, answer.field("prophecy-reason")) == (502, "uncertain-write")
        ring.members["b"].start()


def test_a_restarted_member_fails_no_request():
    """GOAWAY, and what was not begun goes to the next process."""
    with RingDeployment(members=["a", "b"], content=CONTENT) as ring:
        foreign_page(ring, "a", "b")
        failed, stop = [], threading.Event()

        def read():
            while not stop.is_set():
                for path in PAGES:
                    answer = curl(ring.members["a"].url + path)
                    if answer.status != 200:
                        failed.append((answer.status, answer.field("prophecy-reason")))
        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for _ in range(2):
            ring.members["b"].stop()
            ring.members["b"].start()
            time.sleep(0.5)
        stop.set()
        for reader in readers:
            reader.join()
        assert failed == []


def test_certificates_are_read_anew():
    with RingDeployment(members=["a", "b"], content=CONTENT) as ring:
        path = foreign_page(ring, "a", "b")
        for member in ring.members.values():
            member.child.signal(signal.SIGHUP)
            wait_until(lambda member=member: "certificates-reloaded" in member.child.log(), 10, "the reload")
        assert curl(ring.members["a"].url + path).status == 200


def test_whoever_a_client_comes_to_opens_its_tunnel():
    switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n", False
    with RingDeployment(agents=False, start=False, members=["a", "b"], sketcher_changes={
            "group": VOTE, "route": {"mode": "tunnel", "upgrades": ["echo"]}}) as ring:
        origins = [RecordingOrigin(origin.port, lambda _: switch) for origin in ring.origins]
        for member in ring.members.values():
            member.start()
        for number in range(6):
            for member in ring.members.values():
                with RawConnection(member.port) as client:
                    client.send(f"GET /{number} HTTP/1.1\r\nHost: site\r\nConnection: Upgrade\r\n"
                                "Upgrade: echo\r\n\r\n".encode())
                    assert client.answer().status == 101
        assert all(set(ends.values()) == {0} for name in "ab" for ends in ring.forwarded(name).values())
        for origin in origins:
            origin.close()


@pytest.mark.skipif(instrumented(), reason="a sanitizer's memory is not the program's own")
@pytest.mark.time_limit(400)
def test_large_bodies_hold_little_memory_at_both_members(tmp_path):
    """Four at once in either direction: an answer in blocks, and bodies that go to files."""
    size, clients = 40 << 20, 4
    with RingDeployment(members=["front", "back"], roles={"front": "request", "back": "response"},
                        agents=False, sketcher_changes={
                            "group": {**VOTE, "writes": "all"}, "limits": {"body": "64MiB"},
                            "timeouts": {"total": "10m", "answer": "2m"}}) as ring:
        for origin in ring.origins:
            file = origin.htdocs / "huge"
            with open(file, "wb") as sparse:
                sparse.truncate(size)
            file.chmod(0o644)
            os.utime(file, (CONTENT_TIME, CONTENT_TIME))

        def run(*arguments):
            return subprocess.Popen(["curl", "-sS", "--fail", "--noproxy", "*", "-H", "Host: site", "-o", "/dev/null",
                                     "-w", "%{http_code} %{size_download}", *arguments], stdout=subprocess.PIPE)
        workers = [member.workers()[0] for member in ring.members.values()]
        assert run(f"{ring.url}/huge").communicate()[0] == f"200 {size}".encode()
        upload = tmp_path / "upload"
        upload.write_bytes(os.urandom(size // 2))
        for worker in workers:
            Path(f"/proc/{worker}/clear_refs").write_text("5", encoding="ascii")
        before = [read_memory(worker, "VmHWM") for worker in workers]
        downloads = [run("--limit-rate", "20M", f"{ring.url}/huge") for _ in range(clients)]
        uploads = [run("-T", str(upload), f"{ring.url}/uploaded-{number}") for number in range(clients)]
        assert [each.communicate()[0] for each in downloads] == [f"200 {size}".encode()] * clients
        assert all(each.communicate()[0].startswith(b"201") for each in uploads)
        for worker, peak in zip(workers, before, strict=True):
            assert read_memory(worker, "VmHWM") - peak < 2 * clients * (3 << 20)
