"""The mongods of a run: one, or a replica set of three that take over from each other."""

import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from lab.processes import Process, free_ports
from tracker.stores.builtin.child import Program
from tracker.stores.builtin.servers import REPLICA_SET, mongod_program, mongodb_uri

MEMBERS: Final = 3
_TIMEOUT_MS: Final = 2000


class Alone:
    """The only server of a store: ready when it has started, and nothing takes over from it."""

    processes: list[Process]

    def prepare(self) -> None:
        return

    def is_complete(self) -> bool:
        return True

    def primary(self) -> Process:
        return self.processes[0]

    def replicas(self, primary: Process) -> list[Process]:
        return []

    def demote(self) -> None:
        return


class SingleMongod(Alone):
    """One mongod."""

    actions: Sequence[str] = ("kill mongod", "stop mongod")

    def __init__(self, folder: Path) -> None:
        [port] = free_ports(1)
        self.uri = mongodb_uri(port)
        self.processes = [Process(mongod_program(folder)._replace(name="mongod"), port)]


class ReplicaSet:
    """A replica set of three."""

    actions: Sequence[str] = (*SingleMongod.actions, "demote mongod")

    def __init__(self, folder: Path) -> None:
        self._ports = free_ports(MEMBERS)
        members = ",".join(f"127.0.0.1:{port}" for port in self._ports)
        self.uri = f"mongodb://{members}/?replicaSet={REPLICA_SET}"
        self.processes = [
            Process(_member(folder, number), port) for number, port in enumerate(self._ports, 1)
        ]

    def prepare(self) -> None:
        hosts = enumerate(f"127.0.0.1:{port}" for port in self._ports)
        members = [{"_id": number, "host": host} for number, host in hosts]
        with _mongo_client(self._ports[0]) as client:
            client.admin.command({"replSetInitiate": {"_id": REPLICA_SET, "members": members}})

    def is_complete(self) -> bool:
        with suppress(PyMongoError):
            states = [_hello(port) for port in self._ports]
            primaries = [one for one in states if one.get("isWritablePrimary")]
            others = sum(one.get("secondary", 0) for one in states)
            return len(primaries) == 1 and others == MEMBERS - 1
        return False

    def primary(self) -> Process:
        for process in self.processes:
            with suppress(PyMongoError):
                if _hello(process.port).get("isWritablePrimary"):
                    return process
        return random.choice(self.processes)  # noqa: S311

    def demote(self) -> None:
        with suppress(PyMongoError), _mongo_client(self.primary().port) as mongod:
            mongod.admin.command({"replSetStepDown": 10})


def _member(folder: Path, number: int) -> Program:
    own = folder / f"mongod {number}"
    own.mkdir()

    def is_ready(port: int, pid: int) -> bool:
        with suppress(PyMongoError):
            return bool(_hello(port))
        return False

    return mongod_program(own)._replace(name=f"mongod {number}", is_ready=is_ready)


def _hello(port: int) -> dict[str, Any]:
    with _mongo_client(port) as client:
        return client.admin.command("hello")


def _mongo_client(port: int) -> MongoClient[dict[str, Any]]:
    return MongoClient(mongodb_uri(port), serverSelectionTimeoutMS=_TIMEOUT_MS)
