"""A server as a child process: how it is launched, awaited and stopped.

Guarantee: no child outlives this process. On Linux the kernel sends it SIGTERM when the thread that
launched it ends. So launch from the main thread.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from tracker.stores.builtin.binaries import StoresError

START_SECONDS = 60.0
"""A mongod may have to recover on a slow disk."""

STOP_SECONDS = 5.0

_NO_PORT = 0
PR_SET_PDEATHSIG = 1
MAX_REASON_CHARACTERS = 300


class Program(NamedTuple):
    """A server to run. `command` makes its arguments for a port; `is_ready` takes port and pid.

    One that listens on a Unix socket ignores the port.
    """

    name: str
    log: Path
    environment: Mapping[str, str]
    command: Callable[[int], list[str]]
    is_ready: Callable[[int, int], bool]


class Child:
    """A program as a child process, which keeps the descriptor `lock` open as long as it lives."""

    def __init__(self, program: Program, lock: int) -> None:
        self._program = program
        self._lock = lock
        self._process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        """Start the program without waiting. Raises StoresError if it cannot run."""
        try:
            with self._program.log.open("wb") as log, _interrupt_blocked():
                self._process = spawn(
                    self._program.command(_NO_PORT),
                    self._program.environment,
                    log,
                    keep_open=(self._lock,),
                )
        except OSError as error:
            raise StoresError(f"{self._program.name} cannot be run: {error}") from None

    def ended(self) -> str | None:
        """Return how the launched program ended, None while it runs."""
        assert self._process is not None
        if self._process.poll() is None:
            return None
        program, status = self._program, self._process.returncode
        return (
            f"{program.name} ended with status {status}: {reason(self._log())} (see {program.log})"
        )

    def _log(self) -> str:
        try:
            return self._program.log.read_text("utf-8", errors="replace")
        except OSError as error:  # it may end because its folder was removed
            return f"its log cannot be read: {error.strerror}"

    def wait_until_ready(self) -> None:
        """Wait until the program can serve. Raises StoresError if it ends or takes too long."""
        program, process = self._program, self._process
        assert process is not None
        deadline = time.monotonic() + START_SECONDS
        while not program.is_ready(_NO_PORT, process.pid):
            if ended := self.ended():
                raise StoresError(ended)
            if time.monotonic() > deadline:
                raise StoresError(
                    f"{program.name} is not ready after {START_SECONDS:.0f} s: see {program.log}"
                )
            time.sleep(0.01)

    def terminate(self) -> None:
        if self._process is not None:
            self._process.terminate()

    def wait(self, seconds: float) -> None:
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def stop(children: Sequence[Child]) -> None:
    """Stop all together; kill a process that runs after STOP_SECONDS or an interrupt."""
    try:
        for child in children:
            child.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for child in children:
            child.wait(max(0.0, deadline - time.monotonic()))
    finally:
        for child in children:
            child.kill()


def spawn(
    command: Sequence[str],
    environment: Mapping[str, str],
    log: BinaryIO,
    keep_open: Sequence[int] = (),
    death_signal: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start a program. In Linux it gets `death_signal` when this thread ends. Raises OSError."""
    return subprocess.Popen(
        command,
        env={**os.environ, "LC_ALL": "C", **environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=keep_open,
        preexec_fn=_before_exec(death_signal),  # noqa: PLW1509  it makes a few system calls
    )


@contextmanager
def _interrupt_blocked() -> Iterator[None]:
    """Block SIGINT, which could lose the child. The child ignores it too; SIGTERM stops it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _before_exec(death_signal: signal.Signals) -> Callable[[], None]:
    set_death_signal = end_with_parent(death_signal)

    def prepare() -> None:
        # The parent of several processes blocks the signals that it waits for.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {death_signal, signal.SIGHUP, signal.SIGCHLD})
        if set_death_signal is not None:
            set_death_signal()

    return prepare


def end_with_parent(death_signal: signal.Signals) -> Callable[[], None] | None:
    """Return the child's function, None outside Linux. Call before the fork: it loads a library."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    parent = os.getpid()

    def ask_for_signal() -> None:
        prctl(PR_SET_PDEATHSIG, death_signal)
        if os.getppid() != parent:  # the parent ended before the call, so no signal will come
            os._exit(1)

    return ask_for_signal


def reason(log: str) -> str:
    """Return the last error in the log of either server, or its last line if it has no error."""
    lines = [" ".join(line.split()) for line in log.splitlines() if line.strip()]
    errors = [error for error in map(_error_in, lines) if error]
    return (errors or lines or ["its log is empty"])[-1][:MAX_REASON_CHARACTERS]


class _MongodLine(msgspec.Struct):
    severity: str = msgspec.field(name="s")
    message: str = msgspec.field(name="msg")
    component: str = msgspec.field(name="c", default="")
    details: msgspec.Raw = msgspec.field(name="attr", default=msgspec.Raw(b""))


def _error_in(line: str) -> str:
    try:
        entry = msgspec.json.decode(line, type=_MongodLine)
    except msgspec.DecodeError:
        return line.partition(" # ")[2]  # Redis marks warnings and worse with a #
    # A line of the component ASSERT says that mongod aborts, not why.
    if entry.severity not in ("E", "F") or entry.component == "ASSERT":
        return ""
    return f"{entry.message} {bytes(entry.details).decode()}".strip()
