"""`backup`: a copy that is made under load is whole, and is put back into other stores."""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
import redis
from pymongo import MongoClient
from redis.asyncio.client import Pipeline
from tornado.platform.asyncio import AsyncIOLoop

from config.settings import Settings
from scripts import backup_stores
from scripts.backup_files import PartWriter, documents, make_folder
from scripts.backup_stores import copy_spool, restore_spool
from tests.factories import make_click
from tests.journal.spooling import replayed
from tests.ops.restoring import GAP, convert, prepare, visitors
from tests.scripts.conftest import Run
from tests.system.owner import script
from tests.system.service import environment, running
from tests.waiting import until
from tracker.journal.entry import encode
from tracker.journal.spool import Spool
from tracker.stores.builtin.stores import run_stores
from tracker.stores.redis.keys import DEAD_LETTERS


@contextmanager
def other_stores(tmp_path: Path) -> Iterator[Settings]:
    with run_stores(Settings(data_dir=str(tmp_path / "other"), log_level="warning")) as stores:
        yield stores


def test_what_was_answered_before_a_backup_under_load_is_in_other_stores_after_a_restore(
    settings: Settings, tmp_path: Path, io_loop: AsyncIOLoop
) -> None:
    before: list[UUID] = []
    folder = tmp_path / "backup"
    variables = environment(settings)
    with running(variables) as service, redis.Redis.from_url(settings.redis_url) as client:
        pbk = io_loop.run_sync(lambda: prepare(settings))
        with visitors(service, before):
            kept = convert(service, pbk)
        client.xadd(DEAD_LETTERS, {"1": b"\xff", "id": "1-1", "reason": "test"})
        with visitors(service, []):
            parts = script(variables, "backup", "create", str(folder))
        lost = convert(service, pbk)
    assert {"spool", "redis", "mongodb.clicks"} <= {part["part"] for part in parts}

    with (
        other_stores(tmp_path) as others,
        MongoClient[dict[str, Any]](others.mongodb_uri, uuidRepresentation="standard") as mongodb,
        redis.Redis.from_url(others.redis_url) as own,
    ):
        variables = environment(others)
        assert script(variables, "backup", "restore", str(folder)) == parts
        assert own.xlen(DEAD_LETTERS) == 1
        with running(variables) as service:
            until(lambda: own.xlen("journal") == 0)
            assert convert(service, pbk) > GAP > lost
            database = mongodb[others.mongodb_database]
            clicks = {row["_id"] for row in database["clicks"].find({}, ["_id"])}
            assert set(before) <= clicks
            assert database["events"].count_documents({"_id": kept}) == 1
            [compared] = script(variables, "verify")
            assert compared["clicks"] >= len(before)
            assert compared["differences"] == 0


def test_what_only_waits_in_redis_and_the_spool_is_in_the_backup(
    settings: Settings, tmp_path: Path, io_loop: AsyncIOLoop
) -> None:
    """Nothing drains, and a click is in the spool of a process that runs."""
    folder, answered = tmp_path / "backup", list[UUID]()
    spool, click = Spool(settings.data_path / "spool", 1024**3), make_click()
    variables = environment(settings)
    io_loop.run_sync(lambda: prepare(settings))
    with running(variables, "--role", "web") as service, visitors(service, answered):
        pass
    with redis.Redis.from_url(settings.redis_url) as client:
        waiting = client.xlen("journal")
        client.rpush("visitors:kept", "one")
    io_loop.run_sync(lambda: spool.append(encode([click])))
    script(variables, "backup", "create", str(folder))
    io_loop.run_sync(spool.close)

    with other_stores(tmp_path) as others:
        script(environment(others), "backup", "restore", str(folder))
        restored = others.data_path / "spool"
        with redis.Redis.from_url(others.redis_url) as own:
            assert own.xlen("journal") == waiting
            assert own.lrange("visitors:kept", 0, -1) == [b"one"]
            with running(environment(others)):
                until(lambda: own.xlen("journal") == 0 and not any(restored.iterdir()))
        with MongoClient[dict[str, Any]](
            others.mongodb_uri, uuidRepresentation="standard"
        ) as mongodb:
            found = mongodb[others.mongodb_database]["clicks"].find({}, ["_id"])
            assert {row["_id"] for row in found} == {*answered, UUID(bytes=click.id)}


async def test_a_spool_is_copied_with_all_that_was_answered_though_it_grows_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each of some reads its write-ahead log moves to the database and begins again."""
    spool, folder = Spool(tmp_path / "spool", 1024**3), tmp_path / "backup"
    read, reads, loop = backup_stores._read_if_there, itertools.count(), asyncio.get_running_loop()
    payloads = [b"%010000d" % number for number in range(500)]
    left = iter(payloads)

    async def grow() -> None:
        for payload in itertools.islice(left, 100):
            await spool.append(payload)

    def read_later(path: Path) -> bytes:
        if next(reads) in (1, 2):
            asyncio.run_coroutine_threadsafe(grow(), loop).result()
        return read(path)

    await grow()
    monkeypatch.setattr(backup_stores, "_read_if_there", read_later)
    make_folder(folder)
    with PartWriter(folder, "spool") as writer:
        await asyncio.to_thread(copy_spool, [tmp_path / "spool"], writer)
    restore_spool(folder, "spool", tmp_path / "copy")
    found = await replayed(tmp_path / "copy")
    assert len(found) >= 100
    assert found == payloads[: len(found)]
    await spool.close()


@pytest.fixture
def backup(run: Run, account_id: str, tmp_path: Path) -> Path:
    """A backup with one account."""
    folder = tmp_path / "backup"
    made = run("backup", "create", str(folder))
    assert made.returncode == 0, made.stderr
    return folder


def test_a_backup_is_for_its_owner_alone_and_never_written_over(run: Run, backup: Path) -> None:
    assert not any(one.stat().st_mode & 0o077 for one in (backup, *backup.iterdir()))
    again = run("backup", "create", str(backup))
    assert again.returncode == 1
    assert "File exists" in again.stderr


def test_a_file_that_is_not_what_was_written_is_named(run: Run, backup: Path) -> None:
    assert run("backup", "check", str(backup)).returncode == 0
    file = backup / "mongodb.accounts.bson.gz"
    whole = file.read_bytes()
    for wrong in (b"", whole[:-10], whole[:30] + b"\0\0" + whole[32:]):
        file.write_bytes(wrong)
        checked = run("backup", "check", str(backup))
        assert checked.returncode == 1
        assert str(file) in checked.stderr


def test_a_backup_that_did_not_end_is_none(run: Run, backup: Path) -> None:
    (backup / "backup.json").unlink()
    checked = run("backup", "restore", str(backup), MONGODB_DATABASE=f"none-{uuid4().hex[:8]}")
    assert checked.returncode == 1
    assert "no complete backup" in checked.stderr


@pytest.mark.parametrize("spool", ["missing", "no-folder"])
def test_a_backup_that_misses_a_spool_is_none(
    run: Run, account_id: str, tmp_path: Path, spool: str
) -> None:
    (tmp_path / "no-folder").touch()
    folder = tmp_path / "backup"
    made = run("backup", "create", str(folder), "--spool", str(tmp_path / spool))
    assert made.returncode == 1
    assert f"{tmp_path / spool}: " in made.stderr
    assert not (folder / "backup.json").exists()


def test_a_key_that_ends_while_it_is_copied_does_not_come_back_for_good(
    run: Run, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has a dump, and a moment later no time left."""
    ask = Pipeline.pttl
    monkeypatch.setattr(
        Pipeline, "pttl", lambda self, key: ask(self, b"none" if key == b"visitors:ends" else key)
    )
    folder = tmp_path / "backup"
    with redis.Redis.from_url(settings.redis_url) as client:
        client.set("visitors:ends", "1", px=60_000)
        client.set("visitors:stays", "1")
        assert run("backup", "create", str(folder)).returncode == 0
    assert [one["key"] for one in documents(folder, "redis") if "key" in one] == [b"visitors:stays"]


def test_nothing_is_put_back_into_stores_that_have_something(run: Run, backup: Path) -> None:
    refused = run("backup", "restore", str(backup))
    assert refused.returncode == 1
    assert "MongoDB is not empty" in refused.stderr


def test_a_spool_or_a_journal_that_has_something_is_not_mixed_with_a_backup(
    run: Run, backup: Path, settings: Settings
) -> None:
    elsewhere = {"MONGODB_DATABASE": f"none-{uuid4().hex[:8]}"}
    with redis.Redis.from_url(settings.redis_url) as client:
        client.xadd("journal", {"1": b""})
        refused = run("backup", "restore", str(backup), **elsewhere)
        assert "Redis is not empty: journal has entries" in refused.stderr
        client.delete("journal")
        client.set("transaction:left", "1")
        refused = run("backup", "restore", str(backup), **elsewhere)
        assert "Redis is not empty: transaction:left is there" in refused.stderr
        client.delete("transaction:left")
    spool = Path(settings.data_dir) / "spool"
    spool.mkdir(parents=True, exist_ok=True)
    (spool / "1.sqlite").touch()
    refused = run("backup", "restore", str(backup), **elsewhere)
    assert refused.returncode == 1
    assert f"{spool}: not empty" in refused.stderr
