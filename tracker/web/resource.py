"""One way to find, list and show the objects of an account, for every resource."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tracker.access.audit import AuditObject
from tracker.access.principal import Principal
from tracker.clock import iso
from tracker.errors import NotFound
from tracker.web.call import Call, Nothing, Owned
from tracker.web.schema import AccountPage, Page, Paged

Stored = TypeVar("Stored", bound=Owned)
Record = TypeVar("Record", bound=msgspec.Struct)

Show = Callable[[Any, Sequence[Stored]], Awaitable[list[Record]]]
"""Returns the records of stored objects for answers, given the room's services."""

Fetch = Callable[[int, int], Awaitable[tuple[list[Stored], int]]]
"""Returns the objects on a 1-based page of a given size, and the total number of objects."""


class Paginated(Protocol[Stored]):
    """A store that lists the objects of an account."""

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[Stored], int]:
        """Return the objects on a 1-based page, and their total number."""


@runtime_checkable
class _Archivable(Protocol):
    archived: bool


class Resource(Generic[Stored, Record]):
    """A kind of object that belongs to accounts. Messages call it `name`.

    `find` looks up the path's object; `show` makes the records for answers. The audit log names an
    object by its field `label`.
    """

    def __init__(
        self,
        name: str,
        find: Callable[[Call[Any, Any, Any]], Awaitable[Stored | None]],
        show: Show[Stored, Record],
        label: str = "name",
    ) -> None:
        self._name = name
        self._label = label
        self._find = find
        self._show = show

    def audit_object(self, stored: Any) -> AuditObject:
        """Return `stored` as the audit log names it."""
        kind = self._name.lower().replace(" ", "_")
        return AuditObject(kind=kind, id=stored.id, name=getattr(stored, self._label))

    async def find(self, call: Call[Any, Any, Any]) -> Stored:
        """Return the path's object. Raises as `checked` does."""
        return self.checked(call, await self._find(call))

    def checked(self, call: Call[Any, Any, Any], stored: Stored | None) -> Stored:
        """Return `stored`. Raises NotFound if None or archived, Forbidden if another's."""
        stored = call.check_owner(self._name, stored)
        if isinstance(stored, _Archivable) and stored.archived:
            raise NotFound(f"{self._name}: not found")
        return stored

    async def show(self, call: Call[Any, Any, Any], stored: Stored) -> Record:
        [record] = await self.show_all(call, [stored])
        return record

    async def show_all(self, call: Call[Any, Any, Any], stored: Sequence[Stored]) -> list[Record]:
        return await self._show(call.services, [visible(call.principal, one) for one in stored])

    async def page(
        self, call: Call[Any, Any, Any], requested: Paged, fetch: Fetch[Stored]
    ) -> Page[Record]:
        """Return the requested page of the objects that `fetch` returns."""
        stored, total = await fetch(requested.page, requested.page_size)
        return requested.page_of(await self.show_all(call, stored), total)

    async def list_page(
        self, call: Call[Any, AccountPage, Nothing], store: Paginated[Stored]
    ) -> Page[Record]:
        return await self.page(call, call.query, partial(store.page, call.account_id))


def visible(principal: Principal, stored: Stored) -> Stored:
    """Return the object with only those of its tags that the principal may see."""
    limit, tags = principal.tags, getattr(stored, "tags", None)
    if limit is None or not isinstance(tags, list):
        return stored
    return replace(stored, tags=[one for one in tags if one in limit])  # type: ignore[type-var]


def record_of(kind: type[Record], stored: object, **others: object) -> Record:
    """Return a record of `kind`: `others`, and the remaining fields from `stored`.

    Times become text.
    """
    for name in _others_than(kind, *others):
        value = getattr(stored, name)
        others[name] = iso(value) if type(value) is datetime else value
    return kind(**others)


@cache
def _others_than(kind: type[msgspec.Struct], *names: str) -> Sequence[str]:
    return [name for name in kind.__struct_fields__ if name not in names]


def one_by_one(record: Callable[[Stored], Record]) -> Show[Stored, Record]:
    """Return a `Show` that applies `record` to each object."""

    async def show(_: Any, stored: Sequence[Stored]) -> list[Record]:
        return [record(one) for one in stored]

    return show
