"""Captures counted by the program, by a few lines over gzip and by warcio: all have to find the same."""

import collections
import gzip
import hashlib
import importlib
import json
import os
import sys
from pathlib import Path

import pytest

from harness.programs import run_program
from harness.warcio import warcio_folder
from warc_writer import members, record, response

NAME = "ota-demo-2025-06.warc.gz"


@pytest.fixture
def capture():
    folder = os.environ.get("PROPHECY_TEST_DATA")
    if not folder or not (Path(folder) / NAME).is_file():
        pytest.skip(f"PROPHECY_TEST_DATA names no folder with {NAME}")
    return Path(folder) / NAME


def records_by_hand(path):
    with gzip.open(path) as file:
        while line := file.readline():
            if line == b"\r\n":
                continue
            fields = {}
            while (line := file.readline()) != b"\r\n":
                name, value = line.decode().split(":", 1)
                fields[name.lower()] = value.strip()
            yield fields, file.read(int(fields["content-length"]))


def records_by_warcio(path):
    folder = warcio_folder()
    if folder is None:
        pytest.skip("warcio cannot be fetched")
    if folder not in sys.path:
        sys.path.append(folder)
    archive_iterator = importlib.import_module("warcio.archiveiterator").ArchiveIterator
    with open(path, "rb") as file:
        for record in archive_iterator(file, no_record_parse=True):
            fields = {name.lower(): value for name, value in record.rec_headers.headers}
            yield fields, record.raw_stream.read()


def count(records):
    """URLs, answers and transitions: pairs of neighbours, in time, with another payload or type."""
    payloads, answers = {}, collections.defaultdict(list)
    for fields, block in records:
        if fields["warc-type"] not in ("response", "revisit"):
            continue
        head, _, body = block.partition(b"\r\n\r\n")
        if fields["warc-type"] == "response":
            payloads[fields["warc-payload-digest"]] = hashlib.sha256(body).hexdigest()
        kept = sorted(line for line in head.lower().split(b"\r\n")
                      if not line.startswith(b"content-length:"))
        answers[fields["warc-target-uri"]].append(
            (fields["warc-date"], kept, payloads[fields["warc-payload-digest"]]))
    transitions = sum(one[1:] != other[1:] for each in answers.values()
                      for one, other in zip(sorted(each, key=lambda answer: answer[0]),
                                            sorted(each, key=lambda answer: answer[0])[1:]))
    return len(answers), sum(map(len, answers.values())), transitions


@pytest.mark.parametrize("records", [records_by_hand, records_by_warcio])
def test_the_program_counts_as_others_do(capture, records):
    result = run_program("prophecy-measure", "analyze", capture, "--json", "-")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["urls"], report["answers"]) == (16, 528)
    assert (16, 528, report["transitions"]) == count(records(capture))
    assert '"urls": 16,' in result.stdout and '"answers": 528,' in result.stdout
    dynamic = report["dynamic_data"]
    assert dynamic["compared"] + sum(dynamic["not_compared"].values()) == report["transitions"]
    assert sum(dynamic["by_percent_of_chunks"]) == dynamic["compared"]


@pytest.mark.parametrize("records", [records_by_hand, records_by_warcio])
def test_a_made_up_capture_is_counted_as_others_do(records, tmp_path):
    """Bodies that look like records, a revisit with a head, a record of another kind."""
    url, other = "https://a.example/page", "https://a.example/other?a=b"
    bodies = [b"one", b"one", b"two\r\n\r\nWARC/1.1", b"", b"one"]
    capture = tmp_path / "a.warc.gz"

    def digested(made, body):
        digest = hashlib.sha1(body).hexdigest()
        return made.replace(b"WARC-Date", f"WARC-Payload-Digest: sha1:{digest}\r\nWARC-Date".encode())

    made = [digested(response(each, 2 * i, body, "Content-Type: text/plain"), body)
            for i, body in enumerate(bodies) for each in (url, other)]
    made.insert(3, record("metadata", b"a: b", WARC_Target_URI=url, WARC_Date="2025-06-01T00:00:01Z"))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n"
    made.append(record("revisit", head, WARC_Target_URI=url, WARC_Date="2025-06-01T00:00:11Z",
                       WARC_Payload_Digest=f"sha1:{hashlib.sha1(b'one').hexdigest()}"))
    capture.write_bytes(members(*made))
    result = run_program("prophecy-measure", "analyze", capture, "--json", "-")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["urls"], report["answers"], report["transitions"]) == count(records(capture)) == (2, 11, 6)
