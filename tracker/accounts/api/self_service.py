"""`/api/sessions`, `/api/session/password`, `/api/session/person`: people manage their access."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.access.passwords import MAX_CHARACTERS, MIN_CHARACTERS
from tracker.accounts.api.session import (
    SessionRecord,
    requester_of,
    session_record,
    signed_in_answer,
    signed_out_answer,
)
from tracker.accounts.services import AccountCall
from tracker.web.call import AnswerWithHeaders, Nothing
from tracker.web.endpoint import Endpoints, Personal
from tracker.web.resource import record_of
from tracker.web.schema import Done, Text, Timestamp, trimmed

endpoint = Endpoints("accounts")

_NewPassword = Annotated[
    str,
    Meta(extra_json_schema={"minLength": MIN_CHARACTERS, "maxLength": MAX_CHARACTERS}),
]


class OwnSession(msgspec.Struct, kw_only=True):
    """A session of the person, in any of their accounts."""

    id: UUID
    created_at: Annotated[Timestamp, Meta(description="when the password was given")]
    last_seen_at: Annotated[Timestamp, Meta(description="to the minute")]
    address: Annotated[str, Meta(description="truncated; empty: unknown")]
    user_agent: str
    current: Annotated[bool, Meta(description="the session of this request")]


class OwnSessions(msgspec.Struct, kw_only=True):
    """All sessions of the person, the last used first."""

    rows: list[OwnSession]


class ChangePassword(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The person's current password, and the new one."""

    current_password: str
    new_password: _NewPassword


class ChangePerson(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of the person to change."""

    name: Text | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            self.name = trimmed("name", self.name)


@endpoint(
    "PATCH",
    "/api/session/person",
    Personal(),
    example={"name": "Ada Lovelace"},
    operation_id="changePerson",
)
async def change_person(call: AccountCall[Nothing, ChangePerson]) -> SessionRecord:
    """Change the person's own name."""
    if call.body.name is not UNSET:
        await call.services.self_service.rename(requester_of(call), call.body.name)
    return await session_record(call.services, call.session)


@endpoint(
    "POST",
    "/api/session/password",
    Personal(),
    example={
        "current_password": "correct horse battery",
        "new_password": "correct horse battery staple",
    },
    operation_id="changePassword",
)
async def change_password(
    call: AccountCall[Nothing, ChangePassword],
) -> AnswerWithHeaders[SessionRecord]:
    """Change the password. Every other session ends, and the cookie changes."""
    services, body = call.services, call.body
    session, secret = await services.self_service.change_password(
        requester_of(call), body.current_password, body.new_password
    )
    return await signed_in_answer(services, session, secret)


@endpoint("GET", "/api/sessions", Personal())
async def list_own(call: AccountCall[Nothing, Nothing]) -> OwnSessions:
    """List the person's sessions, the last used first."""
    current = call.session
    found = await call.web.sessions.of_person(current.person_id)
    rows = [record_of(OwnSession, one, current=one.id == current.id) for one in found]
    return OwnSessions(rows=rows)


@endpoint("DELETE", "/api/sessions", Personal(), operation_id="endOtherSessions")
async def end_others(call: AccountCall[Nothing, Nothing]) -> Done:
    """End every session of the person but this one."""
    await call.services.self_service.end_others(requester_of(call))
    return Done()


@endpoint("DELETE", "/api/sessions/{id}", Personal(), operation_id="endSession")
async def end(call: AccountCall[Nothing, Nothing]) -> Done | AnswerWithHeaders[Done]:
    """End a session of the person."""
    [session_id] = call.ids
    await call.services.self_service.end(requester_of(call), session_id)
    return signed_out_answer(call.services) if session_id == call.session.id else Done()
