"""./run demo --measure: how often the demo's own site changes, captured through the sketcher for a while."""

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

from harness.build import ROOT
from harness.http_client import curl
from harness.processes import HarnessError
from harness.programs import run_program

INTERVAL_S = 2
REPORT = ROOT / ".run" / "demo-measure"
# Pages, and after how many seconds each is written anew; None: never.
PAGES = {"/": None, "/style.css": None, "/news.html": 10, "/clock.html": 1}


class ChangingPages:
    """Writes the pages through the sketcher until it is left, as the site's editors would."""

    def __init__(self, deployment):
        self._deployment = deployment
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(path, seconds))
                         for path, seconds in PAGES.items() if seconds]

    def put(self, path, version):
        text = f"<h1>{path}</h1>\n" + "<p>A paragraph that stays.</p>\n" * 40 + f"<p>Version {version}.</p>\n"
        answer = curl(self._deployment.url + path, "--request", "PUT", "--data-binary", text)
        if answer.status not in (200, 201, 204):
            raise HarnessError(f"PUT {path} was answered with {answer.status}")

    def _write(self, path, seconds):
        version = 0
        while not self._stop.wait(seconds):
            version += 1
            self.put(path, version)

    def __enter__(self):
        for path in PAGES:
            if path != "/":
                self.put(path, 0)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception):
        self._stop.set()
        for thread in self._threads:
            thread.join()


def output_of_shown(screen, *arguments, timeout_s):
    """Shows a command of prophecy-measure as it is run, and yields what it prints."""
    screen.detail(" ".join(["prophecy-measure", *map(str, arguments)]))
    result = run_program("prophecy-measure", *arguments, timeout_s=timeout_s)
    if result.returncode != 0:
        raise HarnessError(f"prophecy-measure {arguments[0]}: {result.stderr}")
    return result.stdout


def measure(screen, deployment, seconds):
    """Yields the path of the report, and its figures."""
    shutil.rmtree(REPORT, ignore_errors=True)
    REPORT.mkdir(parents=True)
    urls, site, report = REPORT / "urls", REPORT / "site", REPORT / "report.html"
    urls.write_text("".join(f"{deployment.url}{path}\n" for path in PAGES))
    with ChangingPages(deployment):
        output_of_shown(screen, "capture", "--plain", urls, "--output", site, "--interval", f"{INTERVAL_S}s",
                        "--duration", f"{seconds}s", "--delay", "0", timeout_s=60 + 4 * seconds)
    text = output_of_shown(screen, "analyze", site, "--report", report, "--minimum", "2",
                           "--json", REPORT / "figures.json", "--propose", REPORT / "proposal", timeout_s=60)
    for line in text.splitlines():
        screen.detail(line)
    return report, json.loads((REPORT / "figures.json").read_text())


def open_report(path: Path):
    """In a browser, where there is a desktop."""
    opener = shutil.which("xdg-open")
    if opener and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        subprocess.Popen([opener, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
