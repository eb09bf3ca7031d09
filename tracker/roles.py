"""What `run.py` does in each of its roles: bind, start the stores it needs, serve or drain.

Called once, with the settings; answers the exit code, which a line on standard error explains.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from socket import socket
from typing import Any, Final

import structlog
import uvloop

from config.settings import Settings
from tracker import front, server
from tracker.counting import CountAs
from tracker.db import embedded
from tracker.db.connect import UnusableStore
from tracker.demo import Banner
from tracker.priority import give_way
from tracker.processes import Process, run_processes
from tracker.services import Services

TURN_SECONDS: Final = 0.0005
"""How long a thread that wants the interpreter waits for one that is busy. With the default of 5 ms
each step of MongoDB's client, which works in threads, waited so long for a loop that is never idle:
three times for a look-up."""


def run(role: str, settings: Settings, count_as: CountAs) -> int:
    """`role`: all, web or drain. 0 after a clean stop, 1 if it could not start, 2 for a wrong
    setting."""
    if role == "drain":
        return _drain(settings)
    try:
        front.check_certificate(settings)
        sockets = server.bind(settings)
    except front.UnusableCertificate as error:
        return fail(str(error), 2)
    except (OSError, UnicodeError) as error:  # the latter for a name that cannot be one
        if pid := embedded.service_on(settings):
            return fail(f"already running on {settings.data_path}, with pid {pid}", 1)
        where = f"{settings.listen_address}, port {settings.port}"
        reason = getattr(error, "strerror", None) or error
        return fail(f"cannot listen on {where}: {reason}. Set HOST or PORT.", 1)
    return _serve(settings, sockets, count_as, draining=role == "all")


def fail(message: str, code: int) -> int:
    print(f"run.py: {message}", file=sys.stderr)
    return code


def _serve(settings: Settings, sockets: list[socket], count_as: CountAs, draining: bool) -> int:
    """In WEB_CONCURRENCY processes, of which the first announces the service, and drains."""
    banner = Banner(builtin_stores=settings.builtin_mongodb)

    def work(stores: Settings) -> int:
        complete = server.with_base_url(stores, sockets)

        def serve(process: Process) -> int:
            first = process.number == 0

            async def announce(services: Services) -> None:
                if first and not process.again:
                    await banner.show(services)
                process.ready()

            count_as(process.number)
            return _run(server.serve(complete, sockets, announce, draining and first))

        return run_processes(settings.web_concurrency, serve, lambda: _close(sockets))

    return _with_stores(embedded.started(settings), work)


def _close(sockets: list[socket]) -> None:
    """Ours: once every process has closed its own, connections are refused and no longer queued."""
    for one in sockets:
        one.close()


def _drain(settings: Settings) -> int:
    """With the stores of the service that runs on the data folder, if they are the built-in.

    On a machine that it shares it gives way to those who answer: what it does can wait.
    """

    def work(stores: Settings) -> int:
        give_way()  # now: stores that were started here are not to
        return _run(server.drain(stores))

    return _with_stores(embedded.reached(settings), work)


def _with_stores(stores: AbstractContextManager[Settings], work: Callable[[Settings], int]) -> int:
    """The stores belong to this process, `work` may fork."""
    try:
        with stores as complete:
            return work(complete)
    except embedded.StoresError as error:
        return fail(str(error), 1)
    except KeyboardInterrupt:
        structlog.get_logger(__name__).info("interrupted while starting")
        return 130


def _run(work: Coroutine[Any, Any, None]) -> int:
    sys.setswitchinterval(TURN_SECONDS)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(work)
    except (UnusableStore, front.UnusableCertificate) as error:
        return fail(str(error), 1)
    return 0
