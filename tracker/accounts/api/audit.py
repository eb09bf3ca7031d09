"""`/api/audit`: the audit log of an account; and the history of one short link."""

from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.access.audit import RETENTION_DAYS, AuditFilter, AuditObject, FieldChange
from tracker.access.principal import Actor
from tracker.accounts.services import AccountCall
from tracker.links.api.short_links import find_own
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_TEXT_CHARACTERS
from tracker.web.resource import record_of
from tracker.web.schema import AccountPage, Page, Paged, Timestamp

endpoint = Endpoints("accounts")

_Record = TypeVar("_Record", bound="HistoryRecord")


class HistoryRecord(msgspec.Struct, kw_only=True):
    """A recorded change."""

    id: UUID
    at: Timestamp
    actor: Actor
    action: Annotated[str, Meta(examples=["short_link.changed"])]
    target: AuditObject
    changes: dict[str, FieldChange]


class AuditRecord(HistoryRecord, kw_only=True):
    """A recorded change, with the client's address."""

    address: Annotated[str, Meta(description="truncated: a network; empty for scripts")]


class ListAudit(AccountPage, kw_only=True):
    """The page of the log to list, and its filters."""

    action: Annotated[str, Meta(max_length=MAX_TEXT_CHARACTERS)] | None = None
    target: Annotated[UUID | None, Meta(description="id of the object")] = None
    actor: Annotated[UUID | None, Meta(description="id of the person or API key")] = None


@endpoint(
    "GET",
    "/api/audit",
    "audit:read",
    summary=f"List changes, newest first; kept for {RETENTION_DAYS} days",
)
async def list_entries(call: AccountCall[ListAudit, Nothing]) -> Page[AuditRecord]:
    """Return a page of the account's audit log."""
    query = call.query
    wanted = AuditFilter(action=query.action, target_id=query.target, actor_id=query.actor)
    return await _page(call, AuditRecord, wanted, query)


@endpoint("GET", "/api/short-links/{id}/history", "links:read")
async def show_history(call: AccountCall[Paged, Nothing]) -> Page[HistoryRecord]:
    """List the changes of a short link, newest first."""
    link = await find_own(call, call.services.links.links)
    return await _page(call, HistoryRecord, AuditFilter(target_id=link.id), call.query)


async def _page(
    call: AccountCall[Any, Any], kind: type[_Record], wanted: AuditFilter, paged: Paged
) -> Page[_Record]:
    audit = call.web.audit
    entries, total = await audit.page(call.account_id, wanted, paged.page, paged.page_size)
    return paged.page_of([record_of(kind, one) for one in entries], total)
