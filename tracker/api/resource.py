"""How the objects of an account are found, listed and shown: the same for every resource."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import msgspec

from tracker.api.endpoint import Call, Owned
from tracker.api.schema import Page, Paged
from tracker.api.services import Services
from tracker.clock import iso
from tracker.errors import NotFound

Stored = TypeVar("Stored", bound=Owned)
Record = TypeVar("Record", bound=msgspec.Struct)

Show = Callable[[Services, Sequence[Stored]], Awaitable[list[Record]]]
"""Returns the records that answers have of stored objects."""

Fetch = Callable[[int, int], Awaitable[tuple[list[Stored], int]]]
"""Returns the objects of a 1-based page of a size, and how many there are in total."""


@runtime_checkable
class _Archivable(Protocol):
    archived: bool


class Resource(Generic[Stored, Record]):
    """One kind of objects that belong to accounts, and the records that answers have of them.

    `name` is how messages call it; `find` looks up the object that the path names.
    """

    def __init__(
        self,
        name: str,
        find: Callable[[Call[Any, Any]], Awaitable[Stored | None]],
        show: Show[Stored, Record],
    ) -> None:
        self._name = name
        self._find = find
        self._show = show

    async def own(self, call: Call[Any, Any]) -> Stored:
        """Return the account's object that the path names.

        Raises NotFound if there is none or it is archived, Forbidden if it is another account's.
        """
        stored = call.own(self._name, await self._find(call))
        if isinstance(stored, _Archivable) and stored.archived:
            raise NotFound(f"{self._name}: not found")
        return stored

    async def show_own(self, call: Call[Any, Any]) -> Record:
        """Return the record of the account's object that the path names. Raises as `own` does."""
        return await self.show(call, await self.own(call))

    async def show(self, call: Call[Any, Any], stored: Stored) -> Record:
        """Return the record of `stored`."""
        [record] = await self._show(call.services, [stored])
        return record

    async def show_all(self, call: Call[Any, Any], stored: Sequence[Stored]) -> list[Record]:
        """Return the records of `stored`, in the same order."""
        return await self._show(call.services, stored)

    async def page(self, call: Call[Any, Any], asked: Paged, fetch: Fetch[Stored]) -> Page[Record]:
        """Return the page that is asked for, of the objects that `fetch` gives."""
        stored, total = await fetch(asked.page, asked.page_size)
        return asked.page_of(await self._show(call.services, stored), total)


def record_of(kind: type[Record], stored: object, **others: object) -> Record:
    """Return a record of `kind`: `others`, and the fields of `stored` that have its other names.

    Times become text.
    """
    names = [name for name in kind.__struct_fields__ if name not in others]
    return kind(**others, **{name: _json(getattr(stored, name)) for name in names})


def _json(value: object) -> object:
    return iso(value) if isinstance(value, datetime) else value


def one_by_one(record: Callable[[Stored], Record]) -> Show[Stored, Record]:
    """Return how to show objects each of which becomes a record by itself."""

    async def show(_: Services, stored: Sequence[Stored]) -> list[Record]:
        return [record(one) for one in stored]

    return show
