"""`/api/views`: reports that an account keeps by name."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.access.audit import Target
from tracker.api.endpoint import Call, Endpoint, Nothing
from tracker.api.limits import MAX_VIEW_NAME_CHARACTERS, MAX_VIEW_QUERY_CHARACTERS
from tracker.api.resource import Resource, record_of
from tracker.api.schema import AccountId, AccountPage, Done, Page, Timestamp, trimmed
from tracker.api.services import Services
from tracker.db.account_lock import run_in_turn
from tracker.db.transaction import Session
from tracker.sharing.views import View

ViewName = Annotated[
    str,
    Meta(
        description="trimmed",
        extra_json_schema={"minLength": 1, "maxLength": MAX_VIEW_NAME_CHARACTERS},
    ),
]


class ViewRecord(msgspec.Struct, kw_only=True):
    """A view."""

    id: UUID
    account_id: UUID
    name: str
    query: str
    created_at: Timestamp


class CreateView(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The view to create."""

    account_id: AccountId = field(name="accountId")
    name: ViewName
    query: Annotated[
        str,
        Meta(
            max_length=MAX_VIEW_QUERY_CHARACTERS,
            description="the query of the overview's address in the console, without its `?`",
        ),
    ]

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name, MAX_VIEW_NAME_CHARACTERS)


async def _find(call: Call[Any, Any]) -> View | None:
    return await call.services.views.find(call.ids[0])


async def _show(_: Services, views: Sequence[View]) -> list[ViewRecord]:
    return [record_of(ViewRecord, view) for view in views]


VIEWS: Resource[View, ViewRecord] = Resource("view", _find, _show)


async def create(call: Call[Nothing, CreateView]) -> ViewRecord:
    """Keep a view. Raises BadRequest if the account has too many."""
    body, views = call.body, call.services.views

    async def work(session: Session) -> View:
        view = await views.create(call.account_id, body.name, body.query, session)
        await call.audit("view.created", _target(view), session=session)
        return view

    return await VIEWS.show(call, await run_in_turn(call.services.database, call.account_id, work))


async def delete(call: Call[Nothing, Nothing]) -> Done:
    """Delete a view. Raises NotFound or Forbidden if the account has no such view."""
    view = await VIEWS.own(call)
    await call.services.views.delete(view.id)
    await call.audit("view.deleted", _target(view))
    return Done()


def _target(view: View) -> Target:
    return Target(kind="view", id=view.id, name=view.name)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/views",
        "views:read",
        VIEWS.lister(lambda services: services.views),
        "List views of reports, newest first",
        Page[ViewRecord],
        query=AccountPage,
    ),
    Endpoint(
        "POST",
        "/api/views",
        "views:write",
        create,
        "Keep a view of reports by name",
        ViewRecord,
        body=CreateView,
        example={"name": "Phones in Germany", "query": "country=DE&device=mobile"},
    ),
    Endpoint("DELETE", "/api/views/{id}", "views:write", delete, "Delete a view of reports", Done),
)
