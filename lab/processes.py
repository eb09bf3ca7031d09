"""The processes of a run: the service's own and others, each with an address and a log.

A run ends the processes that it started, by pid. If the run is killed, the kernel ends them.
"""

import asyncio
import random
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, Literal

import msgspec

from config.settings import Settings
from lab.harness import CannotMeasure, wait_until
from tracker.stores.builtin.child import Program, reason, spawn

ROOT: Final = Path(__file__).parent.parent
START_SECONDS: Final = 60.0
TERMINATE_SECONDS: Final = 15.0

# Below the ports that the kernel gives to outgoing connections: such a connection could take the
# port of a killed process, or even connect to itself there.
_PORTS: Final = range(15_000, 30_000)

Role = Literal["all", "web", "drain"]


class NotReady(CannotMeasure):
    """A process that cannot be used, with one line that says why."""


class Process:
    """A program on one port that can be killed, stopped and started again."""

    def __init__(self, program: Program, port: int) -> None:
        self.name = program.name
        self.port = port
        self.log = program.log
        self.ended_by_itself: list[str] = []
        self._program = program
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        if self._running is None:
            raise NotReady(f"{self.name} is not started")
        return self._running.pid

    def start(self) -> None:
        """Start it without waiting. Call this from the main thread."""
        with self.log.open("ab") as log:
            self._running = spawn(
                self._program.command(self.port),
                self._program.environment,
                log,
                death_signal=signal.SIGKILL,
            )

    async def kill(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.kill()
            await asyncio.to_thread(running.wait)

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def restart_if_ended(self) -> None:
        """Start it again if it ended without being killed, and note that in `ended_by_itself`."""
        if self._running is not None and (status := self._running.poll()) is not None:
            last = _last_words(self.log)
            self.ended_by_itself.append(f"{self.name} ended with status {status}: {last}")
            self.start()

    async def ready(self) -> None:
        if not await wait_until(self._is_ready, START_SECONDS):
            raise NotReady(f"{self.name} is not ready: see {self.log}")

    async def terminate(self) -> None:
        """End it with SIGTERM, or with SIGKILL after TERMINATE_SECONDS; return when it is gone."""
        self._signal(signal.SIGTERM)
        if self._running is not None:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._running.wait, TERMINATE_SECONDS)
        await self.kill()

    def end(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._running is not None:
            self._running.send_signal(number)

    async def _is_ready(self) -> bool:
        """Return whether it is ready; if it has ended, start it again."""
        if await asyncio.to_thread(self._answers):
            return True
        self.restart_if_ended()
        return False

    def _answers(self) -> bool:
        running = self._running
        return running is not None and self._program.is_ready(self.port, running.pid)


@asynccontextmanager
async def running(processes: Sequence[Process]) -> AsyncIterator[None]:
    try:
        for process in processes:
            process.start()
        for process in processes:
            await process.ready()
        yield
    finally:
        for process in processes:
            process.end()


def _last_words(log: Path) -> str:
    """Return the last error in a log. What went through a pipe is gone."""
    return "" if log.is_fifo() else reason(log.read_text("utf-8", errors="replace"))


def ended_by_themselves(processes: Iterable[Process]) -> list[str]:
    for process in processes:
        process.restart_if_ended()
    return [line for process in processes for line in process.ended_by_itself]


def service_process(folder: Path, name: str, role: Role, settings: Settings) -> Process:
    """Return a process of the service, not started, that logs to `<name>.log` in `folder`."""

    def command(port: int) -> list[str]:
        return [sys.executable, str(ROOT / "run.py"), "--role", role]

    def is_started(port: int, pid: int) -> bool:
        return True  # nothing more of a drain is visible from outside

    is_ready = is_started if role == "drain" else accepts
    log, variables = folder / f"{name}.log", variables_of(settings)
    return Process(Program(name, log, variables, command, is_ready), settings.port)


def loaded_process(
    folder: Path,
    stores: Settings,
    role: Role,
    port: int,
    name: str = "",
    *,
    logs_requests: bool = False,
) -> Process:
    """Return a process of the service, named by its role, not started.

    It has no limits by address, as the whole load comes from one.
    """
    settings = msgspec.structs.replace(
        stores,
        host="127.0.0.1",
        port=port,
        base_url=f"http://127.0.0.1:{port}",
        data_dir=str(folder / "service"),
        rate_limit_ip_per_minute=0,
        rate_limit_account_per_hour=0,
        miss_limit_ip_per_minute=0,
        pending_limit_ip_per_minute=0,
    )
    if not logs_requests:
        settings = msgspec.structs.replace(settings, access_log=0.0, log_level="warning")
    return service_process(folder, name or role, role, settings)


def accepts(port: int, pid: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def variables_of(settings: Settings) -> dict[str, str]:
    """Return the settings as environment variables: all of them, so that none is inherited."""
    variables = {}
    for field in msgspec.structs.fields(Settings):
        value = getattr(settings, field.name)
        text = str(value).lower() if isinstance(value, bool) else str(value)
        variables[field.encode_name] = text
    return variables


def free_ports(count: int) -> list[int]:
    ports: list[int] = []
    candidates = random.sample(_PORTS, len(_PORTS))
    while len(ports) < count:
        port = candidates.pop()
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
    return ports
