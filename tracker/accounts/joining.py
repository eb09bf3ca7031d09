"""Joining an account by an invitation, and setting a new password by a reset.

One transaction uses the token, checks its maker's authority, and has its effect, once.
"""

from typing import NamedTuple

from msgspec.structs import replace

from tracker.access.audit import FieldChange
from tracker.access.invitations import Invitation, InvitationKind, token_expired
from tracker.access.passwords import check_new_password
from tracker.access.principal import Author
from tracker.access.roles import Role
from tracker.access.sessions import Session, SessionClient
from tracker.accounts.accounts import Account, Accounts
from tracker.accounts.identity import Identity
from tracker.accounts.members import Member
from tracker.accounts.membership import member_object
from tracker.accounts.people import Person
from tracker.accounts.sign_in import WRONG_CREDENTIALS, SigningIn
from tracker.accounts.sign_in_limit import SignInLimit
from tracker.errors import BadRequest, Required, Unauthorized
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.syntax.email import normal_email


class TokenPreview(NamedTuple):
    """The purpose of a token. `needs_code` never tells of an invited person's second factor.

    `is_first`: nobody owns the account yet.
    """

    kind: InvitationKind
    email: str | None
    account: Account | None
    role: Role | None
    has_password: bool
    needs_code: bool
    is_first: bool


class JoinForm(NamedTuple):
    """The input of a token's holder. `email` is needed only if the invitation has none."""

    password: str
    email: str | None = None
    name: str | None = None
    code: str | None = None


class Joining:
    """The use of invitations and password resets."""

    def __init__(
        self, identity: Identity, accounts: Accounts, sign_in: SigningIn, limit: SignInLimit
    ) -> None:
        self._identity = identity
        self._accounts = accounts
        self._sign_in = sign_in
        self._limit = limit

    async def preview(self, token: str) -> TokenPreview:
        """Return the purpose of a token, without using it."""
        invitation = await self._find_open(token)
        email, account = invitation.email, None
        is_reset = invitation.kind == InvitationKind.PASSWORD_RESET
        person = None if email is None else await self._identity.people.find_by_email(email)
        if not is_reset and invitation.account_id is not None:
            account = await self._accounts.find(invitation.account_id)
        elif person is not None:
            _check_still_valid(invitation, await self._identity.members.of_person(person.id))
        return TokenPreview(
            kind=invitation.kind,
            email=email,
            account=account,
            role=invitation.role if account else None,
            has_password=person is not None,
            needs_code=bool(
                person and person.has_totp and is_reset and not invitation.without_totp
            ),
            is_first=account is not None
            and invitation.role == Role.OWNER
            and not await self._identity.members.has_owner(account.id),
        )

    async def join(self, token: str, form: JoinForm, client: SessionClient) -> tuple[Session, str]:
        """Use a token; return a new session of its person, and the session's secret."""
        invitation = await self._find_open(token)
        if invitation.kind == InvitationKind.PASSWORD_RESET:
            person = await self._reset(token, invitation, form, client)
        else:
            email = _email(invitation, form)
            if await self._identity.people.find_by_email(email):
                person = await self._join_existing(token, email, form, client)
            else:
                person = await self._join_new(token, invitation, email, form, client)
        return await self._sign_in.start_session(person, client)

    async def _find_open(self, token: str) -> Invitation:
        invitation = await self._identity.invitations.find_open(token)
        if not await self._identity.authority.may_still_create(invitation):
            raise token_expired()
        return invitation

    async def _use(self, token: str, transaction: MongoSession) -> Invitation:
        invitation = await self._identity.invitations.use(token, transaction)
        if not await self._identity.authority.may_still_create(invitation, transaction):
            raise token_expired()
        return invitation

    async def _join_existing(
        self, token: str, email: str, form: JoinForm, client: SessionClient
    ) -> Person:
        person = await self._sign_in.identify(email, form.password, client, form.code)

        async def work(transaction: MongoSession) -> Person:
            # A simultaneous reset of the password must not open this account too.
            known = await self._identity.people.find(person.id, transaction)
            if known is None or (known.password, known.totp) != (person.password, person.totp):
                raise Unauthorized(WRONG_CREDENTIALS)
            return await self._add(token, person, client, transaction)

        return await run_in_transaction(self._identity.database, work)

    async def _join_new(
        self, token: str, invitation: Invitation, email: str, form: JoinForm, client: SessionClient
    ) -> Person:
        if not form.name:
            raise Required("name: required")
        name = form.name
        await self._check_new_password(form, invitation)
        hashed = await self._identity.passwords.hash(form.password)

        async def work(transaction: MongoSession) -> Person:
            person = await self._identity.people.create(email, name, hashed, transaction)
            return await self._add(token, person, client, transaction)

        return await run_in_transaction(self._identity.database, work)

    async def _add(
        self, token: str, person: Person, client: SessionClient, transaction: MongoSession
    ) -> Person:
        """Use the invitation of `token`: make the person a member of its account."""
        invitation = await self._use(token, transaction)
        account_id, role = invitation.account_id, invitation.role
        if account_id is None or role is None:
            raise token_expired()
        member = await self._identity.members.add(
            account_id, person.id, role, transaction, invitation.tags
        )
        # The person's next session opens this account.
        await self._identity.people.change(person.id, {"account_id": account_id}, transaction)
        granted = {"role": FieldChange(before=None, after=role)}
        await self._record("member.joined", member, person, client, transaction, granted)
        return replace(person, account_id=account_id)

    async def _reset(
        self, token: str, invitation: Invitation, form: JoinForm, client: SessionClient
    ) -> Person:
        """Set the person's new password, and end their sessions."""
        person = invitation.person_id and await self._identity.people.find(invitation.person_id)
        if not person:
            raise token_expired()
        await self._check_new_password(form, invitation)
        if not invitation.without_totp:
            await self._sign_in.check_code(person, form.code, client)
        hashed = await self._identity.passwords.hash(form.password)
        changes = {"totp": FieldChange(before=True, after=False)}
        switched_off = changes if person.has_totp and invitation.without_totp else None

        async def work(transaction: MongoSession) -> Person:
            used = await self._use(token, transaction)
            members = await self._identity.members.of_person(person.id, transaction)
            _check_still_valid(used, members)
            changed = await self._identity.people.reset_password(
                person, hashed, used.without_totp, transaction
            )
            await self._identity.sessions.end_all(person.id, transaction=transaction)
            for member in members:
                await self._record(
                    "password_reset.used", member, person, client, transaction, switched_off
                )
            return changed

        return await run_in_transaction(self._identity.database, work)

    async def _check_new_password(self, form: JoinForm, invitation: Invitation) -> None:
        check_new_password(form.password)
        if refusal := await self._limit.count_token(invitation.id):
            raise refusal.error()

    async def _record(
        self,
        action: str,
        member: Member,
        person: Person,
        client: SessionClient,
        transaction: MongoSession,
        changes: dict[str, FieldChange] | None = None,
    ) -> None:
        author = Author(member.account_id, person.actor, client.address)
        target = member_object(member, person)
        await self._identity.audit.record(author, action, target, changes, transaction)


def _email(invitation: Invitation, form: JoinForm) -> str:
    """Return the e-mail of the joining person."""
    if form.email is None:
        if invitation.email is None:
            raise Required("email: required")
        return invitation.email
    email = normal_email("email", form.email)
    if invitation.email not in (None, email):
        raise BadRequest("email: the invitation is for another address")
    return email


def _check_still_valid(reset: Invitation, members: list[Member]) -> None:
    """Members of another account cannot be reset: the maker of the link would enter it too."""
    now_in = [(one.account_id, one.role) for one in members]
    if reset.account_id is not None and now_in != [(reset.account_id, reset.role)]:
        raise token_expired()
