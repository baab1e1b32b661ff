"""The sketcher's access log, and the transitions that are counted from it: by analyze, by follow while it is
written, and by prophecyctl."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness import Deployment
from harness.build import patience
from harness.http_client import curl
from harness.processes import wait_until
from harness.programs import program, run_program
from harness.sketcher import json_lines


@pytest.fixture(name="deployment", scope="module")
def _deployment():
    changes = {"sketcher": {"access_log": "access.jsonl", "workers": 2}}
    with Deployment(content={"/index.html": b"<p>page</p>", "/still": b"still"}, sketcher_changes=changes) as running:
        yield running


def log_of(deployment):
    return deployment.sketcher.folder / "access.jsonl"


def lines_after(deployment, count):
    """All lines, once there are so many."""
    log = log_of(deployment)
    wait_until(lambda: len(json_lines(log)) >= count, 10, "the lines in the log")
    return json_lines(log)


def write(deployment, target, body):
    assert curl(deployment.url + target, "--request", "PUT", "--data", body).status in (201, 204)


def wait_for_line(follower, text):
    while text not in (shown := follower.stdout.readline()):
        assert shown, "the follower has ended"


def figures(*arguments):
    result = run_program("prophecy-measure", *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_all_count_the_changes_that_were_made(deployment):
    log = log_of(deployment)
    before = len(json_lines(log))
    with subprocess.Popen([program("prophecy-measure"), "follow", log, "--interval", "1", "--json",
                           log.with_suffix(".figures")], stdout=subprocess.PIPE, text=True) as follower:
        try:
            for version in range(5):
                write(deployment, "/changing", f"version {version}")
                for _ in range(4):
                    assert curl(deployment.url + "/changing").body == f"version {version}".encode()
                    assert curl(deployment.url + "/still").body == b"still"
            assert curl(deployment.url + "/none").status == 404
            lines = lines_after(deployment, before + 5 * 9 + 1)
            answers = sum(line["method"] == "GET" for line in lines)
            lines = lines[before:]
            wait_for_line(follower, f" {answers} answers")
        finally:
            follower.send_signal(signal.SIGTERM)
            output, _ = follower.communicate(timeout=20 * patience())
        assert follower.returncode == 0
    reads = [line for line in lines if line["method"] == "GET"]
    assert {line["by"] for line in reads} == {"fast", "group"}
    assert all(len(line["sketch"]) == 40 and len(line["variant"]) == 8 for line in reads)
    assert {line["status"] for line in lines if line["method"] == "PUT"} <= {201, 204}
    assert not any("sketch" in line for line in lines if line["method"] == "PUT")
    told = {line["url"].partition("/")[2].lstrip("/").partition("/")[2]: line for line in reads}
    assert told["still"]["bytes"] == 5 and told["none"]["status"] == 404

    whole = figures("analyze", log, "--json", "-")
    assert whole["inputs"][0]["format"] == "sketcher's access log"
    assert whole["transitions"] == 4
    for other in (json.loads(log.with_suffix(".figures").read_text()),
                  figures("follow", log, "--once", "--json", "-")):
        assert [other[name] for name in ("urls", "answers", "transitions", "pairs")] == [
            whole[name] for name in ("urls", "answers", "transitions", "pairs")]
    assert "4 transitions" in output and "/changing" in output
    shown = subprocess.run([program("prophecyctl"), "transitions", "--admin", deployment.sketcher.admin],
                           capture_output=True, text=True, timeout=20 * patience(), check=True).stdout
    assert "4 transitions in " in shown
    first = shown.splitlines()[2].split()
    assert first[1] == "4" and "/changing#" in first[-1]


def test_reopened_after_it_was_renamed(deployment):
    log = log_of(deployment)
    old = log.with_suffix(".1")
    with subprocess.Popen([program("prophecy-measure"), "follow", log, "--json", "-"],
                          stdout=subprocess.PIPE, text=True) as follower:
        try:
            curl(deployment.url + "/still")
            lines_after(deployment, 1)
            files = Path(f"/proc/{follower.pid}/fd")
            wait_until(lambda: any(file.is_symlink() and file.resolve() == log for file in files.iterdir()), 10,
                       "the follower's file")
            log.rename(old)
            deployment.sketcher.child.signal(signal.SIGHUP)
            wait_until(lambda: "access-log-reopened" in deployment.sketcher.child.log(), 5, "a new file")

            def is_written_anew():
                curl(deployment.url + "/still")
                return log.exists() and json_lines(log)
            wait_until(is_written_anew, 10, "a line in the new file")
            # The old file is read on for five seconds.
            answers = len(json_lines(old)) + len(json_lines(log))
        finally:
            time.sleep(8)
            follower.send_signal(signal.SIGTERM)
            output, _ = follower.communicate(timeout=20 * patience())
    counted = json.loads(output)
    reads = [line for path in (old, log) for line in json_lines(path) if line["method"] == "GET"]
    assert counted["answers"] == len(reads)
    assert answers > 0 and counted["inputs"][0]["damage_count"] == 0


def test_an_observed_route_has_the_sketches_of_its_origins():
    changes = {"sketcher": {"access_log": "access.jsonl"}, "route": [{"mode": "observe"}]}
    with Deployment(content={"/index.html": b"<p>page</p>"}, sketcher_changes=changes) as running:
        for version in range(3):
            body = f"version {version}".encode()
            write(running, "/changing", body)
            # A write is answered once f+1 origins have carried it out, and nothing verifies these reads.
            wait_until(lambda body=body: all(origin.read("/changing") == body for origin in running.origins), 10,
                       "the write at each origin")
            for _ in range(3):
                assert curl(running.url + "/changing").body == body
        lines = [line for line in lines_after(running, 12) if line["method"] == "GET"]
        report = figures("analyze", log_of(running), "--json", "-")
    assert {line["by"] for line in lines} == {"fast", "unverified"}
    assert all("sketch" in line for line in lines)
    assert (report["answers"], report["transitions"]) == (9, 2)


def test_a_truncated_log_is_read_from_its_beginning(tmp_path):
    log = tmp_path / "access.log"
    line = '192.0.2.1 - - [01/Jun/2025:12:00:0{} +0000] "GET /a HTTP/1.1" 200 {} "-" "agent"\n'
    log.write_text(line.format(0, 10) + line.format(1, 10))
    with subprocess.Popen([program("prophecy-measure"), "follow", log, "--interval", "1", "--json",
                           tmp_path / "figures"], stdout=subprocess.PIPE, text=True) as follower:
        try:
            wait_for_line(follower, " 2 answers")
            log.write_text(line.format(5, 11))
            wait_for_line(follower, " 3 answers")
            with log.open("a") as file:
                file.write(line.format(6, 11) + line.format(7, 12)[:30])
            wait_for_line(follower, " 4 answers")
        finally:
            follower.send_signal(signal.SIGTERM)
            follower.communicate(timeout=20 * patience())
        assert follower.returncode == 0
    assert json.loads((tmp_path / "figures").read_text())["weak"]["if_believed"] == {
        "pairs": 3, "transitions": 1, "ratio": pytest.approx(1 / 3)}


def test_sketches_under_different_keys_are_not_mixed(deployment, tmp_path):
    curl(deployment.url + "/still")
    lines_after(deployment, 1)
    crawl = tmp_path / "crawl.warc"
    assert run_program("prophecy-measure", "generate", crawl).returncode == 0
    result = run_program("prophecy-measure", "analyze", crawl, log_of(deployment))
    assert result.returncode == 2
    assert "cannot be compared" in result.stderr


def test_logs_of_web_servers(tmp_path):
    log = tmp_path / "haproxy.log"
    line = ('Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.65{}] http-in static/srv1 '
            '10/0/30/69/109 200 {} - - ---- 1/1/1/1/0 0/0 {{1wt.eu}} {{}} "GET /index.html HTTP/1.1"\n')
    log.write_text("nonsense\n" + line.format(5, 2750) + line.format(6, 2751))
    result = run_program("prophecy-measure", "analyze", "--access-log", log, "--json", "-")
    assert result.returncode == 3, "the first line is damaged"
    assert json.loads(result.stdout)["weak"]["if_believed"]["transitions"] == 1
    assert run_program("prophecy-measure", "analyze", log).returncode == 2
