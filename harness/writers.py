"""Clients that write one after the other, each on a thread of its own, until they are told to stop."""

import threading

from harness.build import patience


class Writers:
    """A subclass says what write() does; `writer` and `number` make its path and content."""

    def __init__(self, deployment, count):
        self.deployment = deployment
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(writer,), daemon=True)
                         for writer in range(count)]
        for thread in self._threads:
            thread.start()

    def write(self, writer, number):
        raise NotImplementedError

    def _run(self, writer):
        number = 0
        while not self._stopping.is_set():
            self.write(writer, number)
            number += 1

    def stop(self):
        self._stopping.set()
        for thread in self._threads:
            thread.join(40 * patience())
