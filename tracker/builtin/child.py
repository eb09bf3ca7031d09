"""A server of ours as a child process: launched on a free port, awaited, stopped.

For `builtin/stores`. No child outlives us: it is stopped on the way out, and on Linux the kernel
sends it SIGTERM when the thread that launched it ends, however that happens: launch from the main
thread.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import msgspec

from tracker.builtin.binaries import StoresError

START_SECONDS = 60.0
"""A mongod that recovers from a crash on a slow disk may need most of it."""

STOP_SECONDS = 5.0
LAUNCHES = 5
PR_SET_PDEATHSIG = 1
REASON_LENGTH = 300


class Program(NamedTuple):
    """What to run. `command` makes the command line for a port; `is_ready` takes port and pid."""

    name: str
    log: Path
    environment: Mapping[str, str]
    command: Callable[[int], list[str]]
    is_ready: Callable[[int, int], bool]


class Child:
    """One program, running. `lock` is a descriptor that it keeps open as long as it lives."""

    def __init__(self, program: Program, lock: int) -> None:
        self._program = program
        self._lock = lock
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    def launch(self) -> None:
        """Start it on a free port, without waiting. Raises StoresError if it cannot be run."""
        self.port = free_port()
        self._launch("wb")

    def relaunch(self) -> None:
        """Start it again on its port, without waiting; its log goes on. Raises StoresError."""
        self._launch("ab")

    def has_ended(self) -> bool:
        """Return whether it was launched and runs no longer."""
        return self._process is not None and self._process.poll() is not None

    def ending(self) -> dict[str, object]:
        """Return what the log is to tell of one that has ended."""
        assert self._process is not None
        text = self._program.log.read_text("utf-8", errors="replace")
        return {
            "store": self._program.name,
            "status": self._process.returncode,
            "reason": reason(text),
        }

    def _launch(self, log_mode: Literal["wb", "ab"]) -> None:
        try:
            with self._program.log.open(log_mode) as log, _interrupt_held_back():
                self._process = spawn(
                    self._program.command(self.port),
                    self._program.environment,
                    log,
                    keep_open=(self._lock,),
                )
        except OSError as error:
            raise StoresError(f"{self._program.name} cannot be run: {error}") from None

    def wait_until_ready(self) -> None:
        """Raises StoresError, with the reason from its log, if it ends or is not ready in time."""
        for _ in range(LAUNCHES):
            if self._becomes_ready():
                return
            self.launch()
        raise StoresError(f"{self._program.name} found no free port in {LAUNCHES} tries")

    def _becomes_ready(self) -> bool:
        """False if another process took the port before the child did."""
        program, process = self._program, self._process
        assert process is not None
        deadline = time.monotonic() + START_SECONDS
        while not program.is_ready(self.port, process.pid):
            if process.poll() is not None:
                log = program.log.read_text("utf-8", errors="replace")
                if "Address already in use" in log:
                    return False
                raise StoresError(
                    f"{program.name} ended with status {process.returncode}: {reason(log)} "
                    f"(see {program.log})"
                )
            if time.monotonic() > deadline:
                raise StoresError(
                    f"{program.name} is not ready after {START_SECONDS:.0f} s: see {program.log}"
                )
            time.sleep(0.01)
        return True

    def terminate(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def wait(self, seconds: float) -> None:
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def kill(self) -> None:
        """End it now if it has not ended, and reap it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def stop(children: Sequence[Child]) -> None:
    """All at once, politely; after STOP_SECONDS, or when interrupted, by force. Can be repeated."""
    try:
        for child in children:
            child.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for child in children:
            child.wait(max(0.0, deadline - time.monotonic()))
    finally:
        for child in children:
            child.kill()


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: BinaryIO,
    keep_open: Sequence[int] = (),
    end_by: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start a program. On Linux it gets `end_by` when the thread that calls this ends.

    `environment` is added to ours. Raises OSError if it cannot be run.
    """
    return subprocess.Popen(
        command,
        env={**os.environ, "LC_ALL": "C", **environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=keep_open,
        preexec_fn=_before(end_by),  # noqa: PLW1509  it makes a few system calls
    )


@contextmanager
def _interrupt_held_back() -> Iterator[None]:
    """An interrupt between the fork and the assignment would lose the child.

    The child inherits the mask and so ignores SIGINT: it is ended with SIGTERM.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _before(end_by: signal.Signals) -> Callable[[], None]:
    """What a child does before it becomes the program."""
    end_with_us = end_with_parent(end_by)

    def prepare() -> None:
        # The parent of several processes blocks the signals that it waits for.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {end_by, signal.SIGHUP, signal.SIGCHLD})
        if end_with_us is not None:
            end_with_us()

    return prepare


def end_with_parent(end_by: signal.Signals) -> Callable[[], None] | None:
    """What a child does before it becomes the program; loaded before the fork. Linux only."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask_for_signal() -> None:
        prctl(PR_SET_PDEATHSIG, end_by)
        if os.getppid() != parent:  # it ended before the call, so no signal will come
            os._exit(1)

    return ask_for_signal


def reason(log: str) -> str:
    """One line: the last one that complains, else the last one. Reads the logs of both servers."""
    lines = [" ".join(line.split()) for line in log.splitlines() if line.strip()]
    complaints = [complaint for complaint in map(_complaint, lines) if complaint]
    return (complaints or lines or ["its log is empty"])[-1][:REASON_LENGTH]


class _MongodLine(msgspec.Struct):
    severity: str = msgspec.field(name="s")
    message: str = msgspec.field(name="msg")
    component: str = msgspec.field(name="c", default="")
    details: msgspec.Raw = msgspec.field(name="attr", default=msgspec.Raw(b""))


def _complaint(line: str) -> str:
    try:
        entry = msgspec.json.decode(line, type=_MongodLine)
    except msgspec.DecodeError:
        return line.partition(" # ")[2]  # Redis marks what is grave with a #
    if entry.severity not in ("E", "F") or entry.component == "ASSERT":  # that it aborts, not why
        return ""
    return f"{entry.message} {bytes(entry.details).decode()}".strip()
