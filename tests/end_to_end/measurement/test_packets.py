"""Captures of packets: made up ones in all formats and disorders, and one of a real conversation, beside tshark."""

import csv
import gzip
import json

import pytest

import tshark
from harness.counted_site import CountedSite
from harness.programs import run_program
from packet_recorder import MAY_RECORD, recorded
from packet_writer import FIN, Conversation, pcap, pcapng, tcp


def analyze(path):
    result = run_program("prophecy-measure", "analyze", path, "--json", "-")
    return result.returncode, json.loads(result.stdout)


def ask(target, method="GET", body=b""):
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    return f"{method} {target} HTTP/1.1\r\nHost: a.example\r\n{length}\r\n".encode() + body


def answer(body, *fields, head=False):
    lines = "".join(field + "\r\n" for field in fields)
    return f"HTTP/1.1 200 OK\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + (b"" if head else body)


def chunked(body):
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


PAGE = b"".join(b"line %d\n" % i for i in range(1500))


def conversation():
    """Eight requests, six answers to GET and HEAD of two URLs, two transitions."""
    talk = Conversation()
    talk.ask(ask("/page"))
    talk.answer(answer(PAGE))
    talk.ask(ask("/page") + ask("/page", "HEAD") + ask("/page"))  # pipelined
    talk.answer(answer(PAGE) + answer(PAGE, head=True) + chunked(PAGE + b"more"))
    talk.ask(ask("/form", "POST", b"x" * 3000))
    talk.answer(b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"posted"))
    talk.ask(ask("/page"))
    talk.answer(answer(gzip.compress(PAGE), "Content-Encoding: gzip"))
    talk.ask(ask("/last"))
    talk.answer(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
    talk.close()
    return talk


@pytest.mark.parametrize("made", [
    pcap, lambda packets: pcap(packets, ">"), lambda packets: pcap(packets, nanoseconds=True), pcapng,
    lambda packets: pcapng(packets, ">"), lambda packets: gzip.compress(pcap(packets))],
    ids=["pcap", "big-endian", "nanoseconds", "pcapng", "big-endian pcapng", "gzip"])
def test_formats(made, tmp_path):
    path = tmp_path / "capture"
    path.write_bytes(made(conversation().packets))
    status, report = analyze(path)
    assert (status, report["inputs"][0]["format"]) == (0, "packets")
    assert (report["urls"], report["answers"], report["transitions"]) == (3, 6, 2)
    assert report["inputs"][0]["other_methods"] == 1
    if tshark.TSHARK is not None:
        # One to POST more, and one that is interim; not the one that ends with its connection.
        assert sorted(tshark.statuses(path, 80)) == ["100", *6 * ["200"]]


def test_disorder_is_put_in_order(tmp_path):
    packets = conversation().packets
    _, whole = analyze_of(packets, tmp_path)
    for disordered in [
            [packet for packet in packets for _ in range(2)],
            packets[:2] + [packet for i in range(2, len(packets) - 1, 2) for packet in (packets[i + 1], packets[i])]
            + packets[2 + (len(packets) - 2) // 2 * 2:]]:
        status, report = analyze_of(disordered, tmp_path)
        assert status == 0, report["inputs"]
        assert [report[name] for name in ("urls", "answers", "transitions")] == [
            whole[name] for name in ("urls", "answers", "transitions")]


def analyze_of(packets, folder):
    (folder / "capture").write_bytes(pcap(packets))
    return analyze(folder / "capture")


def test_an_answer_with_a_gap_is_never_sketched(tmp_path):
    packets = conversation().packets
    _, whole = analyze_of(packets, tmp_path)
    data = [i for i, packet in enumerate(packets) if len(packet) > 40]
    fewer = 0
    for lost in data:
        status, report = analyze_of(packets[:lost] + packets[lost + 1:], tmp_path)
        assert status == 3, lost
        assert report["damage_count"] == 1
        assert report["answers"] < whole["answers"]
        # Whatever is left was whole: no version of the page but the two that there are.
        assert report["transitions"] <= 2
        fewer += report["answers"]
    assert fewer > 0
    cut = [packet if i != data[-1] else packet[:60] for i, packet in enumerate(packets)]
    assert analyze_of(cut, tmp_path)[0] == 3


def test_damaged_files(tmp_path):
    whole = pcap(conversation().packets)
    for name, damaged in [("cut", whole[:-7]), ("length", whole[:32] + b"\xff\xff\xff\x7f" + whole[36:])]:
        (tmp_path / name).write_bytes(damaged)
        status, report = analyze(tmp_path / name)
        assert status == 3, name
        assert report["inputs"][0]["damage"][0]["problem"] in (
            "the file ends inside a packet", "a packet of an impossible length")


def test_other_protocols_and_connections_that_began_earlier_are_passed_over(tmp_path):
    encrypted = Conversation(client=("10.0.0.1", 40001), server=("10.0.0.2", 443))
    encrypted.ask(b"\x16\x03\x01\x00\x05hello")
    encrypted.answer(b"\x16\x03\x03\x00\x05hello")
    earlier = conversation().packets[2:]
    other = Conversation(client=("10.0.0.3", 40000))
    other.ask(ask("/page"))
    other.answer(answer(PAGE))
    packets = earlier + encrypted.packets + other.packets + [tcp(("10.0.0.9", 1), ("10.0.0.2", 2), 5, FIN)]
    status, report = analyze_of(packets, tmp_path)
    assert (status, report["answers"]) == (0, 1)


@pytest.mark.skipif(not MAY_RECORD, reason="needs tcpdump, and the right to capture")
def test_a_real_conversation(tmp_path):
    path = tmp_path / "packets.pcap"
    with CountedSite() as site:
        (tmp_path / "urls").write_text("".join(site.url("www", target) + "\n" for target in (
            "/", "/style.css", "/latin", "/random", "/old", "/binary", "/none")))
        with recorded(path, site.port, lambda: analyze(path)[1]["answers"] == sum(site.given().values())):
            result = run_program("prophecy-measure", "capture", "--plain", tmp_path / "urls", "--output",
                                 tmp_path / "out", "--interval", "1s", "--duration", "4s", "--delay", "0", timeout_s=60)
            assert result.returncode == 0, result.stderr
        result = run_program("prophecy-measure", "analyze", path, "--csv", tmp_path)
        assert result.returncode == 0, result.stderr
        with open(tmp_path / "urls.csv", newline="", encoding="utf-8") as file:
            rows = {row["url"]: row for row in csv.DictReader(file)}
        assert {url: int(row["answers"]) for url, row in rows.items()} == site.given()
        assert {url: int(row["transitions"]) for url, row in rows.items()} == site.transitions()
    if tshark.TSHARK is not None:
        told = tshark.answers(path, site.port)
        assert {url: len(each) for url, each in told.items()} == site.given()
        assert {url: sum(len(body) for _, _, body in each) for url, each in told.items()} == {
            url: int(row["body_bytes"]) for url, row in rows.items()}
        assert tshark.transitions(path, site.port) == site.transitions()
