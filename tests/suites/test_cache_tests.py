"""http-cache-tests: what a client of an origin relies on, through the sketcher as well.

Its server is asked straight, and as a group of four equal origins behind the sketcher. Whatever
passes straight has to pass, but for what cache_tests_exceptions.toml lists with its reason. The
suite is about caches; the sketcher is none, so what a cache alone does fails straight too and proves nothing.
"""

import json
import tomllib
from pathlib import Path

import pytest
from replayed_origins import ReplayedOrigins
from suite_tools import tried_codings, run, suite_folder, with_and_without_compression

from harness import Deployment
from harness.ports import PortReservation, accepts_connections
from harness.processes import Child

EXCEPTIONS = Path(__file__).with_name("cache_tests_exceptions.toml")
GROUP = {"kind": "vote", "faults": 1, "writes": "all", "file": None, "client_id": None,
         "key_file": None, "canonical": {"keyed_headers": ["req-num"]}}


class Server:
    """Context manager: the suite's own origin server."""

    def __init__(self, folder):
        self.package = suite_folder("cache-tests") / "node_modules/http-cache-tests"
        self._folder = folder
        self._ports = PortReservation(1)
        [self.port] = self._ports.ports

    def __enter__(self):
        self._child = Child("cache-tests", ["node", "server/server.mjs"],
                            self._folder / "server.log", cwd=self.package, environment={
                                "npm_config_protocol": "http",
                                "npm_config_port": str(self.port),
                                "npm_config_pidfile": str(self._folder / "server.pid")})
        self._child.wait_ready(lambda: accepts_connections(self.port))
        return self

    def __exit__(self, *_):
        self._child.stop()
        self._ports.close()

    def results(self, port):
        """{test: True, or why not} of the suite run against a port."""
        _, output = run(["node", "--no-warnings", "cli.mjs"], 240, cwd=self.package,
                        environment={"npm_config_base": f"http://127.0.0.1:{port}",
                                     "npm_package_config_id": ""})
        start = output.find("{")
        assert start >= 0, output
        return json.loads(output[start:])


def compare(straight, through, exceptions, at_times=frozenset()):
    """What is wrong: (tests that fail through the sketcher alone and may not, exceptions that need
    none)."""
    lost = {name for name, result in straight.items()
            if result is True and through.get(name) is not True}
    return ({name: through.get(name) for name in sorted(lost - exceptions)},
            sorted(exceptions - at_times - lost))


def listed_exceptions(is_compressed):
    rules = tomllib.loads(EXCEPTIONS.read_text())["rule"]
    rules = [rule for rule in rules if is_compressed or not rule.get("compressed")]
    names = [name for rule in rules for name in rule["tests"]]
    assert len(names) == len(set(names)), "an exception is listed twice"
    assert all(rule["rule"] and rule["why"] for rule in rules)
    return set(names), {name for rule in rules if rule.get("at_times") for name in rule["tests"]}


@with_and_without_compression
@pytest.mark.time_limit(600)
def test_nothing_that_passes_straight_fails_through_the_sketcher(compression, tmp_path, tell):
    with Server(tmp_path) as server:
        straight = server.results(server.port)
        with Deployment(agents=False, start=False,
                        sketcher_changes={"group": GROUP, **compression}) as deployment:
            with ReplayedOrigins([origin.port for origin in deployment.origins], server.port):
                deployment.sketcher.start()
                through = server.results(deployment.sketcher.port)
                counters = deployment.sketcher.counters()
                coded = tried_codings(deployment.sketcher)
                deployment.sketcher.stop()
    exceptions, at_times = listed_exceptions(bool(compression))
    passed = [sum(result is True for result in results.values()) for results in (straight, through)]
    tell(f"{len(straight)} tests, {passed[0]} pass straight and {passed[1]} through the sketcher, "
         f"{len(exceptions)} exceptions with a rule, {coded} answers coded, or tried")
    assert len(straight) > 300 and passed[0] > 100, "the suite has not run"
    assert counters["replicated"] > 300, "the sketcher was not asked"
    assert bool(coded) == bool(compression), "nothing was coded" if compression else "it was not asked to"
    lost, needless = compare(straight, through, exceptions, at_times)
    assert not lost, json.dumps(lost, indent=1)
    assert not needless, f"these exceptions do not fail any more: {needless}"


def test_the_comparison_finds_both_mistakes():
    straight = {"a": True, "b": True, "c": ["Assertion", "no cache"], "d": True}
    through = {"a": True, "b": ["Assertion", "gone"], "c": True}
    assert compare(straight, through, {"a", "c"}) == ({"b": ["Assertion", "gone"], "d": None},
                                                      ["a", "c"])
    assert compare(straight, through, {"a", "c"}, {"c"})[1] == ["a"]
