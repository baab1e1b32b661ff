"""One sketcher's history seeds another: prophecyctl history export and import."""

import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness import Deployment
from harness.http_client import curl
from harness.ports import PortReservation
from harness.processes import wait_until
from harness.programs import program, run_program
from harness.replicas import ctl_json
from harness.sketcher import Sketcher

PAGES = {f"/page-{number}.html": f"page {number}\n" for number in range(30)}
VOTE = {"group": {"kind": "vote", "faults": 1, "file": None, "client_id": None, "key_file": None}}


def transfer(command, sketcher, file, *options):
    return run_program("prophecyctl", "history", command, "--admin", sketcher.admin, file, *options)


def get(sketcher, path):
    """By the name of the site, which is the same whatever sketcher is asked."""
    return curl(sketcher.url + path, "--header", "Host: site.example").body


def read_all(sketcher, pages=None):
    """How many of the reads were fast, and how many replicated."""
    before = sketcher.counters()
    for path, content in (pages or PAGES).items():
        assert get(sketcher, path) == content.encode()
    after = sketcher.counters()
    return after["fast"] - before["fast"], after["replicated"] - before["replicated"]


@contextmanager
def second_sketcher(deployment, changes=None):
    """One more of the same installation, with a history of its own."""
    folder = deployment.folder / "second"
    folder.mkdir()
    for name in ("group.toml", "client-1025.key", "sketch.key"):
        if (deployment.folder / name).exists():
            shutil.copy(deployment.folder / name, folder)
    reservation = PortReservation(1)
    sketcher = Sketcher(folder, reservation.ports[0],
                        [origin.port for origin in deployment.origins],
                        changes or {"group": {"client_id": 1025, "key_file": "client-1025.key"},
                                    "table": {"size": "3MiB"}})
    try:
        sketcher.start()
        yield sketcher
    finally:
        sketcher.stop()
        reservation.close()


@contextmanager
def two_that_vote():
    with (Deployment(content=PAGES, agents=False, sketcher_changes=VOTE) as deployment,
          second_sketcher(deployment, VOTE) as second):
        yield deployment, deployment.sketcher, second


@pytest.mark.parametrize("kind", ["pbft", "vote"])
def test_a_new_sketcher_reads_fast_at_once_and_is_never_behind_what_it_says_itself(kind):
    options = {"clients": 2} if kind == "pbft" else {"agents": False, "sketcher_changes": VOTE}
    with (Deployment(content=PAGES, **options) as deployment,
          second_sketcher(deployment, VOTE if kind == "vote" else None) as second):
        assert read_all(deployment.sketcher) == (0, len(PAGES))
        file = deployment.folder / "history.export"
        exported = transfer("export", deployment.sketcher, file, "--json")
        assert exported.returncode == 0, exported.stderr
        assert f'"entries":{len(PAGES)}' in exported.stdout
        assert os.stat(file).st_mode & 0o777 == 0o600
        imported = transfer("import", second, file)
        assert imported.returncode == 0, imported.stderr
        assert f"taken           {len(PAGES)}\n" in imported.stdout
        assert read_all(second) == (len(PAGES), 0)
        # What is agreed on from now on is newer, and what was imported does not come back.
        for origin in deployment.origins[:3]:
            origin.write("/page-0.html", b"changed")
        wait_until(lambda: get(second, "/page-0.html") == b"changed", 20, "the page")
        bodies = [get(second, "/page-0.html") for _ in range(20)]
        assert bodies == [b"changed"] * 20
        # Once more: it is known by now, but for what has changed since.
        again = ctl_json("history", "import", "--admin", second.admin, file, "--json")
        assert (again["taken"], again["known"], again["contradicted"]) == (0, len(PAGES) - 1, 1)
        assert again["floors_raised"] == 0  # nothing was written
        assert get(second, "/page-0.html") == b"changed"


def test_what_a_sketcher_knew_before_is_never_older_than_what_the_other_one_has_delivered():
    former = {"/page-0.html": b"former 0", "/page-1.html": b"former 1"}
    with two_that_vote() as (deployment, first, second):
        for path, content in former.items():
            for origin in deployment.origins:
                origin.write(path, content)
            assert get(second, path) == content
        for path in former:
            for origin in deployment.origins[:3]:  # the fourth one stays behind
                origin.write(path, PAGES[path])
        read_all(first)
        # Of this one the export knows nothing any more.
        url = "http://site.example/page-1.html"
        assert run_program("prophecyctl", "history", "forget", url, "-H", "Accept: */*",
                           "--admin", first.admin).returncode == 0
        file = deployment.folder / "history.export"
        assert transfer("export", first, file).returncode == 0
        report = ctl_json("history", "import", "--admin", second.admin, file, "--json")
        assert report["contradicted"] == 1
        for path in former:
            bodies = [get(second, path) for _ in range(20)]
            assert bodies == [PAGES[path].encode()] * 20


def entry_of(sketcher, path):
    answer = ctl_json("history", "get", "--admin", sketcher.admin, "http://site.example" + path,
                      "-H", "Accept: */*", "--json")
    return answer[0]["entry"]


def test_marks_and_the_age_of_an_export_are_an_operators_matter():
    with two_that_vote() as (deployment, first, second):
        read_all(first)
        url = "http://site.example/page-1.html"
        assert run_program("prophecyctl", "history", "whitelist", url, "-H", "Accept: */*",
                           "--admin", first.admin).returncode == 0
        file = deployment.folder / "history.export"
        made_at = ctl_json("history", "export", "--admin", first.admin, file, "--json")["made_at"]
        refused = transfer("import", second, file, "--made-after", str(made_at))
        assert refused.returncode == 1
        assert "the export is refused: it was made at" in refused.stderr
        assert second.status()["history"]["entries"] == 0
        done = transfer("import", second, file, "--made-after", str(made_at - 1))
        assert done.returncode == 0, done.stderr
        assert f"{len(PAGES)} entries, made at {made_at} (" in done.stderr
        assert "marks           1\n" in done.stdout
        assert entry_of(second, "/page-1.html") is None
        entry = entry_of(second, "/page-2.html")
        assert entry["imported"] is True
        assert entry["at_most_seconds_old"] is None
        assert transfer("import", second, file, "--marks").returncode == 0
        assert entry_of(second, "/page-1.html")["mark"] == "whitelisted"


def test_a_sketcher_that_has_served_knows_only_what_the_import_confirms():
    with two_that_vote() as (deployment, first, second):
        read_all(first)
        file = deployment.folder / "history.export"
        assert transfer("export", first, file).returncode == 0
        for origin in deployment.origins:
            origin.write("/page-0.html", b"changed")
        assert get(second, "/page-0.html") == b"changed"
        report = ctl_json("history", "import", "--admin", second.admin, file, "--json")
        assert report["contradicted"] == 1
        assert report["taken"] == len(PAGES) - 1
        for origin in deployment.origins[:2]:  # two that are behind
            origin.write("/page-0.html", PAGES["/page-0.html"])
        second_reads = [get(second, "/page-1.html") for _ in range(5)]
        assert second_reads == [PAGES["/page-1.html"].encode()] * 5
        assert second.counters()["fast"] >= 5


def test_what_is_not_right_is_refused_with_one_line_and_changes_nothing(tmp_path):
    with two_that_vote() as (deployment, first, second):
        read_all(first)
        file = deployment.folder / "history.export"
        assert transfer("export", first, file).returncode == 0
        good = file.read_bytes()
        known = {"/page-3.html": PAGES["/page-3.html"]}
        read_all(second, known)

        def refusal(content=None, path=file):
            if content is not None:
                path = tmp_path / "bad"
                path.write_bytes(content)
            result = transfer("import", second, path)
            assert result.returncode == 1
            assert result.stdout == ""
            (line,) = result.stderr.splitlines()
            assert second.status()["history"]["entries"] == 1
            return line

        middle = len(good) // 2
        flipped = good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:]
        assert refusal(flipped).endswith("it is damaged, or was changed")
        assert refusal(good[:-1]).endswith("it is cut short")
        assert refusal(good + b"x").endswith("there is something behind its end")
        assert refusal(b"precious").endswith("it is none of a history")
        assert refusal(b"").endswith("it is none of a history")
        assert refusal(path=tmp_path / "missing").endswith("No such file or directory")
        assert refusal(path=tmp_path).endswith("not a regular file")
        os.mkfifo(tmp_path / "pipe")
        assert refusal(path=tmp_path / "pipe").endswith("not a regular file")
        for change, reason in [({"sketch": {"digest": "sha256"}}, "another digest"),
                               ({"sketch": {"digest": "sha1"}, "group": {"name": "renamed"}},
                                "other groups")]:
            change_of(second, change)
            read_all(second, known)
            assert refusal().endswith("the export is refused: " + reason)
        key = second.folder / "sketch.key"
        text = key.read_text().rstrip("\n")
        key.write_text(text[:-1] + ("0" if text[-1] != "0" else "1") + "\n")
        change_of(second, {})
        read_all(second, known)
        assert refusal().endswith("the export is refused: another key_file")
        assert read_all(second, known) == (1, 0)


def change_of(sketcher, changes):
    """The sketcher with another configuration; it begins empty."""
    sketcher.stop()
    for section, values in changes.items():
        target = sketcher.settings[section]
        (target[0] if isinstance(target, list) else target).update(values)
    sketcher.write_configuration()
    sketcher.start()


def test_an_export_appears_whole_and_replaces_nothing_unasked(tmp_path):
    with Deployment(content=PAGES, agents=False, sketcher_changes=VOTE) as deployment:
        read_all(deployment.sketcher)
        file = tmp_path / "history.export"
        file.write_text("precious")
        refused = transfer("export", deployment.sketcher, file)
        assert refused.returncode == 1
        assert "exists already; --force replaces it" in refused.stderr
        assert file.read_text() == "precious"
        assert transfer("export", deployment.sketcher, file, "--force").returncode == 0
        assert file.stat().st_size > 38 * len(PAGES)
        assert os.listdir(tmp_path) == [file.name]
        missing = transfer("export", deployment.sketcher, tmp_path / "missing" / "file")
        assert missing.returncode == 1
        assert "No such file or directory" in missing.stderr


def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path):
    with Deployment(content=PAGES, agents=False, sketcher_changes=VOTE) as deployment:
        read_all(deployment.sketcher)
        script = ('mount -t tmpfs -o size=8k none "$1" || exit 77; cd "$1"\n'
                  'head -c 8192 /dev/zero > filler\n'
                  '"$2" history export --admin "$3" export; status=$?; ls; exit $status')
        result = subprocess.run(
            ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", tmp_path,
             program("prophecyctl"), deployment.sketcher.admin],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
        if result.returncode == 77 or "unshare" in result.stderr:
            pytest.skip("no mount name space of its own for this user: " + result.stderr)
        assert result.returncode == 1
        assert "No space left on device" in result.stderr
        assert result.stdout.split() == ["filler"]
        assert read_all(deployment.sketcher) == (len(PAGES), 0)


class Hunter(threading.Thread):
    """Sends the first child that a sketcher gets besides those it has a signal, as soon as it is
    there."""

    def __init__(self, sketcher, number):
        super().__init__(daemon=True)
        self.master = sketcher.child.pid
        self.known = self.children()
        self.number = number
        self.prey = None
        self.ended = False
        self.start()

    def children(self):
        listing = Path(f"/proc/{self.master}/task/{self.master}/children")
        return set(map(int, listing.read_text().split()))

    def run(self):
        while not self.prey and not self.ended:
            for pid in self.children() - self.known:
                try:
                    os.kill(pid, self.number)
                    self.prey = pid
                except ProcessLookupError:
                    pass

    def end(self):
        self.ended = True
        self.join(20)


def test_an_importer_that_is_killed_leaves_a_table_that_serves_and_can_be_seeded(tmp_path):
    with two_that_vote() as (deployment, first, second):
        read_all(first)
        file = tmp_path / "history.export"
        assert transfer("export", first, file).returncode == 0
        killed = 0
        end = time.monotonic() + 20
        while killed < 3 and time.monotonic() < end:
            hunter = Hunter(second, signal.SIGKILL)
            result = transfer("import", second, file)
            hunter.end()
            killed += "it was ended before it was done" in result.stderr
            for path, content in list(PAGES.items())[:3]:
                assert get(second, path) == content.encode()
        assert killed > 0
        assert transfer("import", second, file).returncode == 0
        # One that was killed under the lock of a bucket leaves an entry forgotten there.
        fast, replicated = read_all(second)
        assert replicated <= killed
        assert fast + replicated == len(PAGES)


def test_there_is_one_transfer_at_a_time_and_it_holds_nobody_up(tmp_path):
    with two_that_vote() as (deployment, first, second):
        read_all(first)
        file = tmp_path / "history.export"
        assert transfer("export", first, file).returncode == 0
        for _ in range(20):
            hunter = Hunter(second, signal.SIGSTOP)
            waiting = subprocess.Popen([program("prophecyctl"), "history", "import", "--admin",
                                        second.admin, file], stderr=subprocess.PIPE, text=True)
            wait_until(lambda hunter=hunter, waiting=waiting: hunter.prey or waiting.poll() is not None,
                       20, "an importer")
            hunter.end()
            if waiting.poll() is None and hunter.prey:
                break
            waiting.communicate(timeout=20)
        else:
            pytest.fail("every import was over before it could be stopped")
        refused = transfer("export", second, tmp_path / "other")
        assert refused.returncode == 1
        assert "another export or import of the history is under way" in refused.stderr
        assert not (tmp_path / "other").exists()
        assert get(second, "/page-1.html") == PAGES["/page-1.html"].encode()
        second.stop()  # which ends the importer
        _, problem = waiting.communicate(timeout=20)
        was_cut_off = "it was ended before it was done" in problem
        # Stopped in its last moment, it had done it all.
        assert (waiting.returncode, was_cut_off) in [(1, True), (0, False)]
