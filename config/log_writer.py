"""Writers of log lines. Callers never wait for the reader.

`LogWriter` is a thread with a queue of limited size. `write_within` writes without a thread. A line
that does not fit is dropped, and the caller counts it.
"""

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

MAX_QUEUED_BYTES: Final = 4 * 1024 * 1024
"""About 15,000 lines of requests: three seconds at full load. Lines that the thread is writing may
need the same memory again."""

PAUSE_SECONDS: Final = 0.02
"""The thread's pause after each write, so many lines interrupt a busy process only once. A single
line is written at once."""

_ATOMIC_BYTES: Final = select.PIPE_BUF
"""The largest write to a pipe that Linux never interleaves with writes of other processes."""


class LogWriter:
    """A thread that writes lines to `fd` until `stop`.

    `on_drop` is called with the number of lines as soon as they are dropped. `on_recovery` is
    called once lines flow again, with the number dropped since its last call.
    """

    def __init__(
        self,
        fd: int,
        on_drop: Callable[[int], None],
        on_recovery: Callable[[int], None],
        max_queued_bytes: int = MAX_QUEUED_BYTES,
    ) -> None:
        self._fd = fd
        self._on_drop = on_drop
        self._on_recovery = on_recovery
        self._max_queued_bytes = max_queued_bytes
        # Reentrant, because a finalizer may log at any moment.
        self._lock = threading.RLock()
        self._lines: list[bytes] = []
        self._queued_bytes = 0
        self._dropped = 0
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log writer", daemon=True)
        self._thread.start()

    def put(self, line: bytes) -> None:
        """Queue `line`, which ends with its only line end, or drop it if the queue is full.

        Never waits for the reader.
        """
        with self._lock:
            fits = self._queued_bytes + len(line) <= self._max_queued_bytes
            if fits:
                self._lines.append(line)
                self._queued_bytes += len(line)
            else:
                self._dropped += 1
        if not fits:
            self._on_drop(1)
        elif not self._wake.is_set():
            self._wake.set()

    def stop(self, seconds: float) -> None:
        """Write the queued lines for at most `seconds`, then end the thread."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            stopping = self._stopping.is_set()
            lines, dropped = self._take()
            lost = self._write(lines)
            if lost:
                self._on_drop(lost)
            with self._lock:
                self._dropped += lost + (dropped if lost else 0)
            if dropped and not lost:
                self._on_recovery(dropped)
            if stopping:
                self._write(self._take()[0])
                return
            self._stopping.wait(PAUSE_SECONDS)

    def _take(self) -> tuple[list[bytes], int]:
        with self._lock:
            lines, self._lines = self._lines, []
            dropped, self._dropped = self._dropped, 0
            self._queued_bytes = 0
        return lines, dropped

    def _write(self, lines: Sequence[bytes]) -> int:
        """Write `lines`; return how many were lost because nobody reads them."""
        lost = 0
        for piece in _pieces(b"".join(lines)):
            try:
                _write_all(self._fd, piece)
            except OSError:
                lost += piece.count(b"\n")
        return lost


def write_within(fd: int, data: bytes, seconds: float) -> bool:
    """Write `data` to `fd`; return False if that takes longer than `seconds`, or fails."""
    deadline = time.monotonic() + seconds
    while data:
        if not _wait_writable(fd, max(0.0, deadline - time.monotonic())):
            return False
        try:
            # A writable pipe takes this much without waiting.
            data = data[os.write(fd, data[:_ATOMIC_BYTES]) :]
        except BlockingIOError:
            continue
        except OSError:
            return False
    return True


def _write_all(fd: int, data: bytes) -> None:
    """Write all of `data`. Raises OSError if the reader has closed the pipe."""
    while data:
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            _wait_writable(fd, 1.0)


def _wait_writable(fd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    with contextlib.suppress(OSError):
        return bool(poll.poll(seconds * 1000))
    return False


def _pieces(lines: bytes) -> Iterator[bytes]:
    """Yield `lines` in pieces of at most _ATOMIC_BYTES. A longer line is a piece of its own."""
    start = 0
    while start < len(lines):
        end = lines.rfind(b"\n", start, start + _ATOMIC_BYTES) + 1
        end = end or lines.find(b"\n", start) + 1 or len(lines)
        yield lines[start:end]
        start = end
