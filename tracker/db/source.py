"""A source of cached values (`db/cache`): documents found by one field, many at a time."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from tracker.db.connect import LookUpDatabase
from tracker.db.mongo_reader import MongoReader

Value = TypeVar("Value", covariant=True)


class FieldSource(Generic[Value]):
    """A source of the documents of `collection`, each named `<prefix>:<value of a unique field>`.

    `value_of` makes a value of a document, or None if the document counts as missing. `parse` makes
    the value of the field from its text in a name.
    """

    def __init__(
        self,
        database: LookUpDatabase,
        collection: str,
        field: str,
        fields: Sequence[str],
        value_of: Callable[[Any], Value | None],
        parse: Callable[[str], Any] = str,
    ) -> None:
        self._reader = MongoReader(database[collection])
        self._field = field
        self._fields = [*fields, field]
        self._parse = parse
        self.value_of = value_of

    async def find(self, names: Sequence[str]) -> Mapping[str, Any]:
        """Return the documents by name, with one query. Raises PyMongoError if it fails."""
        wanted = {self._parse(name.partition(":")[2]): name for name in names}
        matching = {self._field: {"$in": list(wanted)}}
        rows = await self._reader.find(matching, self._fields, len(wanted))
        return {wanted[row[self._field]]: row for row in rows}

    async def close(self) -> None:
        """Close the connection to MongoDB."""
        await self._reader.close()
