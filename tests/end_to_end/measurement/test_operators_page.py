"""docs/measure-your-site.md: its commands run as they stand, on a site of the loopback; the proposed configuration
is one that the sketcher accepts."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from harness import Deployment
from harness.build import patience
from harness.counted_site import CountedSite
from harness.programs import program, run_program
from harness.toml_writer import to_toml
from warc_writer import response

PAGE = Path(__file__).resolve().parents[3] / "docs" / "measure-your-site.md"


def commands():
    """The indented blocks that begin with a command, in order."""
    blocks = re.findall(r"(?:^    .*\n)+", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    texts = [re.sub("^    ", "", block, flags=re.MULTILINE) for block in blocks]
    return [text for text in texts if text.startswith(("cat ", "prophecy-measure ", "prophecyctl "))]


def run(text, folder):
    path = ":".join(str(program(name).parent) for name in ("prophecy-measure", "prophecyctl"))
    return subprocess.run(["bash", "-e"], input=text, cwd=folder, text=True, capture_output=True, check=False,
                          timeout=60 * patience(), env={"PATH": f"{path}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"})


@pytest.fixture(name="measured", scope="module")
def _measured(tmp_path_factory):
    """The folder in which the page's commands were run, and what they printed."""
    folder = tmp_path_factory.mktemp("operator")
    printed = []
    with CountedSite() as site:
        for text in commands():
            if text.startswith("prophecyctl"):
                continue
            text = text.replace("https://www.example.org", site.url("www", ""))
            text, number = re.subn("--interval 12s --duration 5m", "--interval 1s --duration 8s --delay 0", text)
            assert number == text.count("capture ")
            result = run(text, folder)
            assert result.returncode == 0, (text, result.stderr)
            printed.append(result.stdout)
        given, transitions = site.given(), site.transitions()
    return folder, "".join(printed), given, transitions


def test_commands_of_the_page(measured):
    folder, printed, given, _ = measured
    assert len(commands()) == 5
    assert set(given.values()) == {16}, "two captures of eight rounds"
    assert re.search(r"^4 URLs, 32 answers, \d+ transitions in 28 pairs of sketched answers: ", printed, re.MULTILINE)
    assert "4 URLs in both:" in printed
    assert "How often answers change" in (folder / "report.html").read_text()


def test_the_sketcher_accepts_the_proposal(measured, tmp_path):
    folder, *_ = measured
    routes = (folder / "proposal" / "routes.toml").read_text()
    assert '"/random",  # 7 of 7 pairs differ' in routes and "blacklist" in routes
    with Deployment(content={"/index.html": b"page"}) as deployment:
        sketcher = deployment.sketcher
        settings = {name: value for name, value in sketcher.settings.items() if name != "route"}
        accepted = sketcher.folder / "proposed.toml"
        accepted.write_text(to_toml(settings) + "\n" + routes)
        result = run_program("prophecy-sketcher", "--config", accepted, "--check")
        assert result.returncode == 0, result.stderr
        accepted.write_text(to_toml(settings) + "\n" + routes.replace("blacklist", "blocklist"))
        assert run_program("prophecy-sketcher", "--config", accepted, "--check").returncode == 2


RULES_FIRST, RULES_SECOND = "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:38 GMT"


def answers_for_rules(folder):
    """Answers that rules make equal, and some that no rule does."""
    capture = folder / "a.warc"
    moved = [f"Location: http://10.0.0.{i % 2}:8080/y" for i in range(9)]
    dated = [f"Last-Modified: {(RULES_FIRST, RULES_SECOND)[i % 2]}" for i in range(9)]
    capture.write_bytes(b"".join(
        response(f"https://a.example/{name}", i, b"same", *fields(i), status=status)
        for name, status, fields in [
            ("trace", "200 OK", lambda i: [f"X-Trace: {i}", f'ETag: "{i}"']),
            ("both", "200 OK", lambda i: [f"X-Trace: {i}", dated[i]]),
            ("dated", "200 OK", lambda i: [dated[i]]),
            ("moved", "302 Found", lambda i: [moved[i]]),
            ("linked", "200 OK", lambda i: [f"Link: </{i}>; rel=next"]),
            ("cookie", "200 OK", lambda i: ["Set-Cookie: lang=en"]),
            ("agent", "200 OK", lambda i: ["Vary: User-Agent"]),
            ("still", "200 OK", lambda i: [])]
        for i in range(9)))
    return capture


def test_rules_are_proposed_with_the_ratio_that_they_give(tmp_path):
    capture = answers_for_rules(tmp_path)
    result = run_program("prophecy-measure", "analyze", capture, "--propose", tmp_path / "out", "--json", "-",
                         "--report", tmp_path / "report.html")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["pairs"], report["transitions"]) == (48, 40)
    rules = {each["rules"]: each["transitions"] for each in report["canonical_rules"]["rules"]}
    assert rules == {"x-trace": 8, "last_modified_max": 8, "origin_authorities": 8, "last_modified_max,x-trace": 8}
    tried = {each["settings"]: each for each in report["canonical_rules"]["tried"]}
    assert (tried["all rules"]["pairs"], tried["all rules"]["transitions"]) == (48, 8)
    assert (tried["remember_set_cookie"]["sketched"], tried["remember_set_cookie"]["pairs"]) == (63, 56)
    assert (tried["keyed_headers"]["sketched"], tried["keyed_headers"]["transitions"]) == (63, 8)
    path = tmp_path / "out" / "canonical.toml"
    canonical = path.read_text()
    for line in ['dropped_answer_headers = ["x-trace"]', f'last_modified_max = "{RULES_FIRST}"',
                 'origin_authorities = ["10.0.0.0:8080", "10.0.0.1:8080"]',
                 "# 8 transitions by link alone: no rule may leave it out",
                 "all together: 8 of 48 pairs differ, 16.7 %; 5 URLs do not change",
                 "# remember_set_cookie = true  # only if", '# keyed_headers = ["user-agent"]  # each value']:
        assert line in canonical, canonical
    again = run_program("prophecy-measure", "analyze", capture, "--canonical", path, "--json", "-")
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert (report["pairs"], report["transitions"]) == (48, 8)
    path.write_text(canonical.replace("# remember_set_cookie", "remember_set_cookie"))
    again = json.loads(run_program("prophecy-measure", "analyze", capture, "--canonical", path, "--json", "-").stdout)
    assert (again["pairs"], again["never_sketched"]["sets_cookie"]) == (56, 0)
    path.write_text(canonical.replace("x-trace", "cache-control"))
    refused = run_program("prophecy-measure", "analyze", capture, "--canonical", path)
    assert refused.returncode == 2 and "may not be dropped" in refused.stderr
    with Deployment(content={"/index.html": b"page"}) as deployment:
        group = deployment.sketcher.folder / "group.toml"
        group.write_text(re.sub(r"^\[canonical\][^\[]*", "", group.read_text(), flags=re.MULTILINE) + canonical)
        result = run_program("prophecy-sketcher", "--config", deployment.sketcher.configuration, "--check")
        assert result.returncode == 0, result.stderr


def test_nothing_is_tried_on_what_has_no_fields(tmp_path):
    capture = answers_for_rules(tmp_path)
    log = tmp_path / "log.jsonl"
    assert run_program("prophecy-measure", "analyze", capture, "--sketch-log", log).returncode == 0
    result = run_program("prophecy-measure", "analyze", capture, log, "--propose", tmp_path / "out", "--json", "-")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["canonical_rules"]["tried"] == []
    assert "# Not tried: an input is a sketch log" in (tmp_path / "out" / "canonical.toml").read_text()


def test_declared_cacheability_beside_changes_and_shared_answers(tmp_path):
    capture = tmp_path / "a.warc"
    guess, fresh = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control: public, max-age=15"
    capture.write_bytes(b"".join([
        *(response("https://a.example/fresh", 10 * i, b"%d" % (i // 2), fresh) for i in range(4)),
        *(response("https://a.example/private", i, b"same", "Cache-Control: private") for i in range(3)),
        *(response("https://a.example/guess", i, b"same", guess) for i in range(3)),
        *(response("https://a.example/zero", i, b"same", "Expires: 0") for i in range(2)),
        *(response(f"https://b.example/x?{i}", 0, b"one answer") for i in range(5))]))
    result = run_program("prophecy-measure", "analyze", capture, "--json", "-")
    report = json.loads(result.stdout)
    declared = {each["declared"]: each for each in report["declared_caching"]}
    assert (declared["fresh"]["pairs"]["transitions"], declared["fresh"]["within_lifetime"]["transitions"]) == (1, 1)
    assert declared["fresh"]["within_lifetime"]["pairs"] == 3
    assert [declared[name]["static_urls"] for name in ("fresh", "forbidden", "heuristic", "revalidate")] == [0, 1, 1, 1]
    (shared,) = report["one_answer_under_many_urls"]
    assert shared["urls"] == 5 and shared["examples"][0] == "GET https://b.example/x?0"
