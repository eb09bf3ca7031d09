"""`/api/sign-in` and `/api/session`: people sign in, switch accounts, and sign out."""

from typing import Annotated, Any
from uuid import UUID

import msgspec
from msgspec import Meta

from tracker.access.members import Member
from tracker.access.own_sessions import Holder
from tracker.access.people import Person
from tracker.access.roles import SCOPES_OF, Role
from tracker.access.sessions import Client, Session
from tracker.access.totp import MAX_CODE_CHARACTERS
from tracker.api.endpoint import Answer, Call, Endpoint, Nothing, PublicEndpoint
from tracker.api.handler import JSON, Content, Handler
from tracker.api.limits import MAX_SIGN_IN_BYTES
from tracker.api.openapi.parts import json_content, public_answer, public_error, ref
from tracker.api.parameters import parse_body
from tracker.api.schema import Done, Timestamp
from tracker.api.services import Services
from tracker.api.session_cookie import SessionCookie
from tracker.clock import iso
from tracker.errors import NotFound
from tracker.limits.network import truncated
from tracker.syntax.email import normal_email


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


class MembershipRecord(msgspec.Struct, kw_only=True):
    """An account that the person may switch to."""

    id: UUID
    name: str
    role: Role


class SessionRecord(msgspec.Struct, kw_only=True):
    """A person signed in to an account."""

    person: PersonRecord
    account: SessionAccount
    role: Role
    scopes: Annotated[list[str] | None, Meta(description="of the role; null: all")]
    accounts: list[MembershipRecord]
    expires_at: Timestamp


class SignIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The e-mail and password of a person, and a code if they have a second factor."""

    email: str
    password: str
    code: Annotated[str, Meta(max_length=MAX_CODE_CHARACTERS)] | None = None


class SwitchAccount(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The account to switch to."""

    account_id: UUID = msgspec.field(name="accountId")


class SignedOutHandler(Handler):
    """The base of handlers for people who have no session yet: they sign in, or join."""

    body_bytes = MAX_SIGN_IN_BYTES

    def set_default_headers(self) -> None:
        """Set the headers of every answer: none may be stored."""
        super().set_default_headers()
        self.set_header("Cache-Control", "no-store")

    async def prepare(self) -> None:  # type: ignore[override]
        """Check size, method, origin and type of the request.

        Raises Forbidden if a page of another origin sent it, BadRequest if it is not JSON, else as
        Handler does.
        """
        super().prepare()
        cookie = SessionCookie(self.services.public_url)
        cookie.check_origin(self.request.headers)
        cookie.check_type("POST", self.request.headers)
        await self.services.pacing.wait_turn()

    @property
    def client(self) -> Client:
        """Return the client of the session that begins."""
        address = self.client_address()
        return Client(
            address=truncated(address),
            user_agent=self.header("User-Agent"),
            counted_as=self.services.rate_limiter.counted_as(address),
        )

    async def answer_session(self, session: Session, secret: str) -> None:
        """Finish with a new session and its cookie."""
        self.set_header("Set-Cookie", SessionCookie(self.services.public_url).set(secret))
        record = await session_record(self.services, session)
        self.finish_with(Content(JSON, msgspec.json.encode(record)))


class SignInHandler(SignedOutHandler):
    """The handler of `/api/sign-in`."""

    async def post(self) -> None:
        """Answer with a new session and its cookie.

        Raises BadRequest if a field is missing, Unauthorized if e-mail, password or code is wrong,
        Forbidden if the person is a member of no account, RateLimited after too many attempts.
        """
        body = parse_body(SignIn, self.body()).value
        email = normal_email("email", body.email)
        session, secret = await self.services.sign_in.sign_in(
            email, body.password, self.client, body.code
        )
        await self.answer_session(session, secret)


async def session_record(services: Services, session: Session) -> SessionRecord:
    """Return the record of a session, as answers contain it.

    Raises NotFound if its person, account or membership is gone.
    """
    person = await services.people.find(session.person_id)
    members = await services.members.of_person(session.person_id)
    names = await services.accounts.names([one.account_id for one in members])
    current = next((one for one in members if one.account_id == session.account_id), None)
    if person is None or current is None or current.account_id not in names:
        raise NotFound("session: its account is gone; sign in again")
    zone = (await services.time_zones.find(current.account_id)).zone
    return _record(session, person, current, members, names, zone)


def _record(
    session: Session,
    person: Person,
    current: Member,
    members: list[Member],
    names: dict[UUID, str],
    time_zone: str,
) -> SessionRecord:
    scopes = SCOPES_OF[current.role]
    accounts = [
        MembershipRecord(id=one.account_id, name=names[one.account_id], role=one.role)
        for one in members
        if one.account_id in names
    ]
    return SessionRecord(
        person=PersonRecord(
            id=person.id, email=person.email, name=person.name, totp=person.has_totp
        ),
        account=SessionAccount(
            id=current.account_id, name=names[current.account_id], time_zone=time_zone
        ),
        role=current.role,
        scopes=None if scopes is None else list(scopes),
        accounts=sorted(accounts, key=lambda one: one.name.casefold()),
        expires_at=iso(session.expires_at),
    )


async def show(call: Call[Nothing, Nothing]) -> SessionRecord:
    """Return the session of the request."""
    return await session_record(call.services, call.session)


async def switch(call: Call[Nothing, SwitchAccount]) -> Answer | SessionRecord:
    """Switch to another account of the person: a new session takes the place of the old one.

    With the account of the session nothing changes. Raises Forbidden if the person is not a member
    of the account.
    """
    services = call.services
    if call.body.account_id == call.session.account_id:
        return await session_record(services, call.session)
    session, secret = await services.own_sessions.switch(holder_of(call), call.body.account_id)
    return await signed_in_answer(services, session, secret)


async def sign_out(call: Call[Nothing, Nothing]) -> Answer:
    """End the session of the request, and take its cookie and cached answers from the browser."""
    await call.services.own_sessions.end(holder_of(call), call.session.id)
    return signed_out_answer(call.services)


async def signed_in_answer(services: Services, session: Session, secret: str) -> Answer:
    """Return the answer that gives a browser a new session."""
    return Answer(await session_record(services, session), new_session_cookie(services, secret))


def new_session_cookie(services: Services, secret: str) -> dict[str, str]:
    """Return the header that gives a browser a new session."""
    return {"Set-Cookie": SessionCookie(services.public_url).set(secret)}


def signed_out_answer(services: Services) -> Answer:
    """Return the answer that takes the session and what it has shown from a browser."""
    cookie = SessionCookie(services.public_url)
    return Answer(Done(), {"Set-Cookie": cookie.cleared(), "Clear-Site-Data": '"cache", "storage"'})


def holder_of(call: Call[Any, Any]) -> Holder:
    """Return the person of a request with a session."""
    return Holder(call.session, call.principal.actor, call.address, call.counted_as)


_EXAMPLE: dict[str, Any] = {"email": "ada@example.com", "password": "correct horse battery"}

SIGN_IN_ENDPOINTS = (
    PublicEndpoint(
        "POST",
        "/api/sign-in",
        SignInHandler,
        "signIn",
        "Session",
        "Sign in to the console; the session is in a cookie",
        {
            200: public_answer("Signed in.", json_content(ref("SessionRecord"))),
            400: public_error(
                400, "Not JSON, or no e-mail.", "Content-Type: must be application/json"
            ),
            401: public_error(
                401,
                "Wrong, or the code of a second factor is missing (`code_required`).",
                "e-mail or password: wrong",
            ),
            403: public_error(
                403,
                "From another origin, or a member of no account.",
                "session: accepted only from pages of this service",
            ),
            429: public_error(
                429,
                "Too many attempts.",
                "sign-in: too many attempts; check the password, or try again later",
            ),
        },
        body={"required": True, "content": json_content({"type": "object"}, _EXAMPLE)},
    ),
)

ENDPOINTS = (
    Endpoint(
        "GET",
        "/api/session",
        None,
        show,
        "Show who is signed in, and to which account",
        SessionRecord,
        operation_id="getSession",
    ),
    Endpoint(
        "PATCH",
        "/api/session",
        None,
        switch,
        "Switch to another account; the cookie changes",
        SessionRecord,
        body=SwitchAccount,
        example={},
        operation_id="switchAccount",
    ),
    Endpoint(
        "DELETE",
        "/api/session",
        None,
        sign_out,
        "Sign out",
        Done,
        operation_id="signOut",
    ),
)
