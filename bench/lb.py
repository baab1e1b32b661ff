"""The sketcher as a load balancer: one worker, beside one worker of nginx and one thread of HAProxy
in front of the same four Apaches. Over plain HTTP/1.1 a second sketcher, whose digest is gmac, stands beside the
first one with sha1, the default. What a request costs each of them, and it together with the
origins, in processor time, how long it takes, and what a kept-alive connection holds.

They are measured in turn, in rounds, so that whatever else the machine does strikes all alike. The
origins and the load share its cores: throughput is as much theirs as the proxy's."""

import shutil
import statistics

from bench import lb_gzip, lb_liar, lb_mixed, lb_workers
from bench.cost import cpu_seconds, process_memory_bytes
from bench.fast_read import allow_open_files, let_rest
from bench.figures import Figure
from bench.h2load import run_h2load
from bench.peers import APACHE, haproxy, missing_programs, nginx
from bench.wrk import run_wrk
from harness import Deployment, HarnessError
from harness.certificates import Authority
from harness.http_client import RawConnection
from harness.ports import PortReservation
from harness.sketcher import Sketcher

CONTENT = {"/1k": b"x" * 1024, "/64k": b"x" * (64 << 10), "/1m": b"x" * (1 << 20)}
CONNECTIONS = 100
H2_STREAMS = 5  # requests at a time on each of fewer connections
PEERS = ("nginx", "haproxy")
GMAC = "sketcher-gmac"
SKETCHERS = ("sketcher", GMAC)
IDLE_CONNECTIONS = 10000
SECONDS = 6  # of a run that is not a quick one


def run(options):
    if options.liar:
        return lb_liar.run(options)
    if options.mixed:
        return lb_mixed.run(options)
    if options.workers:
        return lb_workers.run(options)
    if missing := missing_programs():
        return [Figure("all", "skipped", "", {"reason": f"{' and '.join(missing)} not installed"})]
    # Before the proxies start, which inherit it. HAProxy reckons with two files a client.
    connections_max = (allow_open_files(2 * IDLE_CONNECTIONS + 5000) - 200) // 2
    changes = {"sketcher": {"workers": 1}, "timeouts": {"idle": "10m"},
               "limits": {"connections_max": 20000}}
    deployment = Deployment(content=CONTENT, apache_additions=dict.fromkeys(range(4), APACHE),
                            sketcher_changes=changes, start=False, clients=2)
    certificate = Authority(deployment.folder / "authority").issue("bench", ["localhost"])
    ports = PortReservation(2 * len(PEERS) + 3)
    tls_port, gmac_port, gmac_tls_port = ports.ports[-3:]
    listen_with_tls(deployment.sketcher, tls_port, certificate)
    deployment.start()
    with deployment:
        origins = [origin.port for origin in deployment.origins]
        children = [origin.child for origin in deployment.origins]
        proxies = [Proxy("sketcher", deployment.sketcher.child, deployment.sketcher.port, tls_port,
                         children)]
        gmac = gmac_sketcher(deployment, gmac_port, changes)
        listen_with_tls(gmac, gmac_tls_port, certificate)
        peers = [make(deployment.folder, ports.ports[2 * number:2 * number + 2], origins,
                      connections_max, certificate)
                 for number, make in enumerate((nginx, haproxy))]
        try:
            gmac.start()
            for peer in peers:
                peer.start()
                proxies.append(Proxy(peer.name, peer.child, peer.port, peer.tls_port, children))
            # First of all: what a proxy has held for a load once, it would not have to get now.
            figures = idle_connections(options, proxies, connections_max)
            both = [*proxies, Proxy(GMAC, gmac.child, gmac.port, gmac_tls_port, children)]
            for path in CONTENT:
                figures += requests(options, both, "http/1.1", path)
            for protocol in ("https/1.1", "h2"):
                for path in ("/1k", "/64k"):
                    figures += requests(options, both, protocol, path)
        finally:
            for program in (gmac, *peers):
                program.stop()
            ports.close()
    seconds, rounds, _ = lengths(options)
    return figures + lb_gzip.run(lb_gzip.Runs(CONNECTIONS, seconds, rounds))


def lengths(options):
    """Seconds of a run, rounds, and seconds of the warm-up."""
    return (1, 1, 1) if options.quick else (SECONDS, 5, 2)


def listen_with_tls(sketcher, port, certificate):
    sketcher.settings["listener"].append(
        {"address": f"127.0.0.1:{port}", "tls": {"certificates": [certificate]}})
    sketcher.write_configuration()


def gmac_sketcher(deployment, port, changes):
    """A second sketcher of the same group, with a history of its own."""
    folder = deployment.folder / GMAC
    folder.mkdir()
    for name in ("group.toml", "client-1025.key", "sketch.key"):
        shutil.copy(deployment.folder / name, folder)
    origins = [origin.port for origin in deployment.origins]
    return Sketcher(folder, port, origins, {
        **changes, "sketch": {"digest": "gmac"},
        "group": {"client_id": 1025, "key_file": "client-1025.key"}})


class Proxy:
    """A proxy that is compared. `origins` are the processes behind it."""

    def __init__(self, name, child, port, tls_port, origins):
        self.name = name
        self.port = port
        self.tls_port = tls_port
        self._child = child
        self._origins = origins

    def cpu_seconds(self):
        return cpu_seconds([self._child.pid])

    def origin_cpu_seconds(self):
        return cpu_seconds([origin.pid for origin in self._origins])

    def memory_bytes(self):
        return process_memory_bytes(self._child.pid)

    def run(self, protocol, path, seconds):
        if protocol == "http/1.1":
            return run_wrk(f"http://127.0.0.1:{self.port}{path}", seconds, CONNECTIONS)
        url = f"https://127.0.0.1:{self.tls_port}{path}"
        return run_wrk(url, seconds, CONNECTIONS) if protocol == "https/1.1" \
            else run_h2load(url, seconds, CONNECTIONS // H2_STREAMS, H2_STREAMS)

    def load(self, protocol, path, seconds):
        before, origins_before = self.cpu_seconds(), self.origin_cpu_seconds()
        result = self.run(protocol, path, seconds)
        used = self.cpu_seconds() - before
        system = used + self.origin_cpu_seconds() - origins_before
        # The first of a hundred large answers at once may take longer than so short a run.
        if not (result.requests or result.errors) and seconds < SECONDS:
            return self.load(protocol, path, SECONDS)
        if result.errors or not result.requests:
            raise HarnessError(f"{self.name}: {result.errors} of {result.requests} requests failed")
        return {"rate": result.requests_per_second, "cpu_us": used / result.requests * 1e6,
                "system_us": system / result.requests * 1e6,
                "p50_us": result.p50_us, "p99_us": result.p99_us, "p999_us": result.p999_us}


def requests(options, proxies, protocol, path):
    seconds, rounds, warm_up = lengths(options)
    runs = {proxy.name: [] for proxy in proxies}
    for proxy in proxies:
        proxy.run(protocol, path, warm_up)
    for _ in range(rounds):
        for proxy in proxies:
            runs[proxy.name].append(proxy.load(protocol, path, seconds))
    common = {"protocol": protocol, "bytes": len(CONTENT[path]), "clients": CONNECTIONS,
              "seconds": seconds, "rounds": rounds}
    return request_figures(runs, common)


def request_figures(runs, common):
    """A figure for each proxy, and each sketcher's throughput, cost and slowness over the better peer's."""
    median = {name: {key: round(statistics.median(each[key] for each in results), 1)
                     for key in results[0]} for name, results in runs.items()}
    figures = [Figure("cpu time", values.pop("cpu_us"), "us/request",
                      {"proxy": name, **values, **common,
                       "runs": [each["cpu_us"] for each in runs[name]]})
               for name, values in ((name, dict(values)) for name, values in median.items())]
    for key, title, better in (("rate", "throughput ratio", max), ("cpu_us", "cpu time ratio", min),
                               ("system_us", "system cpu time ratio", min), ("p99_us", "p99 ratio", min)):
        best = better(PEERS, key=lambda peer: median[peer][key])  # pylint: disable=cell-var-from-loop
        figures += [Figure(title, median[name][key] / median[best][key], "times",
                           {"proxy": name, "over": best, **common})
                    for name in SKETCHERS if name in median]
    return figures


def idle_connections(options, proxies, connections_max):
    """Memory that a kept-alive connection holds in each between its requests."""
    count = min(500 if options.quick else IDLE_CONNECTIONS, connections_max - 200)
    figures = []
    for proxy in proxies:
        connections = []
        try:
            for _ in range(50):  # code and buffers that every proxy has come in first
                connections.append(used_connection(proxy))
            before = proxy.memory_bytes()
            for _ in range(count):
                connections.append(used_connection(proxy))
            let_rest(options)
            after = proxy.memory_bytes()
        finally:
            for connection in connections:
                connection.close()
        figures.append(Figure("idle connection", (after - before) / count / 1024, "KiB",
                              {"proxy": proxy.name, "connections": count, "bound": 12}))
    return figures


def used_connection(proxy):
    connection = RawConnection(proxy.port)
    connection.get("/1k")
    return connection
