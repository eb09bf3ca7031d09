"""The service. `python run.py --help` lists what can be configured."""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from typing import Any

import structlog
import uvloop

from config import logging
from config.settings import Settings, SettingsError, describe, read
from tracker import server
from tracker.db import embedded
from tracker.db.connect import UnusableStore
from tracker.demo import Banner
from tracker.front import UnusableCertificate
from tracker.processes import run_processes
from tracker.services import Services


def main(arguments: Sequence[str]) -> int:
    """The exit code: 0 after a clean stop, 1 if it could not start, 2 for a wrong setting."""
    role = _parse(arguments).role
    try:
        settings = read(os.environ)
    except SettingsError as error:
        return _fail(str(error), 2)
    logging.configure(settings)
    if role == "drain":
        return _drain(settings)
    try:
        sockets = server.bind(settings)
    except (OSError, UnicodeError) as error:  # the latter for a name that cannot be one
        if pid := embedded.service_on(settings):
            return _fail(f"already running on {settings.data_path}, with pid {pid}", 1)
        where = f"{settings.listen_address}, port {settings.port}"
        reason = getattr(error, "strerror", None) or error
        return _fail(f"cannot listen on {where}: {reason}. Set HOST or PORT.", 1)
    return _serve(settings, sockets, draining=role == "all")


def _serve(settings: Settings, sockets: list[socket.socket], draining: bool) -> int:
    """In WEB_CONCURRENCY processes, of which the first announces the service, and drains."""
    banner = Banner(builtin_stores=settings.builtin_mongodb)

    def work(stores: Settings) -> int:
        complete = server.with_base_url(stores, sockets)

        def process(number: int) -> int:
            first = number == 0
            announce = banner.show if first else _announce_nothing
            return _run(server.serve(complete, sockets, announce, draining and first))

        return run_processes(settings.web_concurrency, process)

    return _with_stores(embedded.started(settings), work)


def _drain(settings: Settings) -> int:
    """With the stores of the service that runs on the data folder, if they are the built-in."""
    return _with_stores(embedded.reached(settings), lambda stores: _run(server.drain(stores)))


def _with_stores(stores: AbstractContextManager[Settings], work: Callable[[Settings], int]) -> int:
    """The stores belong to this process, `work` may fork."""
    try:
        with stores as complete:
            return work(complete)
    except embedded.StoresError as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        structlog.get_logger(__name__).info("interrupted while starting")
        return 130


def _run(work: Coroutine[Any, Any, None]) -> int:
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(work)
    except (UnusableStore, UnusableCertificate) as error:
        return _fail(str(error), 1)
    return 0


async def _announce_nothing(_: Services) -> None:
    """The first process speaks for all."""


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run.py",
        description="Short tracking links, clicks and conversions, over HTTP.",
        epilog=f"environment variables:\n{describe()}\n\nexample: PORT=9000 python run.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--role",
        choices=("all", "web", "drain"),
        default="all",
        help="web answers requests, drain moves what was recorded from Redis into MongoDB; "
        "run as many of each as you like; all does both [all]",
    )
    return parser.parse_args(arguments)


def _fail(message: str, code: int) -> int:
    print(f"run.py: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
