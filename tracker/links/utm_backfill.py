"""Backfill of the UTM values for filters, in links that an earlier release has written.

Drains look for such links hourly, because web processes of that release may still run.
"""

import asyncio
from typing import Any, Final

import pymongo

from tracker.links.destination import DESTINATION_FIELD, utm_of
from tracker.links.utm import UTM
from tracker.links.words import UTM_SIGN, words_of
from tracker.loops import run_until
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.drivers import UNLIMITED

_LINKS_AT_ONCE: Final = 500
"""Links that the event loop works on without a pause: 3 ms."""

_PAUSE_SECONDS: Final = 3600.0

_FIELDS: Final = ("slug", DESTINATION_FIELD, "internal_name", "words", *UTM)

_WITH_VALUES: Final = {
    "$or": [
        {DESTINATION_FIELD: {"$regex": "utm_"}},
        *({name: {"$ne": None}} for name in UTM),
        {"words": {"$regex": f"^{UTM_SIGN}[0-9]"}},
    ]
}
"""Links with UTM values, or with words of those that they had. Others need only their words, which
`lists/backfill` stores: MongoDB finds a missing field as null."""


class UtmBackfill:
    """The loop of a drain that stores missing or outdated UTM values."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database

    async def run(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set, which also cancels the work in progress."""
        await run_until(stop, self._work())

    async def _work(self) -> None:
        while True:
            await self.backfill()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def backfill(self) -> int:
        """Store missing or outdated values; return the number of changed links."""
        filled = 0
        # MongoDB may read many links until it finds one.
        with pymongo.timeout(UNLIMITED):
            rows = self._database["links"].find(_WITH_VALUES, _FIELDS, batch_size=_LINKS_AT_ONCE)
            while links := await rows.to_list(_LINKS_AT_ONCE):
                statements = [one for link in links if (one := _statement(link))]
                filled += await run_updates(self._database, "links", statements)
        return filled


def _statement(link: dict[str, Any]) -> dict[str, Any] | None:
    """Return the update of a link; None if its values match its destination."""
    url = link[DESTINATION_FIELD]
    # Filters find values by the words of a link.
    values = {**utm_of(url), "words": words_of(link["slug"], url, link["internal_name"])}
    if all(name in link and link[name] == values[name] for name in values):
        return None
    return {"q": {name: link[name] for name in ("_id", DESTINATION_FIELD)}, "u": {"$set": values}}
