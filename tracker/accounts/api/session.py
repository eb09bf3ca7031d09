"""`/api/sign-in` and `/api/session`: people sign in, switch accounts, and sign out."""

from typing import Annotated, Any, Final
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.access.roles import Role, scopes_of
from tracker.access.session_cookie import SessionCookie
from tracker.access.sessions import Session, SessionClient
from tracker.accounts.members import Member, MembershipRecord
from tracker.accounts.parameters import names_of
from tracker.accounts.self_service import Requester
from tracker.accounts.services import AccountCall, AccountServices
from tracker.accounts.totp import MAX_CODE_CHARACTERS
from tracker.clock import iso, now
from tracker.errors import NotFound
from tracker.links.api.short_link_record import TagReference
from tracker.syntax.email import normal_email
from tracker.web.call import AnswerWithHeaders, Nothing, PublicCall
from tracker.web.endpoint import Endpoints, Personal, Public
from tracker.web.limits import MAX_TEXT_CHARACTERS
from tracker.web.resource import record_of
from tracker.web.schema import Day, Done, Page, Paged, Timestamp

endpoint = Endpoints("accounts", tag="Session")


MAX_ACCOUNTS: Final = 100
"""Accounts in the record of a session; a person may be in many thousand."""


class PersonRecord(msgspec.Struct, kw_only=True):
    """The person of a session."""

    id: UUID
    email: str
    name: str
    totp: Annotated[bool, Meta(description="signing in needs a code besides the password")]


class AccountReference(msgspec.Struct, kw_only=True):
    """An account by its name."""

    id: UUID
    name: str


class SessionAccount(msgspec.Struct, kw_only=True):
    """The account that a session is for."""

    id: UUID
    name: str
    time_zone: Annotated[str, Meta(description="IANA name; the zone of days and hours in reports")]
    today: Annotated[Day, Meta(description="the day that it is in this zone")]
    currency: Annotated[str | None, Meta(description="ISO 4217; null: units of the senders")]
    parameters: Annotated[list[str], Meta(description="the sender's own, by their names")]
    failing_webhooks: Annotated[
        int,
        Meta(
            description="webhooks that fail or were disabled by the service; 0 for members "
            "limited to tags"
        ),
    ]
    decides: Annotated[
        bool, Meta(description="a link has, or had, rules or a split: reports count by them")
    ]
    has_parents: Annotated[
        bool, Meta(description="a click has led to another: reports count by parent links")
    ]


class SessionRecord(msgspec.Struct, kw_only=True):
    """A person signed in to an account."""

    person: PersonRecord
    account: SessionAccount
    role: Role
    scopes: Annotated[list[str] | None, Meta(description="of the role; null: all")]
    tags: Annotated[list[TagReference], Meta(description="sees only their links; empty: all")]
    accounts: Annotated[
        list[MembershipRecord],
        Meta(description=f"at most {MAX_ACCOUNTS}; `/api/session/accounts` has all"),
    ]
    accounts_total: Annotated[int, Meta(description="the number of the person's accounts")]
    expires_at: Timestamp


class SignIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The e-mail and password of a person, and a code if they have a second factor."""

    email: str
    password: str
    code: Annotated[str, Meta(max_length=MAX_CODE_CHARACTERS)] | None = None


class SwitchAccount(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The account to switch to."""

    account_id: UUID = msgspec.field(name="accountId")


class FindAccounts(Paged, kw_only=True):
    """The query of a person's accounts."""

    search: Annotated[
        str,
        Meta(max_length=MAX_TEXT_CHARACTERS, description="a part of the name, whatever its case"),
    ] = ""


async def session_record(services: AccountServices, session: Session) -> SessionRecord:
    """Return the record of a session. Raises NotFound if its membership has ended."""
    person = await services.people.find(session.person_id)
    current = await services.members.find_person(session.account_id, session.person_id)
    account = await services.accounts.find(session.account_id)
    if person is None or current is None or account is None:
        raise NotFound("session: you are no longer in its account; sign in again")
    calendar, at = await services.time_zones.find(account.id), now()
    scopes, tags = scopes_of(current.role, bool(current.tags)), await _limit(services, current)
    accounts, total = await _accounts(services, current)
    return SessionRecord(
        person=record_of(PersonRecord, person, totp=person.has_totp),
        account=SessionAccount(
            id=account.id,
            name=account.name,
            time_zone=calendar.zone_at(at),
            today=calendar.day_of(at).isoformat(),
            currency=(await services.conversions.account_rules.stored(account.id)).currency,
            parameters=names_of(account.parameters),
            failing_webhooks=0
            if current.tags
            else await services.accounts.failing_webhooks(account.id),
            decides=account.decides,
            has_parents=account.has_parents,
        ),
        role=current.role,
        scopes=None if scopes is None else list(scopes),
        tags=tags,
        accounts=accounts,
        accounts_total=total,
        expires_at=iso(session.expires_at),
    )


async def _limit(services: AccountServices, current: Member) -> list[TagReference]:
    found = await services.links.tags.find(current.tags)
    names = {one: found[one].name if one in found else "a deleted tag" for one in current.tags}
    return [TagReference(id=one, name=name) for one, name in names.items()]


async def _accounts(
    services: AccountServices, current: Member
) -> tuple[list[MembershipRecord], int]:
    """Return the oldest memberships of a person and the `current` one, and the number of all."""
    found = await services.members.of_person(current.person_id, limit=MAX_ACCOUNTS + 1)
    total = len(found)
    if total > MAX_ACCOUNTS:
        total = await services.members.count_of_person(current.person_id)
        others = [one for one in found if one != current]
        found = [current, *others[: MAX_ACCOUNTS - 1]]
    names = await services.accounts.names([one.account_id for one in found])
    accounts = [
        MembershipRecord(id=one.account_id, name=names[one.account_id], role=one.role)
        for one in found
        if one.account_id in names
    ]
    return sorted(accounts, key=lambda one: one.name.casefold()), total


@endpoint(
    "POST",
    "/api/sign-in",
    Public(
        {
            401: (
                "Wrong, or the code of a second factor is missing (`code_required`).",
                "e-mail or password: wrong",
            ),
            403: (
                "From another origin, or a member of no account.",
                "session: accepted only from pages of this service",
            ),
            429: (
                "Too many attempts.",
                "sign-in: too many attempts; check the password, or try again later",
            ),
        },
        limits_itself=True,
    ),
    operation_id="signIn",
    example={"email": "ada@example.com", "password": "correct horse battery"},
)
async def sign_in(
    call: PublicCall[AccountServices, Nothing, SignIn],
) -> AnswerWithHeaders[SessionRecord]:
    """Sign in to the console. The session is in a cookie."""
    services, body = call.services, call.body
    email = normal_email("email", body.email)
    client = client_of(call)
    person = await services.sign_in.identify(email, body.password, client, body.code)
    session, secret = await services.sign_in.start_session(person, client)
    return await signed_in_answer(services, session, secret)


@endpoint("GET", "/api/session", Personal(), operation_id="getSession")
async def show(call: AccountCall[Nothing, Nothing]) -> SessionRecord:
    """Show who is signed in, and to which account."""
    return await session_record(call.services, call.session)


@endpoint("GET", "/api/session/accounts", Personal(), operation_id="listSessionAccounts")
async def list_accounts(call: AccountCall[FindAccounts, Nothing]) -> Page[MembershipRecord]:
    """List the person's accounts by name."""
    query = call.query
    found, total = await call.services.members.by_account_name(
        call.session.person_id, query.search, query.page, query.page_size
    )
    return query.page_of(found, total)


@endpoint("PATCH", "/api/session", Personal(), example={}, operation_id="switchAccount")
async def switch(
    call: AccountCall[Nothing, SwitchAccount],
) -> AnswerWithHeaders[SessionRecord] | SessionRecord:
    """Switch to another account. The cookie changes, unless it is the session's account already."""
    services = call.services
    if call.body.account_id == call.session.account_id:
        return await session_record(services, call.session)
    session, secret = await services.self_service.switch(requester_of(call), call.body.account_id)
    return await signed_in_answer(services, session, secret)


@endpoint("DELETE", "/api/session", Personal(), operation_id="signOut")
async def sign_out(call: AccountCall[Nothing, Nothing]) -> AnswerWithHeaders[Done]:
    """Sign out."""
    await call.services.self_service.end(requester_of(call), call.session.id)
    return signed_out_answer(call.services)


def client_of(call: PublicCall[AccountServices, Any, Any]) -> SessionClient:
    return SessionClient(
        address=call.address, user_agent=call.client.user_agent, counted_as=call.counted_as
    )


async def signed_in_answer(
    services: AccountServices, session: Session, secret: str
) -> AnswerWithHeaders[SessionRecord]:
    return AnswerWithHeaders(
        await session_record(services, session), new_session_cookie(services, secret)
    )


def new_session_cookie(services: AccountServices, secret: str) -> dict[str, str]:
    return {"Set-Cookie": SessionCookie(services.public_url).set(secret)}


def signed_out_answer(services: AccountServices) -> AnswerWithHeaders[Done]:
    """Return the answer that removes the session, and cached data, from a browser."""
    cookie = SessionCookie(services.public_url)
    return AnswerWithHeaders(
        Done(), {"Set-Cookie": cookie.clear(), "Clear-Site-Data": '"cache", "storage"'}
    )


def requester_of(call: AccountCall[Any, Any]) -> Requester:
    return Requester(call.session, call.author, client_of(call))
