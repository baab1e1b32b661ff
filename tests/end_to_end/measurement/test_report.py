"""The report of prophecy-measure: one page whose numbers are those of the JSON output, and plots."""

import csv
import html.parser
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

from harness.build import patience
from harness.programs import run_program
from maxmind_writer import database
from warc_writer import response


class Page(html.parser.HTMLParser):
    """What a page shows, by its place in the data; the data; and the addresses that it names."""

    def __init__(self, text):
        super().__init__()
        self.shown, self.data, self.addresses = [], "", []
        self._path = self._in_data = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self._in_data = tag == "script"
        if tag == "script":
            assert attributes == {"type": "application/json", "id": "figures"}
        self._path = (attributes["data-path"], attributes["data-as"]) if "data-path" in attributes else None
        self.addresses += [attributes[name] for name in ("src", "href") if name in attributes]

    def handle_endtag(self, tag):
        self._path = self._in_data = None

    def handle_data(self, data):
        if self._path:
            self.shown.append((*self._path, data))
        if self._in_data:
            self.data += data


def value_at(report, path):
    for step in path.split("."):
        report = report[int(step) if isinstance(report, list) else step]
    return report


def as_shown(value, kind):
    return {"count": f"{value:,}", "percent": f"{100 * value:.1f} %", "amount": f"{value:.1f}"}[kind]


def analyze(*arguments):
    result = run_program("prophecy-measure", "analyze", "--json", "-", *arguments)
    assert result.returncode in (0, 3), result.stderr
    return json.loads(result.stdout)


@pytest.fixture(scope="module", name="captures")
def fixture_captures(tmp_path_factory):
    """A crawl, and a capture of pages and fields that are hostile to the page, and damaged."""
    folder = tmp_path_factory.mktemp("captures")
    crawl, odd = folder / "crawl.warc", folder / "<odd>&.warc"
    assert run_program("prophecy-measure", "generate", crawl, "--urls", 120, "--rounds", 30,
                       "--body", 2000).returncode == 0
    hostile = b"<p>\xff\x00</script><script>alert(%d)</script>"
    odd.write_bytes(b"".join([
        *(response("https://odd.example/<b>&\"'", i, hostile % i, f"X-Trace: {i}") for i in range(9)),
        *(response("https://traced.example/", i, b"same", f"X-Trace: {i}") for i in range(5))]) + b"WARC/1.1")
    return crawl, odd


def report_of(captures, folder, *options):
    path = folder / "report.html"
    report = analyze(*captures, "--report", path, "--site", "www.site-0.example", *options)
    return report, path


def test_the_page_shows_the_numbers_of_the_data(captures, tmp_path):
    report, path = report_of(captures, tmp_path)
    page = Page(path.read_text(encoding="utf-8"))
    assert json.loads(page.data) == report
    assert len(page.shown) > 100
    for place, kind, text in page.shown:
        assert text == as_shown(value_at(report, place), kind), place
    shown = {place for place, _, _ in page.shown}
    assert {"urls", "answers", "transitions", "ratio", "beside_the_paper.numbers.5.here",
            "causes.classes.0.words", "costly_urls.0.ratio", "cost.prophecy", "sites.0.cost",
            "inputs.1.damage_count"} <= shown
    assert page.addresses == ["data:,"], "a page that needs nothing beside it"


def test_causes_of_changes(captures, tmp_path):
    report, _ = report_of(captures, tmp_path)
    causes = report["causes"]
    assert causes["fields_alone"] == [{"fields": "x-trace", "transitions": 4}]
    classes = {each["class"]: each["transitions"] for each in causes["classes"]}
    assert min(classes["random_identifier"], classes["timestamp"], classes["counter"]) > 0
    assert 0 < causes["avoidable"] < causes["followed"] <= causes["bodies_differ"]
    costly = report["costly_urls"]
    assert len(costly) == 20
    assert [url["transitions"] for url in costly] == sorted((url["transitions"] for url in costly), reverse=True)
    assert costly[0]["before"] != costly[0]["after"]


def test_the_cost_model_of_section_3_4(captures):
    report = analyze(captures[0], "--replicas", 4, "--fast-read-cost", 2, "--replicated-read-cost", 10,
                     "--history-cost", 0.5)
    cost = report["cost"]
    assert cost["prophecy"] == pytest.approx(2 + 2 * 0.5 + report["ratio"] * (4 * 10 + 0.5))
    assert (cost["read_optimised"], cost["replicated"]) == (8, 40)


def test_sites_by_prefix(captures, tmp_path):
    prefixes = tmp_path / "prefixes"
    prefixes.write_text("10.0.0.0/31 one\n10.0.0.0/8 rest  # of them\n2001:db8::/32\n")
    report, path = report_of(captures, tmp_path, "--prefixes", prefixes, "--csv", tmp_path, "--plots", tmp_path)
    figure = report["figure_16"]
    assert (figure["by"], figure["urls_without_site"]) == ("prefix", 2)
    assert [(site["site"], site["urls"]) for site in figure["curves"]] == [("rest", 70), ("one", 50)]
    with open(tmp_path / "figure_16.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * 101
    assert [float(row["share"]) for row in rows[:101]] == pytest.approx(figure["curves"][0]["shares"], abs=1e-5)
    svgs = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert svgs == ["figure_14_URLs.svg", "figure_14_bytes.svg", "figure_14_requests.svg", "figure_15.svg",
                    "figure_16.svg"]
    for name in svgs:
        xml.etree.ElementTree.parse(tmp_path / name)
    assert "an address prefix" in path.read_text()
    prefixes.write_text("10.0.0.0/31 one\nnonsense\n")
    result = run_program("prophecy-measure", "analyze", captures[0], "--prefixes", prefixes)
    assert result.returncode == 2
    assert f"{prefixes}:2: " in result.stderr


def test_sites_by_a_database(captures, tmp_path):
    path = tmp_path / "sites.mmdb"
    one = {"country": {"iso_code": "DE"}, "city": {"names": {"en": "Berlin"}}}
    rest = {"autonomous_system_organization": "A hoster"}
    for version in (4, 6):
        path.write_bytes(database({"10.0.0.0/31": one, "10.0.0.2/31": rest}, version))
        figure = analyze(captures[0], "--prefixes", path)["figure_16"]
        assert figure["by"] == "prefix"
        assert {site["site"] for site in figure["curves"]} <= {"10.0.0.0/31 DE Berlin", "10.0.0.2/31 A hoster"}
        assert sum(site["urls"] for site in figure["curves"]) + figure["urls_without_site"] == 120
        assert figure["curves"][0]["urls"] > 10
    path.write_bytes(b"\xab\xcd\xefMaxMind.com" + bytes(100))
    assert run_program("prophecy-measure", "analyze", captures[0], "--prefixes", path).returncode == 2


def test_plots_as_pictures(captures, tmp_path):
    if not shutil.which("chromium"):
        pytest.skip("no chromium")
    result = run_program("prophecy-measure", "analyze", captures[0], "--plots", tmp_path, "--png", timeout_s=90)
    assert result.returncode == 0, result.stderr
    pictures = sorted(tmp_path.glob("*.png"))
    assert [path.stem for path in pictures] == sorted(path.stem for path in tmp_path.glob("*.svg"))
    for path in pictures:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) > 5000
        assert int.from_bytes(data[16:20], "big") > 1000, "pixels of a line"
    assert run_program("prophecy-measure", "analyze", captures[0], "--png").returncode == 2


def test_the_minimum_of_requests_can_be_chosen(captures):
    assert analyze(captures[0])["beside_the_paper"]["urls"] == 120
    report = analyze(captures[0], "--minimum", 31)
    assert (report["beside_the_paper"]["urls"], report["beside_the_paper"]["minimum"]) == (0, 31)


def test_chromium_shows_the_page_without_a_complaint(captures, tmp_path):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if not chromium:
        pytest.skip("no chromium")
    report, path = report_of(captures, tmp_path)
    result = subprocess.run(
        [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0",
         f"--user-data-dir={tmp_path / 'profile'}", "--window-size=390,844", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, check=False, timeout=60 * patience(),
        env={**os.environ, "HOME": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    assert not re.findall(r"CONSOLE.*", result.stderr), result.stderr
    shown = Page(result.stdout).shown
    assert ("transitions", "count", f"{report['transitions']:,}") in shown
    assert "<script>alert" not in result.stdout
