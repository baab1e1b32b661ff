"""Bodies that clients want as gzip: the sketcher, which verifies them and keeps coded ones by their sketches, beside
nginx in front of the same four Apaches, which codes each answer anew (`gzip`), and nginx that serves a file which
was coded before (`gzip_static`): that asks no origin at all, and is the least that it can cost."""

import gzip
from dataclasses import dataclass
from pathlib import Path

from bench.cost import cpu_seconds
from bench.figures import median_figure
from bench.peers import APACHE, NGINX_PROXIED, nginx_peer
from bench.wrk import run_wrk
from harness import Deployment, HarnessError
from harness.http_client import curl
from harness.ports import PortReservation

PROTOCOL = "http/1.1, gzip"
GZIP, GZIP_STATIC = PEERS = ("nginx gzip", "nginx gzip_static")
TEXT = b"".join(b"<p>line %d of a long page, as templates make them</p>\n" % (number % 997) for number in range(620))
PAGE = "/page.html"
WANTED = "Accept-Encoding: gzip"
PROXIED = f"""\
gzip on;
      gzip_types text/html;
      {NGINX_PROXIED}"""
STATIC = """\
root {root};
      gzip_static on;"""


@dataclass
class Runs:
    """As those of the other rows."""

    connections: int
    seconds: int
    rounds: int


def run(runs):
    """Figures, of a deployment of its own."""
    ports = PortReservation(len(PEERS))
    peers = []
    try:
        with Deployment(content={PAGE: TEXT}, apache_additions=dict.fromkeys(range(4), APACHE),
                        sketcher_changes={"sketcher": {"workers": 1}, "route": [{"compression": {}}]}) as deployment:
            origins = [origin.port for origin in deployment.origins]
            peers = [nginx(GZIP, deployment.folder / "nginx-gzip", ports.ports[0], origins),
                     nginx(GZIP_STATIC, deployment.folder / "nginx-static", ports.ports[1], origins)]
            for peer in peers:
                peer.start()
            return compare(runs, [("sketcher", deployment.sketcher), *((peer.name, peer) for peer in peers)])
    finally:
        for peer in peers:
            peer.stop()
        ports.close()


def nginx(name, folder, port, origin_ports):
    root = folder / "root"
    root.mkdir(parents=True)
    (root / PAGE[1:]).write_bytes(TEXT)
    Path(f"{root}{PAGE}.gz").write_bytes(gzip.compress(TEXT))
    location = PROXIED if name == GZIP else STATIC.format(root=root)
    return nginx_peer(name, folder, (port, None), origin_ports, [(f"listen 127.0.0.1:{port};", location)])


def compare(runs, proxies):
    """In turn, in rounds."""
    used = {name: [] for name, _ in proxies}
    rates = {name: [] for name, _ in proxies}
    for name, proxy in proxies:
        check(name, proxy.url + PAGE)
        run_wrk(proxy.url + PAGE, 1, runs.connections, fields=[WANTED])
    for _ in range(runs.rounds):
        for name, proxy in proxies:
            before = cpu_seconds([proxy.child.pid])
            result = run_wrk(proxy.url + PAGE, runs.seconds, runs.connections, fields=[WANTED])
            if result.errors or not result.requests:
                raise HarnessError(f"{name}: {result.errors} of {result.requests} requests failed")
            used[name].append(round((cpu_seconds([proxy.child.pid]) - before) / result.requests * 1e6, 1))
            rates[name].append(result.requests_per_second)
    return [median_figure("cpu time", used[name], "us/request", proxy=name, protocol=PROTOCOL, bytes=len(TEXT),
                          rate=round(sorted(rates[name])[runs.rounds // 2], 1), clients=runs.connections,
                          seconds=runs.seconds, rounds=runs.rounds) for name, _ in proxies]


def check(name, url):
    """They all bring the page, in that coding."""
    answer = curl(url, "-H", WANTED)
    if answer.field("content-encoding") != "gzip" or gzip.decompress(dechunked(answer)) != TEXT:
        raise HarnessError(f"{name}: not the page as gzip: {answer.fields}")


def dechunked(answer):
    if answer.field("transfer-encoding") != "chunked":
        return answer.body
    body, rest = b"", answer.body
    while True:
        size, _, rest = rest.partition(b"\r\n")
        if int(size, 16) == 0:
            return body
        body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]
