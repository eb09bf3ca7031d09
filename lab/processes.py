"""Processes that scripts start: the service's own and others, each with an address and a log.

For `lab.chaos`, `lab.bench` and `lab.soak`. What is started here is ended by whoever
started it, by its pid; should we be killed ourselves, the kernel ends it.
"""

import asyncio
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec

from config.settings import Settings
from tracker.builtin.child import Program, reason, spawn

ROOT: Final = Path(__file__).parent.parent
START_SECONDS: Final = 60.0
LEAVE_SECONDS: Final = 15.0

# Below those that the kernel gives to outgoing connections: one of these could get the port while
# its process is killed, or even meet itself there.
_PORTS: Final = range(15_000, 30_000)


class NotReady(Exception):
    """A process cannot be used. One line that says why."""


class Process:
    def __init__(self, program: Program, port: int) -> None:
        self.name = program.name
        self.port = port
        self.ended_by_itself: list[str] = []
        self._program = program
        self._running: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Raises NotReady if it is not started."""
        if self._running is None:
            raise NotReady(f"{self.name} is not started")
        return self._running.pid

    def start(self) -> None:
        """Without waiting. Call it from the main thread."""
        with self._program.log.open("ab") as log:
            self._running = spawn(
                self._program.command(self.port),
                self._program.environment,
                log,
                end_by=signal.SIGKILL,
            )

    async def kill(self) -> None:
        """With SIGKILL; returns when it is gone."""
        running, self._running = self._running, None
        if running is not None:
            running.kill()
            await asyncio.to_thread(running.wait)

    def stop(self) -> None:
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def restart_if_ended(self) -> None:
        """It should not end unless it is killed; if it does, that is noted."""
        if self._running is not None and (status := self._running.poll()) is not None:
            log = self._program.log.read_text("utf-8", errors="replace")
            self.ended_by_itself.append(f"{self.name} ended with status {status}: {reason(log)}")
            self.start()

    async def ready(self) -> None:
        """Raises NotReady if it is not after START_SECONDS."""
        deadline = time.monotonic() + START_SECONDS
        while not await asyncio.to_thread(self._is_ready):
            if time.monotonic() > deadline:
                raise NotReady(f"{self.name} is not ready: see {self._program.log}")
            self.restart_if_ended()
            await asyncio.sleep(0.05)

    async def leave(self) -> None:
        """With SIGTERM, and after LEAVE_SECONDS with SIGKILL; returns when it is gone."""
        self._signal(signal.SIGTERM)
        if self._running is not None:
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(self._running.wait, LEAVE_SECONDS)
        await self.kill()

    def end(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._running is not None:
            self._running.send_signal(number)

    def _is_ready(self) -> bool:
        running = self._running
        return running is not None and self._program.is_ready(self.port, running.pid)


async def started(processes: Sequence[Process]) -> None:
    """Start them all; returns when they are ready. Raises NotReady."""
    for process in processes:
        process.start()
    for process in processes:
        await process.ready()


def service_program(folder: Path, name: str, role: str, variables: Mapping[str, str]) -> Program:
    def command(port: int) -> list[str]:
        return [sys.executable, str(ROOT / "run.py"), "--role", role]

    is_ready = _is_started if role == "drain" else answers
    return Program(name, folder / f"{name}.log", variables, command, is_ready)


def answers(port: int, pid: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_started(port: int, pid: int) -> bool:
    """All that can be seen of a drain from outside."""
    return True


def variables_of(settings: Settings) -> dict[str, str]:
    """Every variable, so that nothing of our own environment configures the service."""
    values = {
        field.encode_name: getattr(settings, field.name)
        for field in msgspec.structs.fields(Settings)
    }
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
    }


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
