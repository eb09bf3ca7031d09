"""Shard the large collections of MongoDB, or print the commands that do it."""

import argparse
from collections.abc import Sequence

import orjson
import pymongo
from pymongo.errors import OperationFailure

from scripts.command import Command, Row
from tracker.db.check import mongodb_diagnosed
from tracker.db.connect import UNLIMITED, UnusableStore
from tracker.db.sharding import commands, hashed
from tracker.service.services import Services


async def _shard(services: Services, parsed: argparse.Namespace) -> Sequence[Row]:
    rows = [_row("createIndex", {name: {"_id": "hashed"}}) for name in hashed()]
    wanted = commands(services.database.name)
    rows += [_row("adminCommand", command) for command in wanted]
    if parsed.run_it:
        async with mongodb_diagnosed(services.settings.mongodb_uri):
            await _check_router(services)
            with pymongo.timeout(UNLIMITED):
                for name in hashed():
                    await services.database[name].create_index([("_id", pymongo.HASHED)])
                for command in wanted:
                    await _run(services, command)
    return rows


def _row(method: str, command: object) -> Row:
    return {"method": method, "command": orjson.dumps(command).decode()}


async def _check_router(services: Services) -> None:
    """Check that MONGODB_URI leads to a router. Raises UnusableStore if not."""
    hello = await services.mongodb.admin.command("hello")
    if hello.get("msg") != "isdbgrid":
        raise UnusableStore(
            "MONGODB_URI names a replica set, not a router (mongos) of a sharded cluster: nothing "
            "was changed"
        )


async def _run(services: Services, command: Row) -> None:
    try:
        await services.mongodb.admin.command(command)
    except OperationFailure as error:
        if error.code != _ALREADY_DONE:
            raise


_ALREADY_DONE = 23
"""AlreadyInitialized: the collection has this key, or the database is enabled."""


def main() -> None:
    """Run the command."""
    command = Command(
        "shard",
        "Print the commands that shard clicks, deliveries and rollups, or run them on the router "
        "that MONGODB_URI names. Everything else stays on the database's primary shard.",
        "python -m scripts.shard --run",
    )
    parser = command.always(_shard)
    parser.add_argument(
        "--run", dest="run_it", action="store_true", help="run them; to run them again is harmless"
    )
    command.main()


if __name__ == "__main__":
    main()
