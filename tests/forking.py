"""A supervisor of test workers: each argument names the behaviour of one, which prints its events.

`python -m tests.forking STOP_SECONDS FIRST_PAUSE BEHAVIOUR BEHAVIOUR ...`
"""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from unittest.mock import patch

from config import logging
from config.settings import Settings
from tracker.service import supervisor
from tracker.service.supervisor import Process, run_processes

WAITED_FOR = {signal.SIGTERM, signal.SIGHUP}


def say(number: int, *words: object) -> None:
    """Print a line with one write, because all workers write to the same pipe."""
    os.write(1, (" ".join(map(str, (number, *words))) + "\n").encode())


def waits(process: Process) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_FOR)
    process.ready()
    say(process.number, "again" if process.is_replacement else "ready", os.getpid())
    while signal.sigwait(WAITED_FOR) == signal.SIGHUP:
        say(process.number, "hangup", os.getpid())
    say(process.number, "stopped", os.getpid())
    return 0


def ignores(process: Process) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    process.ready()
    say(process.number, "ready", os.getpid())
    while True:
        signal.pause()


def cannot(process: Process) -> int:
    return 3


def raises(process: Process) -> int:
    raise ValueError("by a bug")


def cannot_again(process: Process) -> int:
    """Fail as the replacement of a worker that was ready."""
    if process.is_replacement:
        say(process.number, "cannot", os.getpid())
        return 3
    return waits(process)


def fails_at_the_end(process: Process) -> int:
    waits(process)
    return 3


def never_ready(process: Process) -> int:
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITED_FOR)
    say(process.number, "ready", os.getpid())
    signal.sigwait({signal.SIGTERM})
    return 3


def dies(process: Process) -> int:
    say(process.number, "dies", os.getpid())
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def stops_all(process: Process) -> int:
    """Stop all workers while others are still being started."""
    os.kill(os.getppid(), signal.SIGTERM)
    return waits(process)


BEHAVIOURS: dict[str, Callable[[Process], int]] = {
    behaviour.__name__: behaviour
    for behaviour in (
        *(waits, ignores, cannot, raises, cannot_again),
        *(fails_at_the_end, never_ready, dies, stops_all),
    )
}


def main(stop_seconds: str, first_pause: str, *behaviours: str) -> int:
    def work(process: Process) -> int:
        return BEHAVIOURS[behaviours[process.number]](process)

    logging.configure(Settings())
    sys.stdout.write(f"parent {os.getpid()}\n")  # in a buffer when it forks
    with (
        patch.object(supervisor, "FIRST_PAUSE_SECONDS", float(first_pause)),
        patch.object(supervisor, "MAX_PAUSE_SECONDS", max(float(first_pause), 30.0)),
    ):
        stopping = partial(say, os.getpid(), "stopping")
        given = (len(behaviours), work, stopping)
        return run_processes(*given, stop_seconds=float(stop_seconds))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
