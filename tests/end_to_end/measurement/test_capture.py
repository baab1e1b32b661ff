"""prophecy-measure capture, in front of a site that counts its own transitions."""

import csv
import json
import operator
import shutil
import signal
import subprocess
import threading
from contextlib import ExitStack

import pytest

import tshark

from harness.apache import Apache, load_module
from harness.build import patience
from harness.certificates import Authority
from harness.counted_site import CountedSite, brotli
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.programs import program, run_program
from packet_recorder import MAY_RECORD, recorded

CHROMIUM = shutil.which("chromium")


def capture(*arguments, timeout_s=120):
    return run_program("prophecy-measure", "capture", *arguments, timeout_s=timeout_s)


def urls_of(*inputs, folder, statuses=(0,)):
    """What an analysis says of each URL: answers, transitions, address."""
    result = run_program("prophecy-measure", "analyze", *inputs, "--csv", folder, "--json", folder / "figures")
    assert result.returncode in statuses, result.stderr
    with open(folder / "urls.csv", newline="", encoding="utf-8") as file:
        rows = {row["url"]: row for row in csv.DictReader(file)}
    return rows, json.loads((folder / "figures").read_text())


def counts(rows, column):
    return {url: int(row[column]) for url, row in rows.items()}


@pytest.fixture(name="site")
def _site():
    with CountedSite() as site:
        yield site


def write_list(path, *urls):
    path.write_text("# a comment\n\n" + "".join(url + "\n" for url in urls))
    return path


def test_nothing_is_captured_without_a_list(tmp_path):
    result = capture("--output", tmp_path / "out")
    assert result.returncode == 2 and "--plain FILE" in result.stderr
    for text in ("", "# none\n", "ftp://a.example/\n", "http://a.example/ b\n"):
        (tmp_path / "list").write_text(text)
        assert capture("--plain", tmp_path / "list", "--output", tmp_path / "out").returncode == 2
    assert not (tmp_path / "out").exists()


def test_plain_capture_finds_what_the_server_has_counted(site, tmp_path):
    targets = ["/app.js", "/style.css", "/latin", "/random", "/old", "/binary", "/none"]
    listed = write_list(tmp_path / "list", *(site.url("www", target) for target in targets),
                        site.url("img", "/logo.svg"))
    out = tmp_path / "out"
    result = capture("--plain", listed, "--output", out, "--interval", "1s", "--duration", "5s", "--delay", "0")
    assert result.returncode == 0, result.stderr
    assert "5 of 5 rounds" in result.stdout
    rows, report = urls_of(out, folder=tmp_path)
    assert counts(rows, "answers") == site.given()
    assert counts(rows, "transitions") == site.transitions()
    assert sum(site.transitions().values()) > 8
    assert report["inputs"][0]["format"] == "WARC"
    # The sketch logs hold the same.
    again, _ = urls_of(*sorted(out.glob("*.sketches.jsonl")), folder=tmp_path)
    assert again == rows
    for log in out.glob("*.sketches.jsonl"):
        log.unlink()
    assert capture("--replay", out).returncode == 0
    again, _ = urls_of(*sorted(out.glob("*.sketches.jsonl")), folder=tmp_path)
    assert again == rows


def test_a_capture_goes_on_where_it_was_interrupted(site, tmp_path):
    listed = write_list(tmp_path / "list", site.url("www", "/random"), site.url("www", "/app.js"))
    arguments = ["--plain", listed, "--output", tmp_path / "out", "--interval", "1s", "--duration", "4s"]
    with subprocess.Popen([program("prophecy-measure"), "capture", *arguments], stdout=subprocess.PIPE) as child:
        try:
            wait_until(lambda: list((tmp_path / "out").glob("*-000002.warc.gz")), 20, "the second round")
        finally:
            child.send_signal(signal.SIGTERM)
            output, _ = child.communicate(timeout=20 * patience())
    assert child.returncode == 0 and b"the same command goes on with it" in output
    # A round that was killed while it was written.
    (tmp_path / "out" / "round-000003.warc.gz.part").write_bytes(b"\x1f\x8b rest")
    other = capture("--plain", listed, "--output", tmp_path / "out", "--interval", "2s")
    assert other.returncode == 2 and "choose another folder" in other.stderr
    result = capture(*arguments)
    assert result.returncode == 0 and "goes on with round" in result.stdout
    assert len(list((tmp_path / "out").glob("*.warc.gz"))) == 4
    assert not list((tmp_path / "out").glob("*.part"))
    rows, _ = urls_of(tmp_path / "out", folder=tmp_path)
    assert set(counts(rows, "answers").values()) == {4}
    assert capture(*arguments).stdout.startswith("4 of 4 rounds")


def test_a_server_that_asks_for_a_pause_gets_it(site, tmp_path):
    listed = write_list(tmp_path / "list", site.url("busy", "/busy"), site.url("busy", "/plain"),
                        site.url("www", "/plain"))
    result = capture("--plain", listed, "--output", tmp_path / "out", "--interval", "1s", "--duration", "3s")
    assert result.returncode == 3
    assert "asked for a pause; 1 URLs were skipped" in result.stderr
    assert site.given() == {site.url("busy", "/busy"): 1, site.url("www", "/plain"): 3}


def test_failures_are_reported_and_are_no_answers(site, tmp_path):
    with_dead = write_list(tmp_path / "list", "http://127.0.0.1:1/", site.url("www", "/app.js"))
    result = capture("--plain", with_dead, "--output", tmp_path / "out", "--body-max", "100")
    assert result.returncode == 3
    assert "http://127.0.0.1:1/: " in result.stderr and "larger than --body-max" in result.stderr
    assert "0 answers, 2 failures" in result.stdout


def test_answers_that_are_none_do_not_end_a_capture(site, tmp_path):
    targets = ("/damaged", "/strange", "/control", "/app.js")
    listed = write_list(tmp_path / "list", *(site.url("www", target) for target in targets))
    out = tmp_path / "out"
    result = capture("--plain", listed, "--output", out, "--interval", "1s", "--duration", "2s", "--delay", "0")
    assert result.returncode == 3, result.stderr
    assert "2 of 2 rounds; this run: 2 answers, 6 failures" in result.stdout
    assert f"{out / 'round-000001.warc.gz'}: offset " in result.stderr
    rows, _ = urls_of(out, folder=tmp_path, statuses=(3,))
    assert counts(rows, "answers") == {site.url("www", "/app.js"): 2}
    again, _ = urls_of(*sorted(out.glob("*.sketches.jsonl")), folder=tmp_path)
    assert again == rows
    replayed = capture("--replay", out)
    assert (replayed.returncode, "6 damaged records are left out" in replayed.stdout) == (3, True)


class ChangingFile:
    """A file of an Apache that is changed every so many seconds."""

    def __init__(self, apache, path, every_s):
        self._apache, self._path, self._every_s = apache, path, every_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        count = 0
        while not self._stop.wait(self._every_s):
            count += 1
            self._apache.write(self._path, f"version {'I' * count}\n")

    def __enter__(self):
        self._apache.write(self._path, "version \n")
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._stop.set()
        self._thread.join()


@pytest.fixture(name="secure")
def _secure(tmp_path):
    """An Apache that speaks HTTP/2 through TLS, and logs the size of each answer's body."""
    authority = Authority(tmp_path / "ca")
    files = authority.issue("secure", names=["secure.localhost"])
    additions = "".join(map(load_module, ["ssl", "http2"])) + f"""
SSLEngine on
SSLSessionCache none
SSLCertificateFile {files["chain"]}
SSLCertificateKeyFile {files["key"]}
Protocols h2
CustomLog "{tmp_path}/secure.log" "%m %U %H %B"
<Files "brotli.txt">
  Header set Content-Encoding br
</Files>
"""
    reserved, folder = PortReservation(1), make_folder()
    apache = Apache(folder, reserved.ports[0], "secure", additions)
    apache.write("/brotli.txt", brotli(b"brotli, and always the same\n"))
    apache.start()
    try:
        yield apache, authority, tmp_path / "secure.log"
    finally:
        apache.stop()
        reserved.close()
        remove_folder(folder)


@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.skipif(shutil.which("apache2", path="/usr/sbin:/usr/bin") is None, reason="Apache is not installed")
def test_chromium_capture_finds_what_the_servers_have_counted(site, secure, tmp_path):
    apache, authority, log = secure
    secure_url = f"https://secure.localhost:{apache.port}"
    listed = write_list(tmp_path / "sites", site.url("www", "/"), secure_url + "/changing.txt",
                        secure_url + "/brotli.txt")
    out = tmp_path / "out"
    packets = tmp_path / "packets.pcap"
    with ExitStack() as stack:
        if MAY_RECORD:
            stack.enter_context(recorded(packets, site.port, lambda: counts(
                urls_of(packets, folder=tmp_path, statuses=(0, 3))[0], "answers") == site.given()))
        stack.enter_context(ChangingFile(apache, "/changing.txt", 4))
        result = capture("--sites", listed, "--output", out, "--interval", "3s", "--duration", "12s",
                         "--browser-option=--ignore-certificate-errors", "--page-timeout", "60", timeout_s=400)
        assert result.returncode == 0, result.stderr
    rows, report = urls_of(out, folder=tmp_path)
    plain = {url: number for url, number in counts(rows, "answers").items() if url.startswith("http://")}
    assert plain == site.given()
    assert {url: counts(rows, "transitions")[url] for url in plain} == site.transitions()
    assert site.url("www", "/from-worker") in plain, "what a worker asks for"
    assert site.url("frame", "/latin") in plain, "what a frame of another host asks for"
    assert site.transitions()[site.url("frame", "/latin")] == 1
    assert report["inputs"][0]["other_methods"] == 1
    lines = [line.split() for line in log.read_text().splitlines()]
    assert {line[2] for line in lines} == {"HTTP/2.0"}
    for target in ("/changing.txt", "/brotli.txt"):
        # Each version of a file has a size of its own.
        versions = [line[3] for line in lines if line[1] == target]
        assert counts(rows, "answers")[secure_url + target] == len(versions)
        assert counts(rows, "transitions")[secure_url + target] == sum(map(operator.ne, versions, versions[1:]))
    assert counts(rows, "transitions")[secure_url + "/brotli.txt"] == 0
    assert counts(rows, "transitions")[secure_url + "/changing.txt"] > 0
    assert int(rows[secure_url + "/brotli.txt"]["body_bytes"]) == 4 * len(b"brotli, and always the same\n")
    if MAY_RECORD:
        if tshark.TSHARK is not None:
            told = tshark.transitions(packets, site.port)
            assert {url: told[url] for url in site.given()} == site.transitions()
        seen, _ = urls_of(packets, folder=tmp_path)
        assert counts(seen, "transitions") == site.transitions()
        # An answer is the same one in the packets and in the browser.
        both, _ = urls_of(out, packets, folder=tmp_path)
        assert {url: counts(both, "transitions")[url] for url in seen} == site.transitions()
    # The same through libcurl.
    plain_list = write_list(tmp_path / "urls", secure_url + "/brotli.txt")
    result = capture("--plain", plain_list, "--output", tmp_path / "plain", "--ca-file", authority.certificate)
    assert result.returncode == 0, result.stderr
    both, _ = urls_of(out, tmp_path / "plain", folder=tmp_path)
    assert counts(both, "transitions")[secure_url + "/brotli.txt"] == 0, "one answer, however it was asked for"
