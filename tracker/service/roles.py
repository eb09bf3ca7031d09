"""The roles of `run.py`: bind the ports, start the built-in stores if needed, then serve or drain.

`run.py` calls `run` once. A line on standard error explains each exit code but 0.
"""

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from functools import partial
from socket import socket
from typing import Any, Final

import structlog
import uvloop

from config.logging import background_writer, notify_operator
from config.settings import Settings
from tracker import __version__
from tracker.loops import LoopFailed
from tracker.metrics import LOG_LINES_DROPPED
from tracker.multiprocess_metrics import SetWorker
from tracker.service import http_servers, lifecycle
from tracker.service.banner import show_banner
from tracker.service.services import Services
from tracker.service.supervisor import STOP_SECONDS, Process, run_processes
from tracker.stores.builtin import stores
from tracker.stores.builtin.data_folder import check_writable
from tracker.stores.startup.diagnosis import UnusableStore

log = structlog.get_logger(__name__)

SWITCH_INTERVAL_SECONDS: Final = 0.0005
"""A thread waits this long for a busy interpreter. MongoDB's client works in threads, and each of
its steps waits. With the default of 5 ms a look-up waited three times 5 ms."""

_LOOK_SECONDS: Final = 0.5
"""A process without a supervisor checks its built-in stores this often."""


def check(settings: Settings) -> int:
    """Check what a start needs besides the settings; return the exit code of `run.py --check`."""
    try:
        http_servers.check_certificate(settings)
    except http_servers.UnusableCertificate as error:
        return _fail(str(error), 2)
    return 0


def run(role: str, settings: Settings, set_worker: SetWorker) -> int:
    """Run `role` (all, web or drain) and return the exit code.

    0: a clean stop, 1: a failed start or drain, 2: a wrong setting, 130: interrupted at the start.
    """
    if role == "drain":
        return _drain(settings)
    try:
        http_servers.check_certificate(settings)
        sockets = lifecycle.bind(settings)
    except http_servers.UnusableCertificate as error:
        return _fail(str(error), 2)
    except (OSError, UnicodeError) as error:  # UnicodeError: HOST cannot be a hostname
        if pid := stores.service_pid(settings):
            return _fail(stores.in_use_message(settings.data_path, pid), 1)
        return _fail(_cannot_listen(settings, settings.port, error, "HOST or PORT"), 1)
    try:
        internal = lifecycle.bind_operators(settings, settings.internal_port)
    except OSError as error:
        _close(sockets)
        return _fail(_cannot_listen(settings, settings.internal_port, error, "INTERNAL_PORT"), 1)
    return _serve(settings, sockets, internal, set_worker, draining=role == "all")


def _cannot_listen(settings: Settings, port: int, error: Exception, remedy: str) -> str:
    where = f"{settings.listen_address}, port {port}"
    reason = getattr(error, "strerror", None) or error
    return f"cannot listen on {where}: {reason}. Set {remedy}."


def _fail(message: str, code: int) -> int:
    notify_operator(f"run.py: {message}")
    return code


def _serve(
    settings: Settings,
    sockets: list[socket],
    internal: list[socket],
    set_worker: SetWorker,
    draining: bool,
) -> int:
    """Serve in WEB_CONCURRENCY processes. The first prints the banner, and drains if `draining`."""
    started = stores.StartedStores()

    def work(complete: Settings) -> int:
        check_writable(complete.data_path)
        final = lifecycle.with_base_url(complete, sockets)

        def serve(process: Process) -> int:
            first = process.number == 0

            async def announce(services: Services) -> None:
                if first and not process.is_replacement:
                    await show_banner(services, is_trial=settings.builtin_mongodb)
                process.ready()

            set_worker(process.number)
            serving = lifecycle.serve(final, sockets, announce, draining and first, internal)
            return _run(serving, started)

        on_stop = partial(_close, sockets + internal)
        stop_seconds = STOP_SECONDS + settings.stop_delay_seconds
        return run_processes(
            settings.web_concurrency, serve, on_stop, stop_seconds, started.log_ended
        )

    log.info("starting", version=__version__, role="all" if draining else "web")
    # A worker that was started with this process may have started the stores already.
    run_or_attach = stores.run_stores if draining else stores.attach_stores
    return _with_stores(run_or_attach(settings, started=started), work)


def _close(sockets: list[socket]) -> None:
    """Close this process's sockets. Once all processes have, connections are refused."""
    for one in sockets:
        one.close()


def _drain(settings: Settings) -> int:
    """Drain; use the built-in stores of the service that runs on the data folder, if any."""
    try:
        monitoring = lifecycle.bind_operators(settings, settings.metrics_port)
    except (OSError, UnicodeError) as error:
        return _fail(_cannot_listen(settings, settings.metrics_port, error, "METRICS_PORT"), 1)
    log.info("starting", version=__version__, role="drain")
    started = stores.StartedStores()

    def work(complete: Settings) -> int:
        return _run(lifecycle.drain(complete, monitoring), started)

    return _with_stores(stores.attach_stores(settings, log.warning, started), work)


def _with_stores(running: AbstractContextManager[Settings], work: Callable[[Settings], int]) -> int:
    """Do `work` while the stores run; return its exit code. `work` may fork."""
    try:
        with running as complete:
            return work(complete)
    except stores.StoresError as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        log.info("interrupted while starting")
        return 130


async def _run_until_store_ends(
    work: Coroutine[Any, Any, None], started: stores.StartedStores
) -> bool:
    """Do `work`, and stop it as SIGTERM does if a store ends; return whether one did."""
    working = asyncio.create_task(work)
    ended = False
    while not (await asyncio.wait([working], timeout=_LOOK_SECONDS))[0] and not ended:
        if ended := started.log_ended():
            signal.raise_signal(signal.SIGTERM)
    await working
    return ended


def _run(work: Coroutine[Any, Any, None], started: stores.StartedStores) -> int:
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    try:
        with (
            background_writer(LOG_LINES_DROPPED.inc),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            if started.any:
                return int(runner.run(_run_until_store_ends(work, started)))
            runner.run(work)
    except (UnusableStore, http_servers.UnusableCertificate, LoopFailed) as error:
        return _fail(str(error), 1)
    return 0
