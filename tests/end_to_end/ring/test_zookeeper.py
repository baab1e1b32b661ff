"""Our client of ZooKeeper with Debian's server: calls, lost connections, lost sessions, TLS."""

import re
import socket
import threading

import pytest

from harness.build import patience
from harness.certificates import Authority
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.zookeeper import Driver, ZooKeeper

NO_NODE, NO_AUTH, BAD_VERSION, EXISTS, NOT_EMPTY, INVALID_ACL = -101, -102, -103, -110, -111, -114
# The session's; the server counts in ticks of a quarter second.
TIMEOUT_MS = 3000
SERVER_START_MS = 9000


@pytest.fixture(scope="module", name="folder")
def fixture_folder():
    folder = make_folder()
    yield folder
    remove_folder(folder)


@pytest.fixture(scope="module", name="authority")
def fixture_authority(folder):
    return Authority(folder / "ca")


@pytest.fixture(scope="module", name="server")
def fixture_server(folder, authority):
    server = ZooKeeper(folder / "zookeeper", tls=authority)
    server.start()
    yield server
    server.close()


def connect(server, **options):
    driver = Driver([server.address], TIMEOUT_MS * patience(), **options)
    driver.wait_for("connected" if options.get("ring") else "session_begun")
    return driver


class OneWay:
    """A relay in front of a server. Told to, it goes on to carry what clients say, and holds back what
    the server says; then it can cut the connections."""

    def __init__(self, target_port):
        self._target_port = target_port
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(8)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.silent = False
        self.absent = False  # whoever connects is sent away
        self.connections = 0
        self._sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client = self._listener.accept()[0]
            except OSError:
                return
            if self.absent:
                client.close()
                continue
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self._target_port))
            self._sockets += [client, server]
            threading.Thread(target=self._carry, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, True), daemon=True).start()

    def _carry(self, source, sink, is_answer):
        try:
            while data := source.recv(65536):
                if not (is_answer and self.silent):
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def cut(self):
        for one in self._sockets:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
        self._sockets = []

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()


def test_nodes_are_made_read_changed_and_deleted(server):
    with connect(server) as driver:
        assert driver.call("create", "/calls", data="one")["outcome"] == "done"
        assert driver.call("create", "/calls", data="two")["code"] == EXISTS
        assert driver.call("create", "/missing/below")["code"] == NO_NODE
        got = driver.call("get", "/calls")
        assert (got["outcome"], got["data"], got["version"]) == ("done", "one", 0)
        assert not got["ephemeral"]
        assert driver.call("set", "/calls", data="three", version=0)["version"] == 1
        refused = driver.call("set", "/calls", data="four", version=0)
        assert (refused["outcome"], refused["code"]) == ("refused", BAD_VERSION)
        assert driver.call("get", "/calls")["data"] == "three"
        for name in ("a", "b"):
            assert driver.call("create", f"/calls/{name}", ephemeral=True)["outcome"] == "done"
        assert sorted(driver.call("children", "/calls")["children"]) == ["a", "b"]
        own = driver.call("get", "/calls/a")
        assert own["ephemeral"] and own["own"] and own["data"] == ""
        assert driver.call("sync", "/calls")["outcome"] == "done"
        assert driver.call("delete", "/calls")["code"] == NOT_EMPTY
        assert driver.call("delete", "/calls/a", version=7)["code"] == BAD_VERSION
        assert driver.call("delete", "/calls/a", version=0)["outcome"] == "done"
        assert driver.call("exists", "/calls/a")["code"] == NO_NODE
        assert driver.call("exists", "/calls")["version"] == 1
        assert driver.close() == 0
        assert driver.reports()[-1] == "closed"
    # With its session ends the node, at once.
    with connect(server) as driver:
        assert driver.call("exists", "/calls/b")["code"] == NO_NODE


def test_large_data_and_what_is_too_large(server):
    with connect(server) as driver:
        data = "x" * 1_000_000
        assert driver.call("create", "/large", data=data)["outcome"] == "done"
        assert driver.call("get", "/large")["data"] == data
        assert driver.call("set", "/large", data=data + data)["outcome"] == "not_sent"
        assert driver.call("get", "/large")["version"] == 0
        assert driver.call("delete", "/large")["outcome"] == "done"


def test_a_transaction_is_carried_out_whole_or_not_at_all(server):
    def check(version):
        return {"op": "check", "path": "/multi", "version": version}

    with connect(server) as driver:
        driver.call("create", "/multi", data="a")
        steps = [check(0), {"op": "create", "path": "/multi/child", "data": "c"},
                 {"op": "set", "path": "/multi", "version": 0, "data": "b"}]
        assert driver.call("multi", steps=steps)["outcome"] == "done"
        got = driver.call("get", "/multi")
        assert (got["data"], got["version"]) == ("b", 1)
        steps = [{"op": "set", "path": "/multi", "version": 1, "data": "never"}, check(7),
                 {"op": "delete", "path": "/multi/child", "version": 0}]
        failed = driver.call("multi", steps=steps)
        assert (failed["outcome"], failed["code"]) == ("refused", BAD_VERSION)
        assert failed["failed_step"] == 1
        got = driver.call("get", "/multi")
        assert (got["data"], got["version"]) == ("b", 1)
        assert driver.call("exists", "/multi/child")["outcome"] == "done"
        # Checks alone are decided on by the server, too.
        assert driver.call("multi", steps=[check(1)])["outcome"] == "done"
        assert driver.call("multi", steps=[check(0)])["code"] == BAD_VERSION
        assert driver.call("multi", steps=[])["outcome"] == "not_sent"


def test_watches_fire_once_and_live_on_behind_a_lost_connection(server):
    relay = OneWay(server.port)
    with connect(server) as writer, Driver([relay.address], TIMEOUT_MS * patience()) as watcher:
        watcher.wait_for("session_begun")
        writer.call("create", "/watched", data="a")
        assert watcher.call("get", "/watched", watch=True)["data"] == "a"
        assert watcher.call("exists", "/watched/new", watch=True)["code"] == NO_NODE
        assert watcher.call("children", "/watched", watch=True)["children"] == []
        writer.call("set", "/watched", data="b")
        watcher.wait_for("changed")
        writer.call("set", "/watched", data="c")
        writer.call("sync", "/watched")
        assert watcher.call("get", "/watched", watch=True)["data"] == "c"
        assert watcher.reports().count("changed") == 1
        # What changes while it is away is told when it is back: three watches, three events. (A connection
        # without answers would be given up when the session is nearly over.)
        relay.absent = True
        relay.cut()
        writer.call("create", "/watched/new")
        writer.call("set", "/watched", data="d")
        relay.absent = False
        watcher.wait_for("connected")
        watcher.wait_for("changed", count=4)
        assert sorted(line["path"] for line in watcher.lines if line.get("report") == "changed") == [
            "/watched", "/watched", "/watched", "/watched/new"]
        assert watcher.reports().count("session_begun") == 1
    relay.close()


def test_a_lost_answer_leaves_the_outcome_unknown(server):
    relay = OneWay(server.port)
    with Driver([relay.address], TIMEOUT_MS * patience()) as driver, connect(server) as other:
        driver.wait_for("session_begun")
        relay.silent = True
        number = driver.send("create", "/unknown", data="instance 17")
        wait_until(lambda: other.call("exists", "/unknown")["outcome"] == "done", 10, "the node")
        assert not any(line.get("number") == number for line in driver.lines)
        relay.cut()
        relay.silent = False
        assert driver.result(number)["outcome"] == "unknown"
        driver.wait_for("connected")
        assert driver.call("get", "/unknown")["data"] == "instance 17"
    relay.close()


def test_a_silent_server_is_left_before_the_session_is_over(server):
    relays = [OneWay(server.port), OneWay(server.port)]
    addresses = [relay.address for relay in relays]
    with Driver(addresses, TIMEOUT_MS * patience()) as driver:
        driver.wait_for("session_begun")
        driver.call("create", "/silent", ephemeral=True)
        used = next(relay for relay in relays if relay.connections)
        used.silent = True
        number = driver.send("get", "/silent")
        driver.wait_for("connected")
        assert driver.result(number)["outcome"] == "unknown"
        assert driver.call("get", "/silent")["own"]
        reports = [report for report in driver.reports() if report != "alive"]
        assert reports == ["session_begun", "disconnected", "connected"]
        assert "no answer in time" in driver.log_lines[1]
    for relay in relays:
        relay.close()


def test_a_stopped_client_loses_its_session(server):
    with connect(server) as stopped, connect(server) as other:
        stopped.call("create", "/stopped", ephemeral=True, data="mine")
        assert other.call("get", "/stopped")["ephemeral"]
        assert not other.call("get", "/stopped")["own"]
        assert other.call("exists", "/stopped", watch=True)["outcome"] == "done"
        stopped.freeze()
        other.wait_for("changed")
        assert other.call("exists", "/stopped")["code"] == NO_NODE
        stopped.thaw()
        stopped.wait_for("session_begun", count=2)
        assert "expired" in stopped.reports()
        assert stopped.call("exists", "/stopped")["code"] == NO_NODE
        assert stopped.call("create", "/stopped", ephemeral=True)["outcome"] == "done"
        assert other.call("get", "/stopped")["ephemeral"]


def test_the_ring_is_served(server):
    with connect(server, ring=True) as ring, connect(server, ring=True) as other:
        create = {"op": "create", "path": "/view", "data": "1"}
        assert ring.call("read", "/view", watch=True)["status"] == "absent"
        assert other.call("write", steps=[create])["status"] == "done"
        ring.wait_for("changed")
        got = ring.call("read", "/view", watch=True)
        assert (got["status"], got["data"], got["version"]) == ("done", "1", 0)
        exists = ring.call("write", steps=[create])
        assert (exists["status"], exists["failed_step"]) == ("exists", 0)
        lease = {"op": "create_ephemeral", "path": "/lease", "data": "me"}
        steps = [{"op": "check", "path": "/view", "version": 0}, lease]
        assert ring.call("write", steps=steps)["status"] == "done"
        assert ring.call("read", "/lease")["own"]
        seen = other.call("read", "/lease")
        assert seen["ephemeral"] and not seen["own"]
        steps = [{"op": "set", "path": "/lease", "version": 0, "data": "them"},
                 {"op": "check", "path": "/view", "version": 1}]
        wrong = other.call("write", steps=steps)
        assert (wrong["status"], wrong["failed_step"]) == ("wrong_version", 1)
        assert ring.call("read", "/lease")["data"] == "me"
        assert "lease" in ring.call("children", "/", watch=True)["children"]
        changes = ring.reports().count("changed")
        removes = [{"op": "remove", "path": "/lease", "version": 0}]
        assert other.call("write", steps=removes)["status"] == "done"
        ring.wait_for("changed", count=changes + 1)
        assert ring.call("read", "bad")["status"] == "unknown"


def test_access_rules_hold_for_who_has_signed_in(server):
    rules = {"identity": ["digest", "ring:secret"], "access": [["auth", ""]]}
    with connect(server, **rules) as owner, connect(server) as stranger:
        assert owner.call("create", "/owned", data="x")["outcome"] == "done"
        assert owner.call("get", "/owned")["data"] == "x"
        refused = stranger.call("get", "/owned")
        assert (refused["outcome"], refused["code"]) == ("refused", NO_AUTH)
        assert stranger.call("set", "/owned", data="y")["code"] == NO_AUTH
    with connect(server, access=[["auth", ""]]) as nobody:
        assert nobody.call("create", "/nobodys")["code"] == INVALID_ACL
    with Driver([server.address], TIMEOUT_MS, identity=["no-such-scheme", "secret"]) as rejected:
        rejected.wait_for("rejected", count=2)
        assert "secret" not in "".join(rejected.log_lines)


def secure(server, authority, name="zookeeper.test", certificate=None, **options):
    tls = {"ca": str(authority.certificate), "name": name, **(certificate or {})}
    return Driver([server.secure_address], TIMEOUT_MS * patience(), tls=tls, **options)


def test_mutual_tls(server, authority, folder):
    member = authority.issue("member-1")
    access = [["x509", "CN=member-1"], ["x509", "CN=member-2"]]
    with secure(server, authority, certificate=member, access=access) as driver, \
            secure(server, authority, certificate=authority.issue("member-2")) as second, \
            secure(server, authority, certificate=authority.issue("member-3")) as third, \
            connect(server) as plain:
        for one in (driver, second, third):
            one.wait_for("session_begun")
        data = "sealed" * 50_000
        assert driver.call("create", "/sealed", data=data)["outcome"] == "done"
        assert second.call("get", "/sealed")["data"] == data
        assert third.call("get", "/sealed")["code"] == NO_AUTH
        assert plain.call("get", "/sealed")["code"] == NO_AUTH
        driver.wait_for("alive")

    def why(**options):
        with secure(server, authority, **options) as driver:
            driver.wait_for("attempt_failed", count=2)
            assert "session_begun" not in driver.reports()
            return driver.lines[0]["reason"]

    assert why(certificate=member, name="other.test") == "TLS: its certificate is for another name"
    # Versions of Java differ in their alert for it.
    assert re.search("certificate|handshake failure", why(certificate=None))
    stranger = Authority(folder / "strangers").issue("member-1")
    assert "certificate" in why(certificate=stranger)


@pytest.mark.parametrize("ring", [False, True])
def test_a_server_that_is_absent_crashes_and_comes_back(folder, ring):
    server = ZooKeeper(folder / f"crashing-{ring}", tick_ms=500)  # grants 10 s at most
    write = {"steps": [{"op": "create", "path": "/kept", "data": "kept"}]}
    # A loaded machine takes seconds to start the server again; the session has to outlive that.
    with Driver([server.address], SERVER_START_MS * patience(), ring=ring) as driver:
        # Absent at first: one line of the log, then ever fewer, and no call waits.
        wait_until(lambda: len(driver.log_lines) >= 2, 10, "lines of the log")
        assert "zookeeper-unreachable" in driver.log_lines[0]
        assert "Connection refused" in driver.log_lines[0]
        got = driver.call("write" if ring else "multi", **write)
        assert got.get("status", got.get("outcome")) == ("unknown" if ring else "not_sent")
        server.start()
        driver.wait_for("connected" if ring else "session_begun")
        assert "done" in driver.call("write" if ring else "multi", **write).values()
        for restart in range(2):
            server.kill()
            driver.wait_for("disconnected", count=restart + 1)
            server.start()
            driver.wait_for("connected", count=restart + 1 + ring)
            assert driver.call("read" if ring else "get", "/kept")["data"] == "kept"
        assert driver.close() == 0
    server.close()


def test_other_servers_are_tried(server):
    nobody = PortReservation(3)
    addresses = [f"127.0.0.1:{port}" for port in nobody.ports]
    with Driver([*addresses, server.address], TIMEOUT_MS * patience()) as driver:
        driver.wait_for("session_begun")
        assert driver.call("exists", "/")["outcome"] == "done"
    nobody.close()
