"""Back up the spool, Redis and MongoDB while the service runs; check and restore a backup."""

import argparse
from pathlib import Path

from scripts import backup_stores as stores
from scripts.backup_files import (
    BackupPart,
    PartWriter,
    check_part,
    make_folder,
    read_list,
    utc_now,
    write_list,
)
from scripts.command import Command, OutputRow
from scripts.progress import ProgressLine
from tracker.errors import TrackerError
from tracker.service.services import Services


async def _create(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    """Copy in the order in which clicks move, so each is in at least one copy."""
    folder: Path = parsed.to
    begun = utc_now()
    own = services.settings.data_path / "spool"
    line, parts = ProgressLine(), list[BackupPart]()
    try:
        spools = parsed.spool or [own] * own.exists()
        make_folder(folder)
        line.show("1 of 4: the spool")
        with PartWriter(folder, stores.SPOOL) as writer:
            stores.copy_spool(spools, writer)
        parts.append(writer.part)
        line.show("2 of 4: Redis")
        with PartWriter(folder, stores.REDIS) as writer:
            await stores.copy_redis(services.stores.redis, writer)
        parts.append(writer.part)
        line.show("3 of 4: MongoDB")
        async for copied in stores.copy_mongodb(services.stores.mongodb.database, folder):
            line.show(f"3 of 4: MongoDB, {copied.part.name}: {copied.documents:,} documents")
            parts.append(copied.part)
        line.show("4 of 4: the check")
        for part in parts:
            check_part(folder, part)
        write_list(folder, begun, parts)
    except OSError as error:
        raise TrackerError(f"{error.filename or folder}: {error.strerror or error}") from error
    finally:
        line.end()
    return _rows(parts)


async def _check(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    listed = read_list(parsed.folder)
    for part in listed.parts:
        check_part(parsed.folder, part)
    return _rows(listed.parts)


async def _restore(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    folder: Path = parsed.folder
    spool = services.settings.data_path / "spool"
    line = ProgressLine()
    try:
        stores.check_spool_is_empty(spool)
        await stores.check_empty(services.stores.redis, services.stores.mongodb.database)
        rows = await _check(services, parsed)
        for part in read_list(folder).parts:
            line.show(f"{part.name}: {part.documents:,} documents")
            if part.name == stores.SPOOL:
                stores.restore_spool(folder, part.name, spool)
            elif part.name == stores.REDIS:
                await stores.restore_redis(services.stores.redis, folder, part.name)
            else:
                await stores.restore_collection(services.stores.mongodb.database, part.name, folder)
        await stores.skip_event_ids(services.stores.mongodb.database)
        line.show("indexes")
        await services.prepare()
    except OSError as error:
        raise TrackerError(f"{error.filename or folder}: {error.strerror or error}") from error
    finally:
        line.end()
    return rows


def _rows(parts: list[BackupPart] | tuple[BackupPart, ...]) -> list[OutputRow]:
    return [{"part": part.name, "documents": part.documents, "bytes": part.bytes} for part in parts]


def main() -> None:
    command = Command(
        "backup",
        "Back up the spool, then Redis, then a snapshot of MongoDB, while the service runs. A "
        "backup has everything that was answered before it began, but not SECRET_KEY and the "
        "other settings.",
        "python -m scripts.backup create /backups/2026-01-31",
    )
    create = command.action("create", "create a backup and check it", _create)
    create.add_argument("to", type=Path, metavar="FOLDER", help="a new folder")
    create.add_argument(
        "--spool",
        type=Path,
        action="append",
        metavar="FOLDER",
        help="the spool of a web process; repeat it for each other spool [DATA_DIR/spool]",
    )
    check = command.action("check", "compare a backup with its list", _check)
    check.add_argument("folder", type=Path, metavar="FOLDER", help="a backup")
    restore = command.action(
        "restore", "restore a backup into empty stores, while the service does not run", _restore
    )
    restore.add_argument("folder", type=Path, metavar="FOLDER", help="a backup")
    command.main()


if __name__ == "__main__":
    main()
