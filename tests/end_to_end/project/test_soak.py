"""The soak in its small size, and that it would notice."""

import json
import subprocess
import sys
import time

import pytest

from bench.soak.content import is_written, static_files, written
from bench.soak.watch import grows
from harness import Apache
from harness.build import ROOT, patience
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation, accepts_connections
from harness.processes import Child

MIB = 1 << 20


@pytest.mark.parametrize("samples, expected", [
    ([(10 * MIB, 30)] * 50, False),
    ([(10 * MIB, 30)] * 10 + [(40 * MIB, 90)] * 40, False),  # a warm-up is none
    ([(10 * MIB, 30 + number % 7) for number in range(50)], False),
    ([(10 * MIB + number * MIB // 5, 30) for number in range(50)], True),
    ([(10 * MIB, 30 + number) for number in range(50)], True),
])
def test_growth_is_told_from_noise(samples, expected):
    assert grows(samples) == expected


def test_a_written_page_says_which_it_is():
    body = written("/a.txt", 7)
    assert is_written("/a.txt", body, 7)
    assert not is_written("/a.txt", body, 6)  # nobody has written it yet
    assert not is_written("/b.txt", body, 7)
    assert not is_written("/a.txt", body[:-1] + b"!", 7)
    assert not is_written("/a.txt", body[:-1], 7)


def test_clients_notice_what_the_relay_does():
    """Without a sketcher in between: every fault gets through to them."""
    folder = make_folder()  # which Apache's workers may enter
    ports = PortReservation(2)
    control = folder / "mode"
    control.write_text("pass")
    origin = Apache(folder / "origin", ports.ports[0])
    for path, body in static_files().items():
        origin.write(path, body)
    relay = None
    try:
        origin.start()
        relay = Child("relay", [sys.executable, ROOT / "harness/chaos_relay.py", "--port",
                                ports.ports[1], "--origin-port", origin.port,
                                "--control", control], folder / "relay.log")
        relay.wait_ready(lambda: accepts_connections(ports.ports[1]))
        found = complaints(ports.ports[1], control, ["lie", "cut", "garbage", "reset"])
    finally:
        origin.stop()
        if relay:
            relay.stop()
        ports.close()
        remove_folder(folder)
    assert any("bytes for" in text for text in found)
    assert any("HarnessError" in text for text in found)


def complaints(port, control, modes):
    """What the clients find wrong, with a second of each mode."""
    with subprocess.Popen(
            [sys.executable, "-m", "bench.soak.clients", "--port", str(port), "--seconds",
             str(len(modes) + 1), "--clients", "3", "--name", "client"], cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as clients:
        try:
            assert clients.stdout.readline() == "ready\n"
            clients.stdin.write("go\n")
            clients.stdin.flush()
            for mode in [*modes, "pass"]:
                control.write_text(mode)
                time.sleep(1)
            return json.loads(clients.communicate(timeout=90 * patience())[0])["wrong"]
        finally:
            clients.kill()


@pytest.mark.long
@pytest.mark.time_limit(240)
def test_a_minute_of_soak(tmp_path):
    report = tmp_path / "figures.json"
    result = subprocess.run([sys.executable, "-m", "bench", "soak", "--quick", "--json", report],
                            cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=200 * patience(), check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    figures = {figure["name"]: figure for figure in json.loads(report.read_text())["figures"]}
    assert figures["soak: answers checked"]["value"] > 1000
    faults = figures["soak: faults"]["parameters"]
    assert faults["answers_spoiled"] > 0
    assert len(faults) == 12, "a fault was left out"
