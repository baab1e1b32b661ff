"""prophecy-measure generate makes crawls whose transitions are known: each reader has to find just these, in
captures that are whole, compressed, divided into files, or sketched before."""

import gzip
import json

import pytest

from harness.programs import run_program

PLAN = ("--urls", 60, "--rounds", 31, "--body", 3000, "--seed", 7)

# Members whose figures need bodies.
BODIES = ("declared_caching", "dynamic_data", "beside_the_paper", "causes", "costly_urls")


def generate(path, name, *plan):
    result = run_program("prophecy-measure", "generate", path, "--format", name, *(plan or PLAN))
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def analyze(*arguments):
    result = run_program("prophecy-measure", "analyze", "--json", "-", *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def without_inputs(report, *others):
    return {key: value for key, value in report.items() if key not in ("inputs", *others)}


@pytest.fixture(scope="module", name="crawl")
def fixture_crawl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crawl")
    files = {name: folder / f"crawl.{name}" for name in ("warc", "har", "sketch-log")}
    (known,) = {json.dumps(generate(path, name)) for name, path in files.items()}
    return files, json.loads(known)


def test_all_formats_give_the_figures_that_are_known(crawl):
    files, known = crawl
    reports = {name: analyze(path) for name, path in files.items()}
    for name, report in reports.items():
        assert {key: report[key] for key in known} == known, name
        assert report["damage_count"] == 0
    assert without_inputs(reports["har"]) == without_inputs(reports["warc"])
    # A sketch log has no bodies to compare.
    assert without_inputs(reports["sketch-log"], *BODIES) == without_inputs(reports["warc"], *BODIES)
    assert reports["warc"]["dynamic_data"]["compared"] == known["transitions"]
    assert reports["sketch-log"]["dynamic_data"]["not_compared"]["no_body"] == known["transitions"]
    formats = [report["inputs"][0]["format"] for report in reports.values()]
    assert formats == ["WARC", "HAR", "sketch log"]


def test_a_capture_s_sketch_log_stands_for_it(crawl, tmp_path):
    files, _ = crawl
    log = tmp_path / "log"
    report = analyze(files["warc"], "--sketch-log", log)
    assert log.read_bytes() == files["sketch-log"].read_bytes()
    compressed = tmp_path / "log.gz"
    compressed.write_bytes(gzip.compress(log.read_bytes(), 1))
    again = analyze(compressed)
    assert without_inputs(again, *BODIES) == without_inputs(report, *BODIES)
    run = run_program("prophecy-measure", "analyze", files["har"], "--sketch-log", tmp_path / "no" / "log")
    assert run.returncode == 2
    assert "no/log" in run.stderr


def test_several_hars_and_compressed_ones(crawl, tmp_path):
    files, known = crawl
    har = json.loads(files["har"].read_bytes())
    entries = har["log"]["entries"]
    paths = []
    for name, part in [("late.har.gz", entries[900:]), ("early.har", entries[:900])]:
        text = json.dumps({"log": {**har["log"], "pages": [{"id": "1"}], "entries": part}}).encode()
        paths.append(tmp_path / name)
        paths[-1].write_bytes(gzip.compress(text) if name.endswith(".gz") else b"\xef\xbb\xbf" + text)
    report = analyze(*paths)
    assert {key: report[key] for key in known} == known


def test_entries_that_are_not_whole(crawl, tmp_path):
    files, _ = crawl
    har = json.loads(files["har"].read_bytes())
    entries = har["log"]["entries"][:120]  # two rounds
    entries[0]["response"]["content"].pop("text")
    entries[1]["response"]["status"] = 0
    entries[2]["request"]["method"] = "POST"
    entries[3]["startedDateTime"] = "yesterday"
    entries[4]["_fromCache"] = "disk"
    path = tmp_path / "odd.har"
    text = json.dumps({"log": {"entries": entries}})
    path.write_text(text)
    result = run_program("prophecy-measure", "analyze", path, "--json", "-")
    report = json.loads(result.stdout)
    assert result.returncode == 3
    assert (report["answers"], report["weak"]["answers"]) == (116, 1)
    assert report["inputs"][0]["other_methods"] == 1
    offset = report["inputs"][0]["damage"][0]["offset"]
    assert text[offset:].startswith(json.dumps(entries[3])[:40])
    # A file that is cut: what came before counts.
    path.write_text(text[:len(text) // 2])
    result = run_program("prophecy-measure", "analyze", path, "--json", "-")
    assert result.returncode == 3
    assert 40 < json.loads(result.stdout)["answers"] < 70


def test_sketches_of_another_form_are_not_mixed_in(crawl, tmp_path):
    files, known = crawl
    lines = files["sketch-log"].read_text().splitlines(keepends=True)
    log = tmp_path / "log"
    form = json.loads(lines[0])["form"]
    log.write_text("".join([*lines, lines[0].replace(form, form[::-1]), *lines[1:]]))
    result = run_program("prophecy-measure", "analyze", log, "--json", "-")
    report = json.loads(result.stdout)
    assert result.returncode == 3
    assert {key: report[key] for key in known} == known
    assert "another canonical form" in result.stderr


def test_an_index_with_json_is_weak(tmp_path):
    index = tmp_path / "index.cdxj"
    index.write_text("".join(
        f'org,a)/ 2025060112000{i} {{"url": "https://a.org/", "status": "200", "digest": "sha1:{digest}"}}\n'
        for i, digest in enumerate([32 * "A", 32 * "A", 32 * "B"])))
    report = analyze(index)
    assert report["inputs"][0]["format"] == "CDXJ"
    assert report["weak"]["if_believed"] == {"pairs": 2, "transitions": 1, "ratio": 0.5}
    assert report["pairs"] == 0


def test_generate_writes_to_standard_output_and_refuses_what_it_cannot_write(tmp_path):
    path = tmp_path / "a.warc"
    generate(path, "warc", "--urls", 3, "--rounds", 2)
    result = run_program("prophecy-measure", "generate", "-", "--urls", 3, "--rounds", 2)
    assert result.stdout == path.read_text()
    assert run_program("prophecy-measure", "generate", tmp_path / "no" / "a").returncode == 2
    assert run_program("prophecy-measure", "generate", path, "--format", "pcap").returncode == 2
