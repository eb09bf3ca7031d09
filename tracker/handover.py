"""The handover of a supervisor to its successor: the same process, with the program loaded again.

`exec` keeps the process id, the children and the sockets that it may inherit, so whoever started
the service sees one process that never ends. What the successor has to know of these is in an
environment variable.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

_VARIABLE: Final = "TRACKER_HANDOVER"
_CHECK_SECONDS: Final = 60.0


class Handover(msgspec.Struct, frozen=True):
    """The listening sockets of both ports by descriptor, and the numbers of workers by process id.

    `generation` counts the successors.
    """

    sockets: list[int]
    operators: list[int]
    workers: dict[int, int]
    generation: int


class Unloadable(Exception):
    """A program that would not start. The message is what it said."""


def received() -> Handover | None:
    """Return what this process has handed over to itself; None if it was started by another."""
    given = os.environ.pop(_VARIABLE, None)
    return None if given is None else msgspec.json.decode(given, type=Handover)


def listening(descriptors: Sequence[int]) -> list[socket.socket]:
    """Return the sockets with these descriptors, for this process and those that it forks."""
    sockets = [socket.socket(fileno=one) for one in descriptors]
    for one in sockets:
        one.set_inheritable(False)
    return sockets


def check_program() -> None:
    """Check that the program, as it is on disk now, loads and accepts the settings.

    Raises Unloadable if not.
    """
    try:
        done = subprocess.run(
            [*_command(), "--check"],
            check=False,
            capture_output=True,
            text=True,
            timeout=_CHECK_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unloadable(str(error)) from None
    if done.returncode:
        raise Unloadable(done.stderr.strip().rpartition("\n")[2])


def load_again(handover: Handover) -> None:
    """Load the program again, in this process, with what it is handed over.

    Raises OSError if the interpreter cannot be started; nothing has changed then.
    """
    for one in (*handover.sockets, *handover.operators):
        os.set_inheritable(one, True)
    sys.stdout.flush()
    sys.stderr.flush()
    os.environ[_VARIABLE] = msgspec.json.encode(handover).decode()
    try:
        command = _command()
        os.execv(command[0], command)  # noqa: S606
    finally:
        del os.environ[_VARIABLE]


def _command() -> list[str]:
    return [sys.executable, *sys.orig_argv[1:]]
