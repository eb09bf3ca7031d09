"""The processes that are killed and stopped: the service's own, and its two stores.

Each has an address and a folder of its own, which stay when it is killed and started again. What is
started here is ended here, however the block is left; should we be killed ourselves, the kernel
ends it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.settings import Settings
from lab.chaos.schedule import drain_names
from lab.processes import Process, free_ports, service_program, variables_of
from tracker.builtin.child import Program
from tracker.builtin.servers import mongod_program, mongodb_uri, redis_program, redis_url


class Processes:
    """Named `redis`, `mongod`, `web`, `drain 1`, … `settings` are those of the service."""

    def __init__(self, folder: Path, drains: int, appendfsync: str) -> None:
        redis, mongod, web = free_ports(3)
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
        variables = variables_of(self.settings)
        self.stores = [
            Process(_redis(folder, appendfsync), redis),
            Process(mongod_program(folder)._replace(name="mongod"), mongod),
        ]
        self.service = [Process(service_program(folder, "web", "web", variables), web)]
        for name in drain_names(drains):
            # What they take over from each other is worth a line; every request is not.
            program = service_program(folder, name, "drain", variables | {"LOG_LEVEL": "info"})
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
