"""Child processes that cannot be left behind.

Each child leads a session and process group of its own, so that a whole tree is ended by an id
that we know, and asks the kernel for SIGTERM when its parent dies (`setpriv --pdeathsig`). That
signal is tied to the thread that started the child: start children from the main thread.
"""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from harness.build import patience


class HarnessError(Exception):
    """Something that a test, a demo or a benchmark needs could not be had."""


def wait_until(condition, timeout_s, what, interval_s=0.02):
    """Polls until condition() is true and yields its value; says `what` when it takes too long.

    Here and below, the build's patience() comes on top of a time-out.
    """
    timeout_s *= patience()
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise HarnessError(f"waited {timeout_s:g} s in vain for {what}")
        time.sleep(interval_s)


def readable_proc():
    """Settings of a program whose /proc/PID a test or a benchmark looks into: of one that may not leave a
    core file, it is for root alone."""
    return {} if os.geteuid() == 0 else {"core_dumps": True}


class Child:
    """One started program with its output in a file."""

    def __init__(self, name, command, log_path, environment=None, cwd=None):
        self.name = name
        self.log_path = Path(log_path)
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "--", *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                start_new_session=True, env={**os.environ, **(environment or {})}, cwd=cwd)

    @property
    def pid(self):
        return self._process.pid

    def running(self):
        return self._process.poll() is None

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def signal(self, number):
        """To the program alone; its own children are its business."""
        if self.running():
            os.kill(self.pid, number)

    def freeze(self):
        """Stops the program and all its descendants. A thread that waits for the processor takes the
        signal for its process only once it has it, and meanwhile the others go on."""
        os.killpg(self.pid, signal.SIGSTOP)
        wait_until(lambda: not any(_running_threads(pid) for pid in all_pids()
                                   if _group_of(pid) == self.pid),
                   20, f"{self.name} to stop", interval_s=0.002)

    def thaw(self):
        with contextlib.suppress(ProcessLookupError):  # it has died: others say so
            os.killpg(self.pid, signal.SIGCONT)

    def wait(self, timeout_s):
        """The exit status; negative for a signal."""
        timeout_s *= patience()
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise HarnessError(f"{self.name} did not end within {timeout_s:g} s") from None

    def wait_ready(self, ready, timeout_s=20):
        def ready_or_dead():
            return not self.running() or ready()

        try:
            wait_until(ready_or_dead, timeout_s, f"{self.name} to get ready")
            if self.running():
                return
            problem = f"{self.name} ended with status {self.wait(0)} before it was ready"
        except HarnessError as error:
            problem = str(error)
        raise HarnessError(f"{problem}:\n{self.log()[-2000:]}")

    def stop(self, timeout_s=15):
        """Asks politely, then ends the whole group."""
        self.signal(signal.SIGTERM)
        try:
            self.wait(timeout_s)
        except HarnessError:
            pass
        self.kill()

    def kill(self):
        """Ends the program and all its descendants at once, as a crash would."""
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        wait_until(lambda: not _group_exists(self.pid), 10, f"the processes of {self.name} to end")


def _group_exists(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return any(_group_of(pid) == group for pid in all_pids())


def all_pids():
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _group_of(pid):
    """The process group of a live process; None for a zombie or one that is gone."""
    fields = stat_fields(pid)
    return int(fields[2]) if fields and fields[0] != "Z" else None


def _running_threads(pid):
    """The states of the process's threads that may still run: neither stopped, nor ended, nor in uninterruptible
    sleep. Such a sleeper stops when it wakes; a shell that starts a program by vfork sleeps so until that goes on."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return []
    states = [stat_fields(f"{pid}/task/{thread}") for thread in threads]
    return [fields[0] for fields in states if fields and fields[0] not in "TtDZX"]


def waited_for_processor_s(pid):
    """How long the threads of this process have been ready to run, and others had the processors."""
    return sum(int(path.read_text().split()[1])
               for path in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def is_alive(pid):
    """Not gone, nor a zombie: in a container the first process may never collect those."""
    return _group_of(pid) is not None


def stat_fields(pid):
    """/proc/PID/stat (or PID/task/TID) from the state on: proc(5)'s field 3 is element 0. None when
    it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2:].split()


def read_memory(pid, key):
    """Bytes: what /proc/PID/status has under the key (VmRSS: resident, VmHWM: at most so far)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    line = next(line for line in lines if line.startswith(key + ":"))
    return int(line.split()[1]) << 10


def children_of(pid):
    """The live direct children of a process."""
    found = []
    for candidate in all_pids():
        fields = stat_fields(candidate)
        if fields and fields[0] != "Z" and int(fields[1]) == pid:
            found.append(candidate)
    return found


def process_tree(pid):
    """A process and all its live descendants."""
    tree = [pid]
    for child in children_of(pid):
        tree += process_tree(child)
    return tree
