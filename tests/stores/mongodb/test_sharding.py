"""What the service sends about collections that may be sharded is what routers accept.

No router is at hand. Every command is read from MongoDB's profiler, and held against the rules that
its documentation gives for sharded collections.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import orjson
import pytest

from tests.conversions import scene
from tests.documents import OPERATIONS, block
from tests.factories import (
    create_event_config,
    create_link,
    create_webhook,
    make_click,
    make_conversion,
)
from tests.stores.mongodb.profiler import profiled
from tracker.clock import now
from tracker.service.services import Services
from tracker.stores.mongodb.indexes import INDEXES
from tracker.webhooks.deliveries import AttemptResult
from tracker.webhooks.delivery import Attempt, DeliveryStatus

pytestmark = pytest.mark.redis

ROLLUP_KEY: Final = ("_id.account_id", "_id.of", "_id.day", "_id.link_id")

SHARD_KEYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "clicks": {"_id": "hashed"},
    "deliveries": {"_id": "hashed"},
    "rollups": dict.fromkeys(ROLLUP_KEY, 1),
}
"""What may be sharded. A click and a delivery are found by their ids, which are random in a hash: a
range of ids would be written on one shard only. Reports read rollups by the first fields of their
ids, drains write them by whole ids."""

ONE_DOCUMENT_STAGES = {"$lookup", "$graphLookup", "$out", "$merge"}


def is_targeted(collection: str, query: Mapping[str, Any]) -> bool:
    """Return whether a query names the whole shard key, so that a router asks no other shard.

    For many rollups it names their accounts, the first part of the key.
    """
    if collection == "rollups":
        named = query.get("_id")
        if isinstance(named, dict) and "$in" in named:
            return "$in" in query.get(ROLLUP_KEY[0], {})
        whole = isinstance(named, dict) and not any(one.startswith("$") for one in named)
        return whole or all(name in query for name in ROLLUP_KEY)
    value = query.get("_id")
    return value is not None and (not isinstance(value, dict) or set(value) <= {"$in", "$eq"})


def shape(row: Mapping[str, Any]) -> tuple[str, str]:
    collection = str(row["ns"]).partition(".")[2]
    return str(row["op"]), collection


def queries_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    command = row["command"]
    found: Mapping[str, Any] = command.get("q", command.get("filter", command.get("query", {})))
    return found


def sharded(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if shape(row)[1] in SHARD_KEYS]


async def traffic(services: Services) -> None:
    """Store clicks, conversions, counts and deliveries as drains do, twice."""
    owner = await services.accounts.accounts.create("Acme")
    link = await create_link(services, owner.id)
    config = await create_event_config(services, owner.id)
    await create_webhook(services, owner.id)
    clicks = [make_click(owner.id, link_id=link.id.bytes) for _ in range(3)]
    events = [
        make_conversion(
            number,
            clicks[0].id,
            account_id=owner.id.bytes,
            event_config_id=config.id.bytes,
            transaction_id=f"T-{number}",
            transaction_scope=config.id.bytes,
        )
        for number in (1, 2)
    ]
    for record in (*clicks, *events, clicks[0], events[0]):
        await services.journal.journal.append(record)
    await scene.drained(services)
    drain = scene.drain_of(services)
    for _ in range(2):  # the rollups of the first click are inserted, and then updated
        await drain.apply([make_click(owner.id, link_id=link.id.bytes)])


async def deliver(services: Services) -> None:
    """Claim, send, give up and retry deliveries as the sender does."""
    at = now()
    [turn] = await services.webhooks.queue.next(at, 10)
    held = await services.webhooks.deliveries.claim(dict.fromkeys(turn.webhooks, 10), at)
    assert held
    await services.webhooks.deliveries.store_content([(held[0], {"payload": "{}"})])
    attempt = Attempt(at=at, milliseconds=1, code=500, answer="", error=None)
    await services.webhooks.deliveries.record(
        [AttemptResult(held[0], attempt, DeliveryStatus.FAILED, None)]
    )
    await services.webhooks.deliveries.release(held[1:], at)
    await services.webhooks.deliveries.retry(held[0].id, at)


async def test_what_is_asked_of_sharded_collections_names_the_shards(services: Services) -> None:
    """A batch asks only the shards that have its documents, a sender updates by whole keys."""
    async with profiled(services.stores.mongodb.database) as batches:
        await traffic(services)
    async with profiled(services.stores.mongodb.database) as sending:
        await deliver(services)
    batches, sending = sharded(batches), sharded(sending)
    updates = [row for row in sending if row["op"] in ("update", "remove")]
    one = [row for row in updates if not row["command"].get("multi")]
    asked = [row for row in batches if row["op"] in ("query", "update", "remove")]
    assert {shape(row) for row in (*asked, *one)} >= {
        ("update", "rollups"),
        ("update", "deliveries"),
    }
    for row in (*asked, *one):
        assert is_targeted(shape(row)[1], queries_of(row)), row["command"]
    for row in (*batches, *sending):
        assert "findAndModify" not in row["command"]
    for row in batches:
        stages = {name for stage in row["command"].get("pipeline", ()) for name in stage}
        assert not stages & ONE_DOCUMENT_STAGES, row["command"]


def test_a_unique_index_of_a_sharded_collection_begins_with_its_key() -> None:
    for collection, key in SHARD_KEYS.items():
        for index in INDEXES[collection]:
            names = tuple(index.document["key"])
            assert not index.document.get("unique") or names[: len(key)] == tuple(key)


def test_the_key_of_rollups_has_an_index() -> None:
    assert ROLLUP_KEY in [tuple(index.document["key"]) for index in INDEXES["rollups"]]


def test_the_document_shards_these_collections_by_these_keys() -> None:
    commands = block(OPERATIONS, "sh.enableSharding")
    calls = re.findall(r'sh\.shardCollection\("tracker\.(\w+)", (\{.*\})\)', commands)
    keys = {name: orjson.loads(key.replace("{_id", '{"_id"')) for name, key in calls}
    assert keys == SHARD_KEYS
    assert 'sh.enableSharding("tracker")' in commands
    made = re.findall(r'getSiblingDB\("tracker"\)\.(\w+)\.createIndex\((\{.*?\})\)', commands)
    hashed = {name for name, key in SHARD_KEYS.items() if "hashed" in key.values()}
    assert made == [(name, '{_id: "hashed"}') for name in sorted(hashed)]
