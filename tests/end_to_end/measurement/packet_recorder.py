"""tcpdump, on the loopback: the packets of one port while a test runs."""

import os
import shutil
import subprocess
from contextlib import contextmanager

from harness.build import patience
from harness.processes import wait_until

TCPDUMP = shutil.which("tcpdump", path="/usr/bin:/usr/sbin:/sbin")
MAY_RECORD = TCPDUMP is not None and os.geteuid() == 0


@contextmanager
def recorded(path, port, is_whole):
    """Ends once `is_whole()`: the last packets come a moment later."""
    with subprocess.Popen([TCPDUMP, "-i", "lo", "-U", "-w", path, "-B", "65536", "-Z", "root", "tcp", "port",
                           str(port)], stderr=subprocess.PIPE, text=True) as tcpdump:
        try:
            while "listening on" not in (line := tcpdump.stderr.readline()):
                assert line, "tcpdump has ended"
            yield
            wait_until(is_whole, 10, "all packets in the file")
        finally:
            tcpdump.terminate()
            tcpdump.communicate(timeout=20 * patience())
