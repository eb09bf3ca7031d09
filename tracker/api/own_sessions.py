"""`/api/sessions`, `/api/session/password` and `/api/session/person`: people see and end their
sessions, and change their password and name."""

from typing import Annotated
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.access.passwords import MAX_CHARACTERS, MIN_CHARACTERS
from tracker.api.endpoint import Answer, Call, Endpoint, Nothing
from tracker.api.resource import record_of
from tracker.api.schema import Done, Text, Timestamp, trimmed
from tracker.api.session import (
    SessionRecord,
    holder_of,
    session_record,
    signed_in_answer,
    signed_out_answer,
)

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
    """The password of the person until now, and the new one."""

    current_password: str
    new_password: _NewPassword


class ChangePerson(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The fields of the person to change."""

    name: Text | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.name is not UNSET:
            self.name = trimmed("name", self.name)


async def list_own(call: Call[Nothing, Nothing]) -> OwnSessions:
    """Return the sessions of the person."""
    current = call.session
    found = await call.services.sessions.of_person(current.person_id)
    rows = [record_of(OwnSession, one, current=one.id == current.id) for one in found]
    return OwnSessions(rows=rows)


async def end(call: Call[Nothing, Nothing]) -> Done | Answer:
    """End a session of the person; if it is that of the request, the person is signed out.

    Raises NotFound if the person has no such session.
    """
    [session_id] = call.ids
    await call.services.own_sessions.end(holder_of(call), session_id)
    return signed_out_answer(call.services) if session_id == call.session.id else Done()


async def end_others(call: Call[Nothing, Nothing]) -> Done:
    """End every session of the person but that of the request."""
    await call.services.own_sessions.end_others(holder_of(call))
    return Done()


async def change_password(call: Call[Nothing, ChangePassword]) -> Answer:
    """Set a new password; every session ends, and the browser gets a new one.

    Raises BadRequest if the new password breaks a rule or the current one is wrong, RateLimited
    after too many attempts.
    """
    services, body = call.services, call.body
    session, secret = await services.own_sessions.change_password(
        holder_of(call), body.current_password, body.new_password
    )
    return await signed_in_answer(services, session, secret)


async def change_person(call: Call[Nothing, ChangePerson]) -> SessionRecord:
    """Change the name of the person, and return the session."""
    if call.body.name is not UNSET:
        await call.services.own_sessions.rename(holder_of(call), call.body.name)
    return await session_record(call.services, call.session)


ENDPOINTS = (
    Endpoint(
        "PATCH",
        "/api/session/person",
        None,
        change_person,
        "Change the person's own name",
        SessionRecord,
        body=ChangePerson,
        example={"name": "Ada Lovelace"},
        operation_id="changePerson",
    ),
    Endpoint(
        "POST",
        "/api/session/password",
        None,
        change_password,
        "Change the password; every other session ends, and the cookie changes",
        SessionRecord,
        body=ChangePassword,
        example={
            "current_password": "correct horse battery",
            "new_password": "correct horse battery staple",
        },
        operation_id="changePassword",
    ),
    Endpoint(
        "GET",
        "/api/sessions",
        None,
        list_own,
        "List the person's sessions, the last used first",
        OwnSessions,
    ),
    Endpoint(
        "DELETE",
        "/api/sessions",
        None,
        end_others,
        "End every session of the person but this one",
        Done,
        operation_id="endOtherSessions",
    ),
    Endpoint(
        "DELETE",
        "/api/sessions/{id}",
        None,
        end,
        "End a session of the person",
        Done,
        operation_id="endSession",
    ),
)
