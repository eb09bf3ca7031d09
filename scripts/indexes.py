"""Create the service's indexes in MongoDB, before its processes start."""

import argparse
from collections.abc import Sequence

from scripts.command import Command, OutputRow
from tracker.service.services import Services
from tracker.stores.mongodb.indexes import INDEXES


async def _ensure(services: Services, _: argparse.Namespace) -> Sequence[OutputRow]:
    await services.prepare()
    return [
        {"collection": collection, "index": index.document["name"]}
        for collection, indexes in INDEXES.items()
        for index in indexes
    ]


def main() -> None:
    command = Command(
        "indexes",
        "Create missing indexes in MongoDB, and list all indexes of the service. Every process "
        "creates them when it starts. On large collections this takes minutes: run it as a "
        "release step.",
        "python -m scripts.indexes",
    )
    command.only_action(_ensure)
    command.main()


if __name__ == "__main__":
    main()
