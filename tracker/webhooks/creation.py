"""Creation of deliveries: of settled conversions and of their changes, to webhooks that ask.

The drain calls this in the transaction that settles or changes the conversions.
`DeliveryQueue.add` gets the result once the transaction is committed.

- A webhook is told of a conversion when it is settled, if the conversion matches its filter.
- Of each change after that a webhook is told that asks for changes. Another one is told of the
  conversion, if it matches since this change.

Guarantee: one delivery per webhook and conversion, or change of it, however often this runs. Its id
follows from them.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, islice
from typing import Any, NamedTuple
from uuid import UUID

from tracker.clock import now
from tracker.conversions.corrections.changes import RESTATED
from tracker.stores.mongodb.documents import run_inserts, stored_ids, with_byte_ids
from tracker.stores.mongodb.drivers import Database
from tracker.stores.mongodb.transaction import MongoSession
from tracker.webhooks.delivery import Kind, delivery_id, new_row
from tracker.webhooks.filters import NO_FILTER, Filter, filter_of
from tracker.webhooks.limits import MAX_ROWS_PER_COMMAND
from tracker.webhooks.queue import DueWebhook, due_webhook

MongoDocument = Mapping[str, Any]


class Subscriber(NamedTuple):
    """An active webhook, and what it is told of."""

    id: UUID
    account_id: UUID
    created_at: datetime
    kinds: Collection[str]
    filter: Filter


Webhooks = Mapping[bytes, Sequence[Subscriber]]
"""Active webhooks by account."""

_Pair = tuple[MongoDocument | None, MongoDocument]
"""A conversion before and after a change; before it was settled it is None."""

_Tags = Mapping[bytes, Collection[bytes]]
"""The tags of links."""


async def create_deliveries(
    database: Database,
    conversions: Sequence[MongoDocument],
    session: MongoSession,
    updated: Sequence[tuple[MongoDocument, MongoDocument]] = (),
) -> set[DueWebhook]:
    """Insert the deliveries of settled `conversions`, and of `updated` ones (before, after)."""
    told = [*conversions, *(after for _, after in updated)]
    account_ids = {one["account_id"] for one in told if one["account_id"] is not None}
    if not account_ids:
        return set()
    webhooks = await active_webhooks(database, account_ids, session)
    tags = await tags_of_links(database, told, webhooks, session)
    pairs = chain(((None, one) for one in conversions), updated)
    return await insert_deliveries(database, _rows(pairs, webhooks, tags), session)


def _rows(told: Iterable[_Pair], webhooks: Webhooks, tags: _Tags) -> Iterator[dict[str, Any]]:
    at = now()
    for pair in told:
        after = pair[1]
        link_tags = tags.get(after.get("link_id", b""), ())
        for webhook in webhooks.get(after["account_id"] or b"", ()):
            if kind := _kind(webhook, pair, link_tags):
                yield _row(webhook, kind, pair, at)


def _kind(webhook: Subscriber, pair: _Pair, link_tags: Collection[bytes]) -> Kind | None:
    """Return as what a webhook is told of a settled conversion, or of a change; None if not."""
    before, after = pair
    if not webhook.filter.matches(after, link_tags):
        return None
    if before is None:
        is_new = webhook.created_at <= after.get("received_at", after["at"])
    elif Kind.CONVERSION_UPDATED in webhook.kinds:
        return Kind.CONVERSION_UPDATED
    else:
        is_new = not webhook.filter.matches(before, link_tags)
    return Kind.CONVERSION if is_new and Kind.CONVERSION in webhook.kinds else None


def _row(webhook: Subscriber, kind: Kind, pair: _Pair, at: datetime) -> dict[str, Any]:
    before, after = pair
    subject: int | str = after["_id"]
    fields: dict[str, Any] = {"event_id": subject, "state": _state(after)}
    if Kind.CONVERSION_UPDATED in webhook.kinds:
        fields["revision"] = after.get("revision", 0)
    if before is not None and kind is Kind.CONVERSION_UPDATED:
        subject = f"{subject} {after['revision']}"
        changes: Sequence[MongoDocument] = after.get("changes", ())
        newest = max(changes, key=lambda one: (one["recorded_at"], one["id"]), default={})
        fields |= {"kind": kind, "previous": _state(before), "reason": newest.get("reason")}
    key = delivery_id(webhook.id, subject)
    return new_row(key, webhook.id, webhook.account_id, at, **fields)


def _state(conversion: MongoDocument) -> dict[str, Any]:
    return {name: conversion[name] for name in RESTATED if conversion.get(name) is not None}


async def tags_of_links(
    database: Database,
    told: Iterable[MongoDocument],
    webhooks: Webhooks,
    session: MongoSession,
) -> _Tags:
    """Return the tags of the links of conversions or clicks whose account filters by tags."""
    by_tags = {key for key, found in webhooks.items() if any(one.filter.tags for one in found)}
    of_them = [one for one in told if one["account_id"] in by_tags]
    link_ids = {one["link_id"] for one in of_them if "link_id" in one}
    if not link_ids:
        return {}
    links = with_byte_ids(database["links"])
    found = links.find({"_id": {"$in": stored_ids(link_ids)}}, ["tags"], session=session)
    return {row["_id"]: row["tags"] async for row in found}


async def insert_deliveries(
    database: Database, rows: Iterable[dict[str, Any]], session: MongoSession
) -> set[DueWebhook]:
    """Insert the rows that are not stored yet; return the webhooks to be added to the queue."""
    due, left = set[DueWebhook](), iter(rows)
    # In pieces, to let other tasks run.
    while piece := list(islice(left, MAX_ROWS_PER_COMMAND)):
        due.update(map(due_webhook, await _insert_new(database, piece, session)))
        await asyncio.sleep(0)
    return due


async def active_webhooks(
    database: Database, account_ids: set[bytes], session: MongoSession
) -> Webhooks:
    wanted = {"account_id": {"$in": stored_ids(account_ids)}, "active": True}
    return await find_subscribers(database, wanted, session)


async def find_subscribers(
    database: Database, wanted: MongoDocument, session: MongoSession | None = None
) -> Webhooks:
    """Return the webhooks with the `wanted` fields."""
    found = defaultdict(list)
    fields = ["account_id", "created_at", "events", "filter"]
    # In pieces, to let other tasks run: each takes 12 µs.
    rows = database["webhooks"].find(wanted, fields, session=session, batch_size=500)
    async for row in rows:
        # Webhooks without `events` are older than the other kinds: they subscribe to conversions.
        kinds = row.get("events", [Kind.CONVERSION])
        matching = filter_of(kinds, row.get("filter", NO_FILTER))
        one = Subscriber(row["_id"], row["account_id"], row["created_at"], kinds, matching)
        found[row["account_id"].bytes].append(one)
    return found


async def _insert_new(
    database: Database, rows: list[dict[str, Any]], session: MongoSession
) -> list[dict[str, Any]]:
    """Insert and return the rows that are not stored yet. Upserts take three times as long.

    If another transaction inserts a row meanwhile, this one conflicts and is retried.
    """
    wanted = {"_id": {"$in": [row["_id"] for row in rows]}}
    found = database["deliveries"].find(wanted, ["_id"], session=session)
    stored = {row["_id"] async for row in found}
    if new := [row for row in rows if row["_id"] not in stored]:
        await run_inserts(database, "deliveries", new, session)
    return new
