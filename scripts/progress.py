"""The progress of a long command, on standard error.

On a terminal one line is overwritten. Elsewhere a new line is printed now and then, for logs.
"""

import sys
import time
from typing import Final

_BAR_CHARACTERS: Final = 30
_BAR_INTERVAL_SECONDS: Final = 10.0
_LINE_INTERVAL_SECONDS: Final = 30.0
"""Between the lines that are printed where there is no terminal."""


class Progress:
    """A progress bar for `total` steps of `what`.

    Call `advance` after each step. Leaving the context clears the line.
    """

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
        """Count `steps` more as done."""
        self._done += steps
        if self._terminal:
            print("\r" + self._text(), end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self._shown > _BAR_INTERVAL_SECONDS:
            self._shown = time.monotonic()
            print(self._text(), file=sys.stderr, flush=True)

    def _text(self) -> str:
        done = min(1.0, self._done / self._total)
        bar = "#" * int(done * _BAR_CHARACTERS)
        return (
            f"{self._what} [{bar:{_BAR_CHARACTERS}}] {done:4.0%} {self._done:,} of {self._total:,}"
        )


class ProgressLine:
    """A progress line for work without steps to count. It shows the newest text until `end`."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown_at = -_LINE_INTERVAL_SECONDS

    def show(self, text: str) -> None:
        """Show `text` in place of the text before it."""
        if self._terminal:
            print(f"\r{text:79}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() > self._shown_at + _LINE_INTERVAL_SECONDS:
            self._shown_at = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal:
            print(f"\r{'':79}\r", end="", file=sys.stderr, flush=True)
