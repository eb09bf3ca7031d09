"""The processes that are killed and stopped: the service's own, and its two stores.

Each has an address and a folder of its own, which stay when it is killed and started again. What is
started here is ended here, however the block is left; should we be killed ourselves, the kernel
ends it.
"""

import asyncio
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from config.settings import Settings
from scripts.chaos.schedule import drain_names
from tracker.db.child import Program, reason, spawn
from tracker.db.servers import mongod_program, mongodb_uri, redis_program, redis_url

ROOT: Final = Path(__file__).parent.parent.parent
START_SECONDS: Final = 60.0

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


class Processes:
    """Named `redis`, `mongod`, `web`, `drain 1`, … `settings` are those of the service."""

    def __init__(self, folder: Path, drains: int, appendfsync: str) -> None:
        redis, mongod, web = _free_ports(3)
        self.settings = Settings(
            host="127.0.0.1",
            port=web,
            base_url=f"http://127.0.0.1:{web}",
            redis_url=redis_url(redis),
            mongodb_uri=mongodb_uri(mongod),
            data_dir=str(folder / "service"),
            # So that visitors have addresses, and can be told apart afterwards.
            trusted_proxies="1",
            store_ip=True,
            # The receiver is here.
            webhook_allow_private=True,
            log_level="warning",
        )
        variables = _variables(self.settings)
        self.stores = [
            Process(_redis(folder, appendfsync), redis),
            Process(mongod_program(folder)._replace(name="mongod"), mongod),
        ]
        self.service = [Process(_service(folder, "web", "web", variables), web)]
        for name in drain_names(drains):
            # What they take over from each other is worth a line; every request is not.
            program = _service(folder, name, "drain", variables | {"LOG_LEVEL": "info"})
            self.service.append(Process(program, 0))

    def __iter__(self) -> Iterator[Process]:
        return iter([*self.stores, *self.service])

    @contextmanager
    def ended(self) -> Iterator[None]:
        """Ends them all on leaving."""
        try:
            yield
        finally:
            for process in self:
                process.end()


def _redis(folder: Path, appendfsync: str) -> Program:
    program = redis_program(folder)

    def command(port: int) -> list[str]:
        return [*program.command(port), "--appendfsync", appendfsync]

    return program._replace(name="redis", command=command)


def _service(folder: Path, name: str, role: str, variables: Mapping[str, str]) -> Program:
    def command(port: int) -> list[str]:
        return [sys.executable, str(ROOT / "run.py"), "--role", role]

    is_ready = _answers if role == "web" else _is_started
    return Program(name, folder / f"{name}.log", variables, command, is_ready)


def _answers(port: int, pid: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_started(port: int, pid: int) -> bool:
    """All that can be seen of a drain from outside."""
    return True


def _variables(settings: Settings) -> dict[str, str]:
    """Every one of them, so that nothing of our own environment configures the service."""
    values = {
        field.encode_name: getattr(settings, field.name)
        for field in msgspec.structs.fields(Settings)
    }
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in values.items()
    }


def _free_ports(count: int) -> list[int]:
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
