"""The audit log of an account: who changed what, when, and from where.

An entry is stored in the transaction of its change if there is one. It never contains secrets.
Whatever has changed, its values are cut to MAX_CHANGES_BYTES.
"""

import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from tracker.access.principal import Actor, Author
from tracker.clock import iso, now
from tracker.ids import new_id
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.order import NEWEST_FIRST
from tracker.stores.mongodb.paging import Pages, all_of
from tracker.stores.mongodb.transaction import MongoSession

RETENTION_DAYS: Final = 400
"""MongoDB deletes older entries: a year, and time to look back at it."""

MAX_VALUE_CHARACTERS: Final = 2_048
"""The length to which values are cut at first. A whole destination fits."""

MAX_CHANGES_BYTES: Final = 8 * 1024
"""The limit of an entry's values together, as JSON, so that no page of the log is large."""

_MIN_VALUE_CHARACTERS: Final = 16

_IGNORED_FIELDS: Final = frozenset(
    {"id", "account_id", "version", "created_at", "last_click_at", "password_hash"}
)


class AuditObject(msgspec.Struct, frozen=True, kw_only=True):
    """A changed object, with its name at that time. `kind` is such as `short_link`."""

    kind: str
    id: UUID | None
    name: str


class FieldChange(msgspec.Struct, frozen=True, kw_only=True):
    """A field's JSON values before and after a change."""

    before: Any
    after: Any


class AuditAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action to record, and the object that it changed."""

    action: str
    target: AuditObject
    changes: Mapping[str, FieldChange] = {}


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded change. `address` is the truncated address of the client; empty for scripts."""

    id: UUID
    account_id: UUID
    at: datetime
    actor: Actor
    action: str
    target: AuditObject
    changes: dict[str, FieldChange]
    address: str


class AuditFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The entries to list, by default all. `search` is in the name of the object or the actor.

    `since` is included, `until` is not.
    """

    action: str | None = None
    target_id: UUID | None = None
    actor_id: UUID | None = None
    search: str = ""
    since: datetime | None = None
    until: datetime | None = None

    def matching(self, account_id: UUID) -> dict[str, Any]:
        """Return the condition of MongoDB for the entries of an account."""
        fields = {
            "action": self.action,
            "target.id": self.target_id,
            "actor.id": self.actor_id,
        }
        matching: dict[str, Any] = {"account_id": account_id}
        matching |= {name: value for name, value in fields.items() if value is not None}
        times = {"$gte": self.since, "$lt": self.until}
        if at := {name: value for name, value in times.items() if value is not None}:
            matching["at"] = at
        if self.search:
            text = {"$regex": re.escape(self.search), "$options": "i"}
            matching["$or"] = [{"target.name": text}, {"actor.name": text}]
        return matching


EVERY_ENTRY: Final = AuditFilter()


class Audit:
    """The audit entries of all accounts in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._entries = mongodb["audit"]
        self._reads = mongodb.reads
        self._pages = Pages(self._reads, "audit", AuditEntry)

    async def record(
        self,
        author: Author,
        action: str,
        target: AuditObject,
        changes: Mapping[str, FieldChange] | None = None,
        session: MongoSession | None = None,
    ) -> None:
        done = AuditAction(action=action, target=target, changes=changes or {})
        await self.record_all(author, [done], session)

    async def record_all(
        self, author: Author, actions: Sequence[AuditAction], session: MongoSession | None = None
    ) -> None:
        entries = [
            AuditEntry(
                id=new_id(),
                account_id=author.account_id,
                at=now(),
                actor=author.actor,
                action=one.action,
                target=one.target,
                changes=_cut(one.changes),
                address=author.address,
            )
            for one in actions
        ]
        if entries:
            await self._entries.insert_many(map(as_document, entries), session=session)

    async def page(
        self, account_id: UUID, page: int, page_size: int, wanted: AuditFilter = EVERY_ENTRY
    ) -> tuple[list[AuditEntry], int]:
        hint = "by_target" if wanted.target_id is not None else None
        entries, total = await self._pages.find(
            wanted.matching(account_id), page, page_size, hint=hint
        )
        return list(map(_without_long_values, entries)), total

    async def all(
        self, account_id: UUID, wanted: AuditFilter
    ) -> AsyncGenerator[list[AuditEntry], None]:
        """Yield all entries that pass, newest first, in pieces."""
        hint = "by_account" if wanted.target_id is None else "by_target"
        matching = wanted.matching(account_id)
        async for rows in all_of(self._reads, "audit", matching, NEWEST_FIRST, hint):
            yield [_without_long_values(as_struct(AuditEntry, row)) for row in rows]


def _without_long_values(entry: AuditEntry) -> AuditEntry:
    """Return an entry as it is stored now: those of earlier releases were stored whole."""
    return replace(entry, changes=_cut(entry.changes))


def differences(
    before: msgspec.Struct, after: msgspec.Struct, without: Collection[str] = ()
) -> dict[str, FieldChange]:
    """Return the fields in which two structs of one type differ, except `without`."""
    pairs = {
        name: (audit_value(getattr(before, name)), audit_value(getattr(after, name)))
        for name in before.__struct_fields__
        if name not in _IGNORED_FIELDS and name not in without
    }
    return {name: FieldChange(before=b, after=a) for name, (b, a) in pairs.items() if b != a}


def _cut(changes: Mapping[str, FieldChange]) -> dict[str, FieldChange]:
    """Return the changes, their values cut to the length at which they fit, if they do not."""
    cut, length = dict(changes), 2 * MAX_VALUE_CHARACTERS
    while len(msgspec.json.encode(cut)) > MAX_CHANGES_BYTES and length > _MIN_VALUE_CHARACTERS:
        length //= 2
        cut = {
            name: FieldChange(
                before=_cut_value(one.before, length), after=_cut_value(one.after, length)
            )
            for name, one in changes.items()
        }
    return cut


def _cut_value(value: Any, length: int) -> Any:
    """Return a JSON value, or the beginning of its text and how much more there is."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    more = len(text) - length
    return value if more <= 0 else f"{text[:length]}… ({more:,} more characters)"


def audit_value(value: object) -> object:
    """Convert a value to a JSON type, objects and lists to their text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, UUID | Decimal):
        return str(value)
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
