"""`/api/views`: named reports of an account."""

from functools import partial
from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.sharing.services import SharingCall
from tracker.sharing.views import View
from tracker.stores.mongodb.account_lock import run_in_turn
from tracker.stores.mongodb.transaction import MongoSession
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.limits import MAX_VIEW_NAME_CHARACTERS, MAX_VIEW_QUERY_CHARACTERS
from tracker.web.resource import Resource, one_by_one, record_of
from tracker.web.schema import AccountId, AccountPage, Done, Page, Timestamp, trimmed

endpoint = Endpoints("sharing")


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
    name: Annotated[
        str,
        Meta(
            description="trimmed",
            extra_json_schema={"minLength": 1, "maxLength": MAX_VIEW_NAME_CHARACTERS},
        ),
    ]
    query: Annotated[
        str,
        Meta(
            max_length=MAX_VIEW_QUERY_CHARACTERS,
            description="the query of the overview's address in the console, without its `?`",
        ),
    ]

    def __post_init__(self) -> None:
        self.name = trimmed("name", self.name, MAX_VIEW_NAME_CHARACTERS)


VIEWS: Resource[View, ViewRecord] = Resource(
    "view",
    lambda call: call.services.views.find(call.ids[0]),
    one_by_one(partial(record_of, ViewRecord)),
)


@endpoint("GET", "/api/views", "views:read")
async def list_views(call: SharingCall[AccountPage, Nothing]) -> Page[ViewRecord]:
    """List views of reports, newest first."""
    return await VIEWS.list_page(call, call.services.views)


@endpoint(
    "POST",
    "/api/views",
    "views:write",
    example={"name": "Phones in Germany", "query": "country=DE&device=mobile"},
)
async def create(call: SharingCall[Nothing, CreateView]) -> ViewRecord:
    """Save a view of reports by name."""
    body, views = call.body, call.services.views

    async def work(session: MongoSession) -> View:
        view = await views.create(call.account_id, body.name, body.query, session)
        await call.audit("view.created", VIEWS.audit_object(view), session=session)
        return view

    return await VIEWS.show(
        call, await run_in_turn(call.web.mongodb.database, call.account_id, work)
    )


@endpoint("DELETE", "/api/views/{id}", "views:write")
async def delete(call: SharingCall[Nothing, Nothing]) -> Done:
    """Delete a view of reports."""
    view = await VIEWS.find(call)
    await call.services.views.delete(view.id)
    await call.audit("view.deleted", VIEWS.audit_object(view))
    return Done()
