"""The queries of a cache to MongoDB, each for many names.

One query is in flight at a time; names requested meanwhile share the next. After a failure MongoDB
gets no query for a moment.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from pymongo.errors import PyMongoError

from tracker.errors import RateLimited, Unavailable
from tracker.metrics import LOOK_UPS_SHARED
from tracker.stores.batch import Batch
from tracker.stores.breaker import Breaker, answer_within
from tracker.stores.mongodb.reads import MongoReads

LOAD_SECONDS: Final = 2.0

SHARED_NAMES_PER_QUERY: Final = 100
SHARED_REST_SECONDS: Final = 0.02
"""The pause after each query of the share: at most 5,000 names a second in a process."""

SHARED_WAITING_NAMES: Final = 10_000
"""Names that may wait for the share; beyond it they are refused."""

Value = TypeVar("Value", covariant=True)


class CacheLookup(Protocol[Value]):
    """The look-up of a cache in MongoDB: one query at a time, for many names."""

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the documents of MongoDB, by name."""

    def value_of(self, found: Any) -> Value | None:
        """Return the value of a document, None if it counts as missing."""


class FieldLookup(Generic[Value]):
    """A look-up of documents named `<prefix>:<value of a unique field>`."""

    def __init__(
        self,
        reads: MongoReads,
        collection: str,
        field: str,
        fields: Sequence[str],
        value_of: Callable[[Any], Value | None],
        parse: Callable[[str], Any] = str,
    ) -> None:
        self._reads = reads
        self._collection = collection
        self._field = field
        self._fields = [*fields, field]
        self._parse = parse
        self.value_of = value_of

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        wanted = {self._parse(name.partition(":")[2]): name for name in names}
        matching = {self._field: {"$in": list(wanted)}}
        rows = await self._reads.find(self._collection, matching, self._fields, limit=len(wanted))
        return {wanted[row[self._field]]: row for row in rows}


class BatchedLookup:
    """The batched queries of one cache."""

    def __init__(self, lookup: CacheLookup[Any]) -> None:
        self._lookup = lookup
        self._turn = asyncio.Lock()
        self._breaker = Breaker()
        self._queries = Batch[str, Any](self._query)
        self._shared_queries = Batch[str, Any](
            self._query_and_rest, SHARED_NAMES_PER_QUERY, SHARED_WAITING_NAMES
        )

    async def find(self, name: str) -> Any:
        """Return the document of `name`, if there is one. Raises Unavailable if MongoDB fails."""
        return await self._queries.submit(name)

    async def find_in_share(self, name: str) -> Any:
        """Find within the share. Raises Unavailable, or RateLimited if too many names wait."""
        try:
            waiting = self._shared_queries.submit(name)
        except Unavailable:
            LOOK_UPS_SHARED.labels("refused").inc()
            raise RateLimited("too many unknown names from this address", 1) from None
        LOOK_UPS_SHARED.labels("answered").inc()
        return await waiting

    async def _query_and_rest(self, names: list[str]) -> Sequence[Any]:
        found = await self._query(names)
        await asyncio.sleep(SHARED_REST_SECONDS)
        return found

    async def _query(self, names: list[str]) -> Sequence[Any]:
        async with self._turn:
            if self._breaker.is_open:
                raise Unavailable("storage is unavailable; try again")
            try:
                found = await answer_within(LOAD_SECONDS, self._lookup.find(names))
            except (PyMongoError, TimeoutError) as error:
                self._breaker.record_failure(error)
                raise Unavailable("storage is unavailable; try again") from error
        return [found.get(name) for name in names]
