"""How far a long command has come, on standard error: a line that is written over on a terminal,
otherwise a line now and then, for logs."""

import sys
import time
from typing import Final

_BAR: Final = 30
_SECONDS: Final = 10.0
_SAY_SECONDS: Final = 30.0


class Progress:
    """`total` steps of `what`. Call `advance` after each; leave the context to end the line."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = max(1, total)
        self._done = 0
        self._terminal = sys.stderr.isatty()
        self._shown = time.monotonic()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *reason: object) -> None:
        if self._terminal:
            print("\r" + " " * (len(self._text()) + 2) + "\r", end="", file=sys.stderr, flush=True)

    def advance(self, steps: int = 1) -> None:
        self._done += steps
        if self._terminal:
            print("\r" + self._text(), end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._shown > _SECONDS:
            self._shown = time.monotonic()
            print(self._text(), file=sys.stderr, flush=True)

    def _text(self) -> str:
        done = min(1.0, self._done / self._total)
        bar = "#" * int(done * _BAR)
        return f"{self._what} [{bar:{_BAR}}] {done:4.0%} {self._done:,} of {self._total:,}"


class Line:
    """For what has no steps to count: the last thing said. Call `end` in the end."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._said_at = -_SAY_SECONDS

    def say(self, text: str) -> None:
        if self._terminal:
            print(f"\r{text:79}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() > self._said_at + _SAY_SECONDS:
            self._said_at = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal:
            print(f"\r{'':79}\r", end="", file=sys.stderr, flush=True)
