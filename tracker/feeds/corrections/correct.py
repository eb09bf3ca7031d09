"""Appends corrections to the journal."""

import asyncio
from collections.abc import Sequence
from typing import Any

from pymongo import UpdateOne

from tracker.conversions.conversion import Correction
from tracker.conversions.restating import change_of
from tracker.errors import Unavailable
from tracker.feeds.corrections.statement import CORRECTING, MAX_CORRECTING
from tracker.journal.journal import Journal
from tracker.stores.mongodb.database import MongoDB


class Corrections:
    """The corrections of stored conversions."""

    def __init__(self, mongodb: MongoDB, journal: Journal) -> None:
        self._events = mongodb["events"]
        self._journal = journal

    async def append(self, corrections: Sequence[Correction]) -> list[Unavailable | None]:
        """Append corrections. Return for each None once it is durable, or why it is not."""
        answers = await asyncio.gather(*map(self._append, corrections))
        durable = [one for one, error in zip(corrections, answers, strict=True) if error is None]
        if durable:
            # Only for the next correction: it counts nothing, as the drain alone does.
            await self._events.bulk_write([_marked(one) for one in durable], ordered=False)
        return answers

    async def _append(self, correction: Correction) -> Unavailable | None:
        try:
            await self._journal.append(correction)
        except Unavailable as error:
            return error
        return None


def _marked(correction: Correction) -> UpdateOne:
    waiting: dict[str, Any] = {"$each": [change_of(correction)], "$slice": -MAX_CORRECTING}
    return UpdateOne({"_id": correction.event_id}, {"$push": {CORRECTING: waiting}})
