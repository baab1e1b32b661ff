"""What an agent does not start with: one line each, and status 1 (docs/origin-state.md)."""

import resource
import subprocess

import pytest

from harness.build import patience, sanitizer
from harness.folders import make_folder, remove_folder
from harness.ports import PortReservation
from harness.programs import program
from harness.replicas import ReplicaGroup


@pytest.fixture(name="agents")
def _agents():
    """Four that are not started. Each has a folder as its state."""
    folder = make_folder()
    ports = PortReservation(8)

    def changes(number):
        data = folder / f"data-{number}"
        data.mkdir()
        return {"service": {"state": "directory", "state_folder": str(data)}}

    group = ReplicaGroup(folder, 1, ports.ports[:4], ports.ports[4:], changes)
    try:
        yield list(group)
    finally:
        group.stop()
        ports.close()
        remove_folder(folder)


def refusal_of(agent, limits=None):
    """The one line with which it ends."""
    ended = subprocess.run([program("prophecy-replica"), "--config", agent.configuration], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=20 * patience(), preexec_fn=limits, check=False)
    assert ended.returncode == 1, (ended.returncode, ended.stderr)
    lines = [line for line in ended.stderr.splitlines() if not line.startswith("{")]  # but for its log
    assert len(lines) == 1 and lines[0].startswith("prophecy-replica: "), ended.stderr
    return lines[0]


def change(agent, old, new):
    text = agent.configuration.read_text()
    assert old in text
    agent.configuration.write_text(text.replace(old, new))


def test_a_record_of_writes_that_cannot_be_kept(agents):
    agent = agents[0]
    record = agent.storage / "write-in-flight"
    record.mkdir()
    line = refusal_of(agent)
    assert f"{record}: Is a directory; " in line
    record.rmdir()
    agent.start()
    assert record.stat().st_size == 8


def test_a_second_agent_on_one_configuration(agents):
    agents[0].start()
    assert "Address already in use" in refusal_of(agents[0])
    change(agents[0], "[replica]", '[replica]\nlisten = "127.0.0.1:0"')
    assert "another process has this store open" in refusal_of(agents[0])
    assert agents[0].status()


def test_a_second_agent_on_one_state_folder(agents):
    first, second = agents[:2]
    first.start()
    change(second, f"data-{second.number}", f"data-{first.number}")
    assert "locked; another agent has it as its state_folder" in refusal_of(second)
    # Not that it outlasts the agent, however that ends.
    first.kill()
    second.start()
    assert second.status()


def test_no_threads(agents):
    """As at the limit on processes, which root is not held to: their stacks would be larger than the address space."""
    def no_threads():
        most = resource.getrlimit(resource.RLIMIT_STACK)[1]
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 60, most))

    if sanitizer() == "thread":
        pytest.skip("ThreadSanitizer does not start where stacks are to be so large")
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        pytest.skip("the hard limit on stacks (ulimit -Hs) is too low to ask for one that is too large")
    assert "no thread can be started: " in refusal_of(agents[0], no_threads)
    agents[0].start()
    assert agents[0].status()
