"""Inputs that are damaged or hostile: what is wrong is reported with file and offset, the rest is analysed, the exit
status tells, and nothing is a transition because of damage."""

import gzip
import json
import zlib

import pytest

from harness.programs import run_program
from packet_writer import Conversation, pcap
from warc_writer import members, record, response

URL, OTHER = "https://a.example/page", "https://a.example/other"
BODY = b"the same page at all times\n" * 20


def analyze(*inputs):
    result = run_program("prophecy-measure", "analyze", *inputs, "--json", "-", timeout_s=60)
    return result, json.loads(result.stdout)


def expect_damage(path, content, offset, answers, *problems):
    """The file has damage at this offset, and so many answers, none of which differs."""
    path.write_bytes(content)
    result, report = analyze(path)
    assert result.returncode == 3, result.stderr
    assert (report["answers"], report["transitions"]) == (answers, 0)
    found = report["inputs"][0]["damage"]
    assert report["damage_count"] == len(found) >= 1
    assert found[0]["file"] == str(path) and found[0]["offset"] == offset, found
    assert f"{path}: offset {offset}: " in result.stderr
    for problem in problems:
        assert problem in found[0]["problem"], found


def warc_of(head, body, url=URL, second=1):
    """A record whose HTTP answer is written as it stands."""
    block = head.encode() + b"\r\n\r\n" + body
    return record("response", block, WARC_Target_URI=url, WARC_Date=f"2025-06-01T00:00:{second:02}Z")


def pages(*seconds, url=URL):
    return [response(url, second, BODY) for second in seconds]


def har(*entries, end="]}}"):
    texts = [json.dumps({"startedDateTime": f"2025-06-01T00:00:0{i}Z", "request": {"method": "GET", "url": URL},
                         "response": {"status": 200, "headers": [],
                                      "content": {"size": len(BODY), "text": BODY.decode()}}})
             if entry is None else entry for i, entry in enumerate(entries)]
    return ('{"log":{"version":"1.2","entries":[' + ",".join(texts) + end).encode()


def test_files_that_end_early(tmp_path):
    first, second, third = pages(0, 1, 2)
    expect_damage(tmp_path / "a.warc", first + second + third[:-30], len(first + second), 2, "ends inside a record")
    whole = members(first, second)
    expect_damage(tmp_path / "a.warc.gz", whole + members(third)[:-20], len(whole), 2)
    text = har(None, None, None)
    expect_damage(tmp_path / "a.har", text[:-200], len(text) - 200, 2)
    talk = conversation(BODY, BODY)
    expect_damage(tmp_path / "a.pcap", pcap(talk.packets)[:-5], len(pcap(talk.packets[:-1])), 1, "ends inside a packet")
    log = tmp_path / "log"
    (tmp_path / "b.warc").write_bytes(first + second + third)
    assert run_program("prophecy-measure", "analyze", tmp_path / "b.warc", "--sketch-log", log).returncode == 0
    lines = log.read_bytes().splitlines(keepends=True)
    expect_damage(tmp_path / "cut.log", b"".join(lines)[:-20], len(b"".join(lines[:-1])), 2)


@pytest.mark.parametrize("length", [0, 5, 10**6, 10**17])
def test_lengths_that_are_wrong(length, tmp_path):
    first, second, third = pages(0, 1, 2)
    size = second.split(b"Content-Length: ")[1].split(b"\r\n")[0]
    wrong = second.replace(b"Content-Length: " + size, b"Content-Length: %d" % length, 1)
    # Behind a length that reaches beyond the file nothing can be found, unless a member ends.
    expect_damage(tmp_path / "a.warc", first + wrong + third, len(first), 2 if length < 10**6 else 1)
    expect_damage(tmp_path / "a.warc.gz", members(first, wrong, third), len(members(first)), 2)


def test_chunked_bodies_without_an_end(tmp_path):
    head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
    first, third = pages(0, 2)
    chunks = b"%x\r\n%s\r\n" % (len(BODY), BODY) * 100
    for body in (chunks, chunks + b"0\r\n", b"ffffffffff\r\n", b"1\r\na\r\n" * 5000 + b"zz\r\n"):
        expect_damage(tmp_path / "a.warc", first + warc_of(head, body) + third, len(first), 2)
    talk = conversation(BODY)
    talk.ask(b"GET /endless HTTP/1.1\r\nHost: a.example\r\n\r\n")
    talk.answer(head.encode() + b"\r\n\r\n" + chunks)
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(talk.packets))
    result, report = analyze(path)
    assert (result.returncode, report["answers"], report["damage_count"]) == (3, 1, 1), result.stderr


def test_bodies_that_expand_to_no_end_or_not_at_all(tmp_path):
    head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip"
    first, third = pages(0, 2)
    # Expands to 100 MiB, which is no damage, and is not held: it differs from the page, and is told so.
    bomb = gzip.compress(bytes(100 << 20), mtime=0)
    (tmp_path / "bomb.warc").write_bytes(b"".join(
        [first, warc_of(head, bomb, OTHER, 1), warc_of(head, bomb, OTHER, 2), third]))
    result, report = analyze(tmp_path / "bomb.warc")
    assert (result.returncode, report["answers"], report["transitions"]) == (0, 4, 0)
    assert report["body_bytes"] == 2 * (100 << 20) + 2 * len(BODY)
    for body in (gzip.compress(BODY)[:-12], b"\x1f\x8b no gzip", zlib.compress(BODY)[:10]):
        expect_damage(tmp_path / "a.warc", first + warc_of(head, body) + third, len(first), 2, "content coding")


@pytest.mark.parametrize("entry", [
    "[" * 100_000, '{"a":' * 100_000, '{"request":{"method":"GET","url":' + '"' + "x" * 100_000, "NaN", "{,}", '"\x01"',
    '{"startedDateTime":"yesterday","request":{"method":"GET","url":"https://a.example/"},"response":{"status":200}}'],
    ids=["arrays", "objects", "a text", "a word", "a comma", "a control byte", "a time"])
def test_hostile_json(entry, tmp_path):
    path = tmp_path / "a.har"
    path.write_bytes(har(None, None, entry, None))
    result, report = analyze(path)
    assert result.returncode == 3, result.stderr
    assert 2 <= report["answers"] <= 3 and report["transitions"] == 0
    offset = report["inputs"][0]["damage"][0]["offset"]
    assert offset >= len(har(None, None, end="")), "the entries before are whole"


def test_json_that_is_wrong_in_one_line_of_a_log(tmp_path):
    lines = [f'{{"prophecy_access":1,"time":{1_750_000_000 + i}.000000,"method":"GET","url":"{URL}","status":200,'
             f'"bytes":1,"by":"fast","variant":"00000000","sketch":"{40 * "a"}"}}' for i in range(3)]
    for wrong in ("{", "[" * 10_000, lines[0][:-1], lines[0].replace(URL, "\\ud800"),
                  lines[0].replace(":200,", ":-1e9,")):
        content = "\n".join([lines[0], wrong, *lines[1:], ""]).encode()
        expect_damage(tmp_path / "access.jsonl", content, len(lines[0]) + 1, 3)


def test_clocks_that_disagree(tmp_path):
    """Records in no order, of two captures whose clocks differ, and one that has none."""
    dateless = response(URL, 1, b"of no time").replace(b"2025-06-01T00:00:01Z", b"2025-13-01T99:00:01Z")
    ahead, behind = tmp_path / "ahead.warc", tmp_path / "behind.warc"
    ahead.write_bytes(b"".join(reversed(pages(3605, 3606, 3607))))
    behind.write_bytes(b"".join([*pages(6, 5), dateless, *pages(7)]))
    result, report = analyze(ahead, behind)
    assert (result.returncode, report["answers"], report["transitions"]) == (3, 6, 0)
    assert report["inputs"][1]["damage"][0]["problem"] == "WARC-Date is no time"
    packets = pcap(conversation(BODY, BODY, BODY).packets)
    # Each packet is a year earlier than the one before it.
    turned = bytearray(packets)
    place, year = 24, 0
    while place < len(turned):
        turned[place:place + 4] = (1_750_000_000 - year * 31_536_000).to_bytes(4, "little")
        year += 1
        place += 16 + int.from_bytes(turned[place + 8:place + 12], "little")
    (tmp_path / "a.pcap").write_bytes(turned)
    result, report = analyze(tmp_path / "a.pcap")
    assert (result.returncode, report["answers"], report["transitions"]) == (0, 3, 0)


def test_one_url_under_two_encodings(tmp_path):
    """Percent-encodings make two URLs, letters of the host one; a coding of the content makes no difference."""
    coded = gzip.compress(BODY)
    (tmp_path / "a.warc").write_bytes(b"".join([
        response("https://a.example/%7Ea", 0, b"one"), response("https://a.example/~a", 1, b"two"),
        response("https://a.example/caf%E9", 0, b"one"), response("https://a.example/caf%C3%A9", 1, b"two"),
        response("HTTPS://A.example:443/page", 0, BODY), response(URL, 1, coded, "Content-Encoding: gzip"),
        response(URL, 2, zlib.compress(BODY), "Content-Encoding: deflate"), *pages(3)]))
    result, report = analyze(tmp_path / "a.warc")
    assert result.returncode == 0, result.stderr
    assert (report["urls"], report["answers"], report["pairs"], report["transitions"]) == (5, 8, 3, 0)


def test_an_input_that_is_none_does_not_hide_the_others(tmp_path):
    (tmp_path / "a.warc").write_bytes(b"".join(pages(0, 1)))
    (tmp_path / "none").write_bytes(bytes(1000))
    result, report = analyze(tmp_path / "none", tmp_path / "a.warc", tmp_path / "missing")
    assert (result.returncode, report["answers"], report["pairs"]) == (2, 2, 1)
    assert [each["usable"] for each in report["inputs"]] == [False, True, False]


@pytest.mark.parametrize("options", [
    ("--minimum", "-1"), ("--minimum", "99999999999999999999"), ("--spool", "-1"), ("--fast-read-cost", "nan"),
    ("--replicas", "0"), ("--prefixes", "."), ("--prefixes", "/dev/null"), ("--site", ""), ("--site", ".."),
    ("--site", "a b"), ("--log-origin", "a.example"), ("--log-origin", "https://a.example/x"),
    ("--canonical", "/dev/null"),
    ("--json", "/dev/full"), ("--report", "/dev/full"), ("--temporary-folder", "/nonexistent")])
def test_options_that_mean_nothing_are_refused(options, tmp_path):
    (tmp_path / "a.warc").write_bytes(b"".join(pages(0, 1)))
    result = run_program("prophecy-measure", "analyze", tmp_path / "a.warc", *options)
    assert result.returncode == 2, result.stdout
    assert result.stderr.count("\n") <= 2 and result.stderr


def test_no_input_is_overwritten(tmp_path):
    path, log = tmp_path / "a.warc", tmp_path / "access.log"
    for file, content in ((path, b"".join(pages(0, 1))), (log, b"one\n")):
        file.write_bytes(content)
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(file)
        for option in ("--sketch-log", "--json", "--report"):
            result = run_program("prophecy-measure", "analyze", path, "--access-log", log, option, tmp_path / "link")
            assert result.returncode == 2 and "would be overwritten" in result.stderr
            assert file.read_bytes() == content


def test_nothing_is_counted_twice(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "round-000001.warc.gz").write_bytes(members(*pages(0, 1, 2)))
    (site / "capture.json").write_text('{"prophecy_capture": 1}')
    assert run_program("prophecy-measure", "capture", "--replay", site).returncode == 0
    (tmp_path / "link").symlink_to(site / "round-000001.warc.gz")
    result, report = analyze(site, *sorted(site.iterdir()), tmp_path / "link")
    assert (result.returncode, report["answers"], len(report["inputs"])) == (0, 3, 1), result.stderr
    assert len(result.stderr.splitlines()) == 4
    result, report = analyze(site / "round-000001.sketches.jsonl")
    assert (result.returncode, report["answers"], result.stderr) == (0, 3, "")


def test_a_site_may_be_named_by_a_url(tmp_path):
    (tmp_path / "a.warc").write_bytes(b"".join(pages(0, 1)))
    for site in ("A.example", "a.example.", "https://a.example/x", "a.example:8443"):
        result = run_program("prophecy-measure", "analyze", tmp_path / "a.warc", "--site", site, "--json", "-")
        assert [party["urls"] for party in json.loads(result.stdout)["figure_15"]] == [1, 0], site


def conversation(*bodies):
    talk = Conversation()
    for body in bodies:
        talk.ask(b"GET /page HTTP/1.1\r\nHost: a.example\r\n\r\n")
        talk.answer(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    return talk
