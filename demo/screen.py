"""Calm terminal output: colour and a live line on a terminal, plain lines anywhere else."""

import sys


class Screen:
    def __init__(self, stream=sys.stdout):
        self._stream = stream
        self._is_terminal = stream.isatty()
        self._live_length = 0

    def _colour(self, code, text):
        return f"\033[{code}m{text}\033[0m" if self._is_terminal else text

    def line(self, text=""):
        self._clear_live()
        print(text, file=self._stream, flush=True)

    def title(self, text):
        self.line(self._colour("1", text))

    def detail(self, text):
        self.line(self._colour("2", f"      {text}"))

    def result(self, holds, text):
        mark = self._colour("32", "  ok  ") if holds else self._colour("31;1", " FAIL ")
        self.line(f"{mark}{text}")

    def live(self, text):
        """A line that the next one overwrites; said only on a terminal."""
        if self._is_terminal:
            self._clear_live()
            print(text, end="", file=self._stream, flush=True)
            self._live_length = len(text)

    def _clear_live(self):
        if self._live_length:
            print("\r\033[K", end="", file=self._stream)
            self._live_length = 0
