"""Deliveries of clicks: up to MAX_CLICKS in each, to webhooks that ask for them.

The writer of batches calls `refresh` before its transaction, and `create` in it. Which webhooks ask
is read once a second for all accounts, so a batch of others costs nothing.

Guarantee: a click becomes part of one delivery of a webhook, or counts as skipped. The transaction
that stores the click does either. What is cancelled with its webhook counts as neither.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from tracker.clicks.document import ClickDocument
from tracker.clock import now
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.transaction import MongoSession
from tracker.webhooks.creation import Subscriber, Webhooks, find_subscribers, tags_of_links
from tracker.webhooks.delivery import Kind, delivery_id, new_row
from tracker.webhooks.limits import MAX_CLICKS, MAX_CLICKS_TOLD
from tracker.webhooks.queue import DueWebhook
from tracker.webhooks.subscriptions.bound import count_waiting, insert_bounded

REFRESH_SECONDS: Final = 1.0
_PAUSE_FACTOR: Final = 20
"""The pause after a refresh, in times of its length."""


class ClickWebhooks:
    """The webhooks of all accounts that ask for clicks, as one drain knows them."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._webhooks: Webhooks = {}
        self._waiting: Mapping[UUID, int] = {}
        self._used: set[UUID] = set()
        """Webhooks with clicks since the last refresh: only their deliveries are counted."""
        self._known_until = 0.0

    async def refresh(self) -> None:
        """Read webhooks, and what waits for them, if that is older than REFRESH_SECONDS.

        With many it is read less often, so that it takes a twentieth of the time at most.
        """
        if (began := time.monotonic()) < self._known_until:
            return
        asked, used = {"events": Kind.CLICK_RECORDED, "active": True}, self._used
        webhooks = await find_subscribers(self._database, asked)
        waiting = await count_waiting(self._database, used) if used else {}
        # At once, because two consumers may refresh together.
        self._webhooks, self._waiting, self._used = webhooks, waiting, set()
        ended = time.monotonic()
        self._known_until = ended + max(REFRESH_SECONDS, _PAUSE_FACTOR * (ended - began))

    async def create(
        self, clicks: Sequence[ClickDocument], drain_number: int, session: MongoSession
    ) -> set[DueWebhook]:
        """Insert deliveries of new clicks; return their webhooks, to be added to the queue."""
        webhooks, owned = self._webhooks, defaultdict[bytes, list[ClickDocument]](list)
        for click in clicks if webhooks else ():
            if click["account_id"] in webhooks:
                owned[click["account_id"]].append(click)
        if not owned:
            return set()
        asking = {account_id: webhooks[account_id] for account_id in owned}
        tags = await tags_of_links(self._database, clicks, asking, session)
        rows = {}
        for account_id, found in owned.items():
            for webhook in asking[account_id]:
                matches = webhook.filter.of_clicks(webhook.created_at, tags)
                if matching := [click for click in found if matches(click)]:
                    most = MAX_CLICKS_TOLD // len(asking[account_id])
                    rows[webhook.id] = _rows(webhook, matching, most)
                await asyncio.sleep(0)
        self._used.update(rows)
        return await insert_bounded(self._database, rows, self._waiting, drain_number, session)


def _rows(webhook: Subscriber, clicks: Sequence[ClickDocument], most: int) -> list[dict[str, Any]]:
    """Return the deliveries of the first clicks. The first counts the others as skipped."""
    kind, at, rows = Kind.CLICK_RECORDED, now(), []
    ids = [click["_id"] for click in clicks]
    for start in range(0, min(len(ids), most), MAX_CLICKS):
        piece = ids[start : min(start + MAX_CLICKS, most)]
        fields = {"click_ids": b"".join(piece), "clicks": len(piece), "skipped": 0}
        key = delivery_id(webhook.id, f"{kind} {piece[0].hex()}")
        rows.append(new_row(key, webhook.id, webhook.account_id, at, kind=kind, **fields))
    rows[0]["skipped"] = max(0, len(ids) - most)
    return rows
