"""A mongod of one test that is no member of a replica set."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pymongo import MongoClient

from tracker.db import binaries
from tracker.db.child import free_port
from tracker.db.servers import mongod_program, mongodb_uri


@contextmanager
def standalone_mongodb(folder: Path) -> Iterator[str]:
    """Its URI, once it answers."""
    port = free_port()
    command = mongod_program(folder).command(port)
    where = command.index("--replSet")
    process = subprocess.Popen(
        [*command[:where], *command[where + 2 :]],
        env={**binaries.mongod_environment(binaries.mongod(), folder / "libraries")},
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait(mongodb_uri(port))
        yield mongodb_uri(port)
    finally:
        process.kill()
        process.wait()


def _wait(uri: str) -> None:
    with MongoClient[dict[str, Any]](uri, serverSelectionTimeoutMS=20_000) as client:
        client.admin.command("ping")
