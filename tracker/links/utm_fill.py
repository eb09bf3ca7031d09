"""The UTM values for filters, for links that an earlier release has stored or changed.

Drains look for them hourly, because web processes of that release may still run.
"""

import asyncio
from typing import Any, Final

import pymongo

from tracker.links.destination import FIELD, utm_of
from tracker.links.utm import UTM
from tracker.loops import run_until
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import run_updates
from tracker.stores.mongodb.drivers import UNLIMITED

_LINKS_AT_ONCE: Final = 500
"""Links whose values the event loop derives without a pause: 3 ms."""

_PAUSE_SECONDS: Final = 3600.0

_FIELDS: Final = (FIELD, *UTM)

_WITH_VALUES: Final = {
    "$or": [{FIELD: {"$regex": "utm_"}}, *({name: {"$ne": None}} for name in UTM)]
}
"""Other links need nothing: a missing field is found as one without a value."""


class UtmFill:
    """The part of a drain that stores missing or outdated UTM values."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database

    async def run(self, stop: asyncio.Event) -> None:
        """Store them until `stop` is set, which also ends the work in progress."""
        await run_until(stop, self._work())

    async def _work(self) -> None:
        while True:
            await self.fill()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def fill(self) -> int:
        """Store missing or outdated values; return the number of links."""
        filled = 0
        # Before it finds one, MongoDB may read any number of links.
        with pymongo.timeout(UNLIMITED):
            rows = self._database["links"].find(_WITH_VALUES, _FIELDS, batch_size=_LINKS_AT_ONCE)
            while links := await rows.to_list(_LINKS_AT_ONCE):
                statements = [one for link in links if (one := _statement(link))]
                filled += await run_updates(self._database, "links", statements)
        return filled


def _statement(link: dict[str, Any]) -> dict[str, Any] | None:
    """Return the update of a link; None if its values are those of its destination."""
    values = utm_of(link[FIELD])
    if all(name in link and link[name] == values[name] for name in UTM):
        return None
    return {"q": {name: link[name] for name in ("_id", FIELD)}, "u": {"$set": values}}
