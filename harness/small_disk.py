"""A file system of its own for a folder, so that it can be filled. Only root may mount one; some
containers let nobody."""

import contextlib
import os
import subprocess
from pathlib import Path


class SmallDisk:
    """`folder` is on it, if `mounted`; else an ordinary one, which fill() leaves as it is."""

    def __init__(self, folder, size="64m"):
        self.folder = Path(folder)
        self.folder.mkdir()
        self.mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.folder],
            capture_output=True, check=False).returncode == 0

    @property
    def _ballast(self):
        return self.folder / "ballast"

    def fill(self):
        """Until not a byte more goes onto it."""
        if not self.mounted:
            return
        with open(self._ballast, "ab", buffering=0) as ballast, contextlib.suppress(OSError):
            while True:
                ballast.write(bytes(1 << 16))

    def clear(self):
        self._ballast.unlink(missing_ok=True)

    def close(self):
        if self.mounted:
            # At once for those who look; the kernel takes it away when the last file is closed.
            subprocess.run(["umount", "--lazy", self.folder], capture_output=True, check=False)
            self.mounted = False
