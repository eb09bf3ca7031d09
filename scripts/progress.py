"""The progress of a long command, on standard error.

A terminal shows one line, which is overwritten. Logs get a new line now and then.
"""

import sys
import time
from typing import Final

_BAR_CHARACTERS: Final = 30
_BAR_INTERVAL_SECONDS: Final = 10.0
_LINE_INTERVAL_SECONDS: Final = 30.0
"""The time between lines without a terminal."""


class Progress:
    """A progress bar for `total` steps. `title` is printed before it.

    Call `advance` after each step. Leaving the context clears the line.
    """

    def __init__(self, title: str, total: int) -> None:
        self._title = title
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
        """Count `steps` more steps as done."""
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
            f"{self._title} [{bar:{_BAR_CHARACTERS}}] {done:4.0%} {self._done:,} of {self._total:,}"
        )


class ProgressLine:
    """A progress line for work without steps. It shows the latest text until `end`."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown_at = -_LINE_INTERVAL_SECONDS

    def show(self, text: str) -> None:
        """Replace the shown text."""
        if self._terminal:
            print(f"\r{text:79}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() > self._shown_at + _LINE_INTERVAL_SECONDS:
            self._shown_at = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._terminal:
            print(f"\r{'':79}\r", end="", file=sys.stderr, flush=True)
