"""etcd for comparison: three nodes on the loopback, which write durably. The load is h2load, which
speaks the gRPC of etcd's own clients at little cost: clients with a connection and one call in
flight each, to the leader, as etcd is fastest."""

import json
import shutil
import statistics
import struct
import subprocess
import urllib.request
from base64 import b64encode
from contextlib import closing

from bench.cost import live_cpu_seconds
from bench.figures import Figure
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation
from harness.processes import Child, HarnessError, wait_until

NODES = 3
KEY = b"prophecy"
PROGRAMS = ["etcd", "h2load"]


def missing_programs():
    return [name for name in PROGRAMS if shutil.which(name) is None]


def run(options, clients, sizes):
    missing = missing_programs()
    if missing:
        return [Figure("etcd", "skipped", "", {"reason": f"{' and '.join(missing)} not installed"})]
    seconds, rounds = (1, 1) if options.quick else (5, 3)
    figures = []
    for size in sizes:
        with closing(Cluster()) as cluster:
            cluster.load(clients, size, 1, cluster.folder)
            results = [cluster.load(clients, size, seconds, cluster.folder) for _ in range(rounds)]
        figures.append(figure_of(results, clients, size, seconds))
    return figures


class Cluster:
    """Three nodes in one temporary folder, of the same file system as our replicas' folders."""

    def __init__(self):
        self.folder = make_folder()
        self._reserved = PortReservation(2 * NODES)
        self._nodes = []
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        ports = self._reserved.ports
        # etcd does not share its ports with our reservation.
        self._reserved.close()
        clients = [f"http://127.0.0.1:{port}" for port in ports[:NODES]]
        peers = [f"http://127.0.0.1:{port}" for port in ports[NODES:]]
        members = ",".join(f"node-{number}={peer}" for number, peer in enumerate(peers))
        for number in range(NODES):
            name = f"node-{number}"
            self._nodes.append(Child(name, [
                "etcd", "--name", name, "--data-dir", self.folder / name,
                "--listen-client-urls", clients[number], "--advertise-client-urls", clients[number],
                "--listen-peer-urls", peers[number], "--initial-advertise-peer-urls", peers[number],
                "--initial-cluster", members, "--initial-cluster-token", "prophecy-bench",
                "--log-level", "error"], self.folder / f"{name}.log"))
        self.leader = wait_until(lambda: self._find_leader(clients), 30, "etcd to elect a leader",
                                 interval_s=0.2)

    def _find_leader(self, clients):
        for node in self._nodes:
            if not node.running():
                raise HarnessError(f"{node.name} of etcd ended:\n{node.log()[-2000:]}")
        for address in clients:
            try:
                status = ask(address, "maintenance/status", {})
            except (OSError, ValueError):
                continue
            if status.get("leader") == status["header"]["member_id"]:
                return address
        return None

    def revision(self):
        """Rises by one with each put."""
        answer = ask(self.leader, "kv/range", {"key": b64encode(KEY).decode()})
        return int(answer["header"]["revision"])

    def load(self, clients, size, seconds, folder):
        (folder / "put").write_bytes(put_message(size))
        log = folder / "calls"
        log.unlink(missing_ok=True)
        pids = [node.pid for node in self._nodes]
        revision, before = self.revision(), live_cpu_seconds(pids)
        result = subprocess.run(
            ["h2load", "-c", str(clients), "-m", "1", "-t", "1", "-D", str(seconds),
             "-d", folder / "put", "-H", "content-type: application/grpc", "-H", "te: trailers",
             "--log-file", log, f"{self.leader}/etcdserverpb.KV/Put"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 60,
            check=False)
        used, put = live_cpu_seconds(pids) - before, self.revision() - revision
        if result.returncode != 0:
            raise HarnessError(f"h2load failed: {result.stderr.strip() or result.stdout.strip()}")
        return read_calls(log.read_text(), put, seconds, used)

    def close(self):
        for node in self._nodes:
            node.kill()
        self._reserved.close()
        remove_folder(self.folder)


def ask(address, method, message):
    request = urllib.request.Request(f"{address}/v3/{method}", json.dumps(message).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=2) as answer:
        return json.load(answer)


def varint(number):
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(encoded) + bytes([number])


def put_message(size):
    """A PutRequest (field 1: the key, field 2: the value) as gRPC frames it."""
    message = b"\x0a" + varint(len(KEY)) + KEY
    if size:
        message += b"\x12" + varint(size) + b"x" * size
    return struct.pack(">BI", 0, len(message)) + message


def read_calls(text, put, seconds, cpu_seconds):
    """h2load's log has a line a call: when it began, status, microseconds that it took. A call that
    etcd refused has status 200 as well; the revision tells how many values were put."""
    calls = [line.split("\t") for line in text.splitlines()]
    took = sorted(int(micros) for _, status, micros in calls if status == "200")
    if not took or put < len(took):
        raise HarnessError(f"etcd answered {len(took)} of {len(calls)} calls, and put {put} values")
    return {"rate": len(took) / seconds, "p50_us": took[len(took) // 2],
            "p99_us": took[len(took) * 99 // 100], "cpu_us": cpu_seconds / len(took) * 1e6}


def figure_of(results, clients, size, seconds):
    def median(name):
        return round(statistics.median(result[name] for result in results), 1)

    return Figure("etcd", median("rate"), "operations/s",
                  {"clients": clients, "bytes": f"{size}/0", "sync": "on", "nodes": NODES,
                   "p50_us": median("p50_us"), "p99_us": median("p99_us"),
                   "nodes_cpu_us": median("cpu_us"), "seconds": seconds,
                   "runs": [result["rate"] for result in results]})
