"""The cost of a ring: a verified read through a sketcher that takes clients (`request`) and one that owns the
history (`response`), in processor time of both together, beside two HAProxys in a row with TLS between them, in
front of the same four Apaches; what it would cost if the first read the origin itself and asked the owner for the
look-ups alone, by its parts; what share of the requests members forward that both take clients and own a part;
and what clients see while a member drains, joins and dies (ring_moves.py).

Each program has one worker, or one thread. The pairs are measured in turn, in rounds, so that whatever else the
machine does strikes all alike."""

import statistics

from bench import ring_moves, ring_roles
from bench.cost import cpu_seconds
from bench.figures import Figure
from bench.peers import APACHE, HAPROXY_HEAD, Peer, find
from bench.wrk import run_wrk
from harness import HarnessError
from harness.deployment import Deployment
from harness.ports import PortReservation
from harness.ring import RingDeployment

CONTENT = {"/60": b"x" * 60, "/1k": b"x" * 1024, "/64k": b"x" * (64 << 10), "/1m": b"x" * (1 << 20)}
CONNECTIONS = 100
CONNECTIONS_MAX = 4000
SMALLEST = 60  # bytes
LONGEST_S = 10
URLS = 400
TARGET = 0.75

FRONT = HAPROXY_HEAD + """\
frontend clients
  bind 127.0.0.1:{port}
  default_backend owners
backend owners
  http-reuse always
  server owner 127.0.0.1:{tls_port} ssl ca-file {ca} crt {own} verify required sni str(back) verifyhost back \
ssl-min-ver TLSv1.3 alpn {alpn}
"""
BACK = HAPROXY_HEAD + """\
frontend members
  bind 127.0.0.1:{tls_port} ssl crt {own} ca-file {ca} verify required alpn h2,http/1.1 ssl-min-ver TLSv1.3
  default_backend origins
backend origins
  balance roundrobin
  http-reuse always
  {servers}
"""


def run(options):
    if find("haproxy") is None:
        return [Figure("all", "skipped", "", {"reason": "haproxy not installed"})]
    figures = costs(options)
    figures += look_ups_alone(options, figures) + shares(options)
    return figures + ring_roles.run(options) + ring_moves.run(options)


class Pair:
    """Two programs in a row."""

    def __init__(self, name, port, children):
        self.name = name
        self.port = port
        self._children = children

    def cpu_seconds(self):
        return cpu_seconds([child.pid for child in self._children])

    def load(self, path, seconds):
        before = self.cpu_seconds()
        result = run_wrk(f"http://127.0.0.1:{self.port}{path}", seconds, CONNECTIONS)
        used = self.cpu_seconds() - before
        # The first of a hundred large answers at once may take longer than so short a run.
        if not (result.requests or result.errors) and seconds < LONGEST_S:
            return self.load(path, LONGEST_S)
        if result.errors or not result.requests:
            raise HarnessError(f"{self.name}: {result.errors} of {result.requests} requests failed")
        return {"rate": result.requests_per_second, "cpu_us": used / result.requests * 1e6,
                "p99_us": result.p99_us}


def costs(options):
    seconds, rounds, warm_up = (2, 2, 1) if options.quick else (6, 5, 2)
    ports = PortReservation(4)
    with RingDeployment(members=["front", "back"], roles={"front": "request", "back": "response"},
                        content=CONTENT, apache_additions=dict.fromkeys(range(4), APACHE)) as ring:
        proxies = [haproxys(ring, alpn, ports.ports[2 * number:2 * number + 2])
                   for number, alpn in enumerate(("h2", "http/1.1"))]
        try:
            pairs = [Pair("sketchers", ring.sketcher.port,
                          [member.child for member in ring.members.values()])]
            for alpn, front, back in proxies:
                back.start()
                front.start()
                pairs.append(Pair(f"haproxys, {alpn}", front.port, [front.child, back.child]))
            figures = []
            for path in CONTENT:
                runs = {pair.name: [] for pair in pairs}
                for pair in pairs:
                    pair.load(path, warm_up)
                for _ in range(rounds):
                    for pair in pairs:
                        runs[pair.name].append(pair.load(path, seconds))
                figures += cost_figures(runs, {"bytes": len(CONTENT[path]), "clients": CONNECTIONS,
                                               "seconds": seconds, "rounds": rounds})
            return figures
        finally:
            for _, front, back in proxies:
                front.stop()
                back.stop()
            ports.close()


def look_ups_alone(options, figures):
    """What the other design would cost, by its parts: a read at one sketcher, and what a request to an owner adds to
    it, with an answer of 60 bytes, which is what two look-ups take."""
    seconds, rounds = (2, 2) if options.quick else (6, 5)
    both = {(figure.parameters["pair"], figure.parameters["bytes"]): figure.value
            for figure in figures if figure.name == "cpu time of both"}
    alone = {}
    with Deployment(content=CONTENT, apache_additions=dict.fromkeys(range(4), APACHE)) as one:
        sketcher = Pair("sketcher", one.sketcher.port, [one.sketcher.child])
        for path, body in CONTENT.items():
            sketcher.load(path, 1)
            alone[len(body)] = statistics.median(sketcher.load(path, seconds)["cpu_us"] for _ in range(rounds))
    added = both["sketchers", SMALLEST] - alone[SMALLEST]
    found = []
    for size in sorted(set(alone) - {SMALLEST}):
        common = {"bytes": size, "clients": CONNECTIONS, "seconds": seconds, "rounds": rounds}
        cost = alone[size] + added
        found += [Figure("cpu time at one sketcher", round(alone[size], 1), "us/request", common),
                  Figure("with look-ups alone, by parts", round(cost, 1), "us/request", common),
                  Figure("with look-ups alone, ratio", cost / both["haproxys, h2", size], "times",
                         {"over": "haproxys, h2", **common, "target": TARGET})]
    return found


def cost_figures(runs, common):
    median = {name: {key: round(statistics.median(each[key] for each in results), 1)
                     for key in results[0]} for name, results in runs.items()}
    figures = [Figure("cpu time of both", values["cpu_us"], "us/request",
                      {"pair": name, **common, "rate": values["rate"], "p99_us": values["p99_us"],
                       "runs": [round(each["cpu_us"], 1) for each in runs[name]]})
               for name, values in median.items()]
    ours = median["sketchers"]["cpu_us"]
    figures += [Figure("cpu time ratio", ours / values["cpu_us"], "times",
                       {"over": name, **common, "target": TARGET})
                for name, values in median.items() if name != "sketchers"]
    return figures


def haproxys(ring, alpn, ports):
    name = alpn.replace("/", "-")
    both = {}
    for member in ("front", "back"):
        both[member] = ring.folder / f"{member}-{name}.pem"
        both[member].write_bytes((ring.folder / f"ring-{member}.pem").read_bytes()
                                 + (ring.folder / f"ring-{member}.key").read_bytes())
    servers = "\n  ".join(f"server origin{number} 127.0.0.1:{origin.port}"
                          for number, origin in enumerate(ring.origins))
    common = {"connections_max": CONNECTIONS_MAX, "port": ports[0], "tls_port": ports[1],
              "ca": ring.folder / "ring-ca.pem", "alpn": alpn,
              "servers": servers}
    return alpn, *(Peer(f"haproxy-{part}-{name}", [find("haproxy"), "-db", "-f"],
                        text.format(own=both[part], **common), ring.folder, port)
                   for part, text, port in (("front", FRONT, ports), ("back", BACK, ports[::-1])))


def shares(options):
    """With members that do both, a request is forwarded unless the one that it came to is its owner."""
    seconds = 1 if options.quick else 4
    figures = []
    for count in (2, 3) if options.quick else (2, 3, 4):
        with RingDeployment(members=[f"m{number}" for number in range(count)], content=CONTENT) as ring:
            url = ring.url + "/1k"
            run_wrk(url, 1, CONNECTIONS, URLS)
            before = ring.sketcher.counters()
            result = run_wrk(url, seconds, CONNECTIONS, URLS)
            after = ring.sketcher.counters()
            if result.errors:
                raise HarnessError(f"{result.errors} of {result.requests} requests failed")
            share = (after["forwarded"] - before["forwarded"]) / (after["reads"] - before["reads"])
            figures.append(Figure("forwarded share", round(share, 3), "of requests",
                                  {"members": count, "expected": round(1 - 1 / count, 3), "urls": URLS}))
    return figures
