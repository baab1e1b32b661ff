"""prophecy-measure analyze: figures of captures that are whole, and of captures that are not."""

import csv
import gzip
import hashlib
import json

from harness.programs import run_program
from warc_writer import members, response

PAGE = "https://a.example/page"
OTHER = "https://b.example/"


def analyze(*inputs):
    result = run_program("prophecy-measure", "analyze", *inputs, "--json", "-")
    return result, json.loads(result.stdout) if result.stdout else None


def test_transitions_follow_time_and_not_the_order_of_records(tmp_path):
    early, late = tmp_path / "early.warc.gz", tmp_path / "late.warc"
    early.write_bytes(members(response(PAGE, 5, b"new"), response(PAGE, 1, b"old"),
                              response(OTHER, 1, b"x", "Set-Cookie: a=1"),
                              response(OTHER, 2, b"x", status="503 Busy")))
    late.write_bytes(response(PAGE, 3, b"old") + response(PAGE, 7, gzip.compress(b"new"),
                                                          "Content-Encoding: gzip"))
    for inputs in [(early, late), (late, early)]:
        result, report = analyze(*inputs)
        assert result.returncode == 0, result.stderr
        assert (report["urls"], report["answers"], report["pairs"]) == (2, 6, 3)
        assert report["transitions"] == 1
        assert report["never_sketched"]["sets_cookie"] == 1
        assert report["never_sketched"]["transient_status"] == 1
        assert report["never_sketched"]["if_they_were"]["transitions"] == 2


def test_a_line_for_each_url(tmp_path):
    capture, folder = tmp_path / "a.warc", tmp_path / "new" / "folder"
    capture.write_bytes(b"".join(response(PAGE + '?a="b",c', i, b"%d" % (i // 2)) for i in range(5)))
    result = run_program("prophecy-measure", "analyze", capture, "--csv", folder)
    assert result.returncode == 0, result.stderr
    assert "1 URLs, 5 answers, 2 transitions in 4 pairs of sketched answers: 50.0 %" in result.stdout
    with open(folder / "urls.csv", newline="", encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert row["url"] == PAGE + '?a="b",c'
    assert (row["answers"], row["transitions"], row["ratio"]) == ("5", "2", "0.5")


def test_damage_is_reported_and_is_no_transition(tmp_path):
    whole = [response(PAGE, i, b"same page") for i in range(4)]
    start = len(members(whole[0]))
    for name, damaged in [
            ("cut body", members(whole[1].replace(b"same page\r\n\r\n", b"same\r\n\r\n"))),
            ("wrong length", members(whole[1].replace(b"Content-Length: 47",
                                                      b"Content-Length: 41"))),
            ("broken member", members(whole[1])[:-6] + b"\0\0\0\0\0\0"),
            ("false digest", members(whole[1].replace(
                b"WARC-Date", b"WARC-Payload-Digest: sha1:" + 32 * b"A" + b"\r\nWARC-Date")))]:
        capture = tmp_path / "a.warc.gz"
        capture.write_bytes(members(whole[0]) + damaged + members(*whole[2:]))
        result, report = analyze(capture)
        assert result.returncode == 3, name
        assert report["transitions"] == 0, name
        assert report["answers"] == 3, (name, report["inputs"])
        assert report["inputs"][0]["damage"][0]["offset"] == start, (name, report["inputs"])
        assert f"{capture}: offset {start}: " in result.stderr


def test_a_file_that_is_cut_keeps_its_whole_records(tmp_path):
    capture = tmp_path / "a.warc.gz"
    whole = members(*(response(PAGE, i, b"page") for i in range(3)))
    for size in range(len(whole) - 1, len(whole) * 2 // 3, -7):
        capture.write_bytes(whole[:size])
        result, report = analyze(capture)
        assert result.returncode == 3
        assert (report["answers"], report["transitions"]) == (2, 0)


def test_what_is_no_capture_is_unusable(tmp_path):
    for name, content in [("a.txt", b"hello"), ("empty", b""), ("a.gz", gzip.compress(b"hello"))]:
        (tmp_path / name).write_bytes(content)
        result, report = analyze(tmp_path / name)
        assert result.returncode == 2
        assert report["inputs"][0]["usable"] is False
    result, _ = analyze(tmp_path / "missing")
    assert result.returncode == 2
    assert "missing" in result.stderr
    assert run_program("prophecy-measure", "analyze").returncode == 2
    assert run_program("prophecy-measure", "--version").stdout.startswith("prophecy-measure ")


def test_figures_by_party_and_site(tmp_path):
    capture, folder = tmp_path / "a.warc", tmp_path / "out"
    urls = {"https://www.example.co.uk/": 0, "https://img.example.co.uk/": 5,
            "https://other.example/x": 0, "https://other.example/y": 30}
    # Each changes so many times within its 31 answers.
    capture.write_bytes(b"".join(response(url, i, b"%d" % min(i, changes))
                                 for url, changes in urls.items() for i in range(31)))
    named = ("--site", "www.example.co.uk", "--csv", folder)
    for mode, first in [("list", 1), ("same-site", 2)]:
        result = run_program("prophecy-measure", "analyze", "--json", "-",
                             "--first-party", mode, *named[2:], *named[:2], capture)
        report = json.loads(result.stdout)
        assert [party["urls"] for party in report["figure_15"]] == [first, 4 - first]
    assert [(site["site"], site["transitions"]) for site in report["sites"]] == [
        ("example.co.uk", 5), ("other.example", 30)]
    curve = next(curve for curve in report["figure_14"]
                 if (curve["minimum"], curve["weight"]) == (25, "url"))
    assert [curve["shares"][percent] for percent in (0, 16, 17, 99, 100)] == [
        0.5, 0.5, 0.75, 0.75, 1]
    assert [number["here"] for number in report["beside_the_paper"]["numbers"][:2]] == [0.5, 0.5]
    with open(folder / "figure_15.csv", newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 2 * 3 * 101


def test_how_much_of_a_changed_body_differs(tmp_path):
    rows = [hashlib.sha256(b"%d" % i).hexdigest().encode() for i in range(2000)]
    new_row, other_page = [*rows[:1000], b"new", *rows[1000:]], [row[::-1] for row in rows]
    bodies = [b"".join(each) for each in (rows, rows, new_row, other_page)]
    capture = tmp_path / "a.warc"
    capture.write_bytes(b"".join(response(PAGE, i, body) for i, body in enumerate(bodies)))
    _, report = analyze(capture)
    dynamic = report["dynamic_data"]
    assert report["transitions"] == dynamic["compared"] == 2
    assert (dynamic["one_edit"], dynamic["one_strict_edit"], dynamic["all_chunks"]) == (1, 1, 1)
    _, report = analyze("--spool", "100KiB", capture)
    assert report["dynamic_data"]["not_compared"]["too_large"] == 2
    _, report = analyze("--spool", "0", capture)
    assert (report["transitions"], report["dynamic_data"]["compared"]) == (2, 0)


def test_logs_and_indexes_give_weak_answers_alone(tmp_path):
    log, index = tmp_path / "access.log.gz", tmp_path / "index.cdx"
    lines = [f'192.0.2.1 - - [01/Jun/2025:12:00:0{i} +0000] "{request} HTTP/1.1" {status} {size} '
             '"-" "agent"\n' for i, (request, status, size) in enumerate([
                 ("GET /a", 200, 10), ("GET /a", 503, 3), ("GET /a", 200, 10), ("GET /a", 200, 11),
                 ("POST /a", 200, 1), ("GET /b?c", 304, "-")])]
    log.write_bytes(gzip.compress("".join([*lines, "nonsense\n"]).encode()))
    digests = ["A" * 32, "A" * 32, "B" * 32]
    index.write_text(" CDX N b a m s k r M S V g\n" + "".join(
        f"org,a)/ 2025060112000{i} https://a.org/ text/html {status} {digest} - - 1 2 f.warc.gz\n"
        for i, (status, digest) in enumerate(zip(("200", "-", "200"), digests))))
    result, report = analyze(log, index, "--log-origin", "https://b.org")
    assert result.returncode == 3
    assert [each["format"] for each in report["inputs"]] == ["access log", "CDX"]
    assert (report["urls"], report["answers"], report["transitions"], report["pairs"]) == (
        3, 8, 0, 0)
    assert report["weak"] == {"answers": 6, "transient_status": 2,
                              "if_believed": {"pairs": 4, "transitions": 2, "ratio": 0.5}}
    assert report["inputs"][0]["other_methods"] == 1
    assert report["damage_count"] == 1
