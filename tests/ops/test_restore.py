"""Backup and restore as docs/operations.md describes them, with the folders of both stores."""

import shutil
from pathlib import Path
from typing import Any
from uuid import UUID

import redis
from pymongo import MongoClient
from tornado.platform.asyncio import AsyncIOLoop

from config.settings import Settings
from tests.ops.restoring import GAP, convert, prepare, visitors
from tests.system.owner import script
from tests.system.service import environment, running
from tests.waiting import until
from tracker.stores.builtin.stores import run_stores


def connected(stores: Settings) -> MongoClient[dict[str, Any]]:
    return MongoClient(stores.mongodb_uri, uuidRepresentation="standard")


def back_up(stores: Settings, backup: Path) -> None:
    """Copy the stores in the order in which clicks pass through them: Redis, then MongoDB."""
    with redis.Redis.from_url(stores.redis_url) as client:
        client.config_set("auto-aof-rewrite-percentage", 0)
        until(lambda: client.info("persistence")["aof_rewrite_in_progress"] == 0)
        shutil.copytree(stores.data_path / "redis", backup / "redis")
        client.config_set("auto-aof-rewrite-percentage", 100)
    with connected(stores) as client:
        client.admin.command("fsync", lock=True)
        shutil.copytree(stores.data_path / "mongodb", backup / "mongodb")
        client.admin.command("fsyncUnlock")


def test_what_was_answered_before_a_backup_is_there_and_right_after_everything_was_lost(
    tmp_path: Path, io_loop: AsyncIOLoop
) -> None:
    settings = Settings(data_dir=str(tmp_path / "data"), log_level="warning")
    before: list[UUID] = []
    with run_stores(settings) as stores, running(environment(stores)) as service:
        pbk = io_loop.run_sync(lambda: prepare(stores))
        with visitors(service, before):
            kept = convert(service, pbk)
        with visitors(service, []):
            back_up(stores, tmp_path / "backup")
        lost = convert(service, pbk)
    shutil.rmtree(settings.data_path)
    shutil.copytree(tmp_path / "backup", settings.data_path)

    with run_stores(settings) as stores, connected(stores) as client:
        database = client[stores.mongodb_database]
        database["counters"].update_one({"_id": "event_id"}, {"$inc": {"last": GAP}})
        with running(environment(stores)) as service, redis.Redis.from_url(stores.redis_url) as own:
            # What a drain had in hand when it was copied is taken over after some seconds.
            until(lambda: own.xlen("journal") == 0)
            assert convert(service, pbk) > GAP > lost
            clicks = [row["_id"] for row in database["clicks"].find({}, ["_id"])]
            assert set(before) <= set(clicks)
            assert database["events"].count_documents({"_id": kept}) == 1
            [compared] = script(environment(stores), "verify")
            assert compared["clicks"] >= len(before)
            assert compared["differences"] == 0
