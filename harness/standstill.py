"""How long the machine stood still: for its disk, or because its host gave it no time.

A test that says how soon something happens can only say so of a machine that goes on.
"""

import os
import threading
import time

USUAL_S = 0.05
PAUSE_S = 0.005


class StandstillWatch:
    """Writes a page to the disk every few milliseconds, and notes by how much that took longer than
    usual. In a `with` block; the file lies in the folder."""

    def __init__(self, folder):
        self._path = folder / "standstill"
        self._over = threading.Event()
        self._stood_still_s = 0.0
        self._turn_began = None
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()
        self._path.unlink(missing_ok=True)

    def stood_still_s(self):
        """In all, until now."""
        began = self._turn_began
        current = time.monotonic() - began if began is not None else 0.0
        return self._stood_still_s + max(0.0, current - USUAL_S)

    def _watch(self):
        page = bytes(4096)
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            while not self._over.is_set():
                began = self._turn_began = time.monotonic()
                os.pwrite(file, page, 0)
                os.fdatasync(file)
                time.sleep(PAUSE_S)
                self._turn_began = None
                self._stood_still_s += max(0.0, time.monotonic() - began - USUAL_S)
        finally:
            os.close(file)
