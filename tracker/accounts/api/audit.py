"""`/api/audit`: the audit log of an account; and the history of one short link."""

from collections.abc import AsyncGenerator
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, field

from tracker.access.audit import RETENTION_DAYS, AuditEntry, AuditFilter
from tracker.accounts.api.keys import ActorRecord
from tracker.accounts.services import AccountCall
from tracker.links.api.short_links import find_own
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.export import Export, FormatIn
from tracker.web.limits import MAX_TEXT_CHARACTERS
from tracker.web.resource import record_of
from tracker.web.schema import AccountPage, Day, Page, Paged, Timestamp, parse_day

endpoint = Endpoints("accounts")

_Record = TypeVar("_Record", bound="HistoryRecord")


class AuditTarget(msgspec.Struct, kw_only=True):
    """A changed object, with its name at that time."""

    kind: str
    id: UUID | None
    name: str


class ChangeRecord(msgspec.Struct, kw_only=True):
    """A field's values before and after a change."""

    before: Any
    after: Any


class HistoryRecord(msgspec.Struct, kw_only=True):
    """A recorded change."""

    id: UUID
    at: Timestamp
    actor: ActorRecord
    action: Annotated[str, Meta(examples=["short_link.changed"])]
    target: AuditTarget
    changes: dict[str, ChangeRecord]


class AuditRecord(HistoryRecord, kw_only=True):
    """A recorded change, with the client's address."""

    address: Annotated[str, Meta(description="truncated: a network; empty for scripts")]


class ListAudit(AccountPage, kw_only=True):
    """The page of the log to list, and its filters."""

    action: Annotated[str, Meta(max_length=MAX_TEXT_CHARACTERS)] | None = None
    target: Annotated[UUID | None, Meta(description="id of the object")] = None
    actor: Annotated[UUID | None, Meta(description="id of the person or API key")] = None
    search: Annotated[
        str,
        Meta(
            max_length=MAX_TEXT_CHARACTERS,
            description="changes with this text in the name of object or actor, in any case",
        ),
    ] = ""
    first: Annotated[Day | None, Meta(description="the first day, in the account's time zone")] = (
        field(default=None, name="from")
    )
    last: Annotated[Day | None, Meta(description="the last day, included")] = field(
        default=None, name="to"
    )
    format: FormatIn = UNSET

    def __post_init__(self) -> None:
        days = [
            parse_day(name, day) for name, day in (("from", self.first), ("to", self.last)) if day
        ]
        if days != sorted(days):
            raise ValueError("from: must not be after to")


async def _filter(call: AccountCall[ListAudit, Nothing]) -> AuditFilter:
    query = call.query
    since = until = None
    if query.first or query.last:
        calendar = await call.services.time_zones.find(call.account_id)
        since = query.first and calendar.start_of(parse_day("from", query.first))
        until = query.last and calendar.end_of(parse_day("to", query.last))
    return AuditFilter(
        action=query.action,
        target_id=query.target,
        actor_id=query.actor,
        search=query.search,
        since=since or None,
        until=until or None,
    )


async def _all_entries(
    call: AccountCall[ListAudit, Nothing],
) -> AsyncGenerator[list[AuditRecord], None]:
    async for entries in call.web.audit.all(call.account_id, await _filter(call)):
        yield [_record(AuditRecord, one) for one in entries]


@endpoint(
    "GET",
    "/api/audit",
    "audit:read",
    summary=f"List changes, newest first; kept for {RETENTION_DAYS} days",
    export=Export(
        "audit", "Export all changes, as CSV or NDJSON", AuditRecord, _all_entries, without=()
    ),
    operation_id="listAuditEntries",
)
async def list_entries(call: AccountCall[ListAudit, Nothing]) -> Page[AuditRecord]:
    """Return a page of the account's audit log."""
    return await _page(call, AuditRecord, await _filter(call))


@endpoint("GET", "/api/short-links/{id}/history", "links:read")
async def show_history(call: AccountCall[Paged, Nothing]) -> Page[HistoryRecord]:
    """List the changes of a short link, newest first."""
    link = await find_own(call, call.services.links.links)
    return await _page(call, HistoryRecord, AuditFilter(target_id=link.id))


async def _page(
    call: AccountCall[Any, Nothing], kind: type[_Record], wanted: AuditFilter
) -> Page[_Record]:
    query: Paged = call.query
    entries, total = await call.web.audit.page(call.account_id, query.page, query.page_size, wanted)
    return query.page_of([_record(kind, one) for one in entries], total)


def _record(kind: type[_Record], entry: AuditEntry) -> _Record:
    return record_of(
        kind,
        entry,
        actor=record_of(ActorRecord, entry.actor),
        target=record_of(AuditTarget, entry.target),
        changes={name: record_of(ChangeRecord, one) for name, one in entry.changes.items()},
    )
