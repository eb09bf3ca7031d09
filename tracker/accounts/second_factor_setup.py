"""People switch their own second factor on and off. Both end every session of the person.

Setup needs the password, then a code of the app, so a lost secret locks nobody out. Switching off
needs both the password and a code.
"""

import time

from tracker.access.audit import FieldChange
from tracker.access.sessions import SESSION_ENDED, Session
from tracker.accounts import totp
from tracker.accounts.identity import Identity
from tracker.accounts.people import Person
from tracker.accounts.second_factor import SecondFactor
from tracker.accounts.self_service import Requester, SelfService
from tracker.accounts.sign_in import SigningIn
from tracker.errors import BadRequest, Unauthorized
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction

_PASSWORD = "password"  # noqa: S105


class SecondFactorSetup:
    """Setup and removal of second factors. `issuer` is the name that apps show."""

    def __init__(
        self,
        identity: Identity,
        sign_in: SigningIn,
        self_service: SelfService,
        second_factor: SecondFactor,
        issuer: str,
    ) -> None:
        self._identity = identity
        self._sign_in = sign_in
        self._self_service = self_service
        self._second_factor = second_factor
        self._issuer = issuer

    async def begin(self, requester: Requester, password: str) -> tuple[str, str]:
        """Return a secret, which takes effect with its first code, and its otpauth:// URI."""
        person = await self._sign_in.confirm(
            requester.session, _PASSWORD, password, requester.client
        )
        _check_off(person)
        secret = totp.new_secret()
        # Only for this session, so the thief of another session cannot guess the code.
        waiting = {
            "new_totp": self._second_factor.seal(person, secret),
            "new_totp_session": requester.session.id,
        }
        await self._identity.people.change(person.id, waiting)
        return secret, totp.setup_uri(secret, person.email, self._issuer)

    async def switch_on(self, requester: Requester, code: str) -> tuple[list[str], str]:
        """Switch the second factor on; return recovery codes, and the new session's secret.

        Raises BadRequest if it is not set up or `code` is wrong, Unauthorized without a session.
        """
        person = await self._identity.people.find(requester.session.person_id)
        if person is None:
            raise Unauthorized(SESSION_ENDED)
        _check_off(person)
        if person.new_totp is None or person.new_totp_session != requester.session.id:
            raise BadRequest("totp: begin with the password")
        secret = self._second_factor.open(person, person.new_totp)
        step = totp.step_of(secret, totp.normal_code(code), time.time())
        if step is None:
            raise BadRequest("code: wrong")
        codes = totp.new_recovery_codes()
        digests = [totp.recovery_digest(person.id, one) for one in codes]

        async def work(transaction: MongoSession) -> tuple[list[str], str]:
            if not await self._identity.people.switch_totp_on(person, step, digests, transaction):
                raise BadRequest("totp: was set up again in the meantime")
            new_list = {"recovery_codes": FieldChange(before=0, after=len(codes))}
            _, session_secret = await self._self_service.renew(
                requester, "totp.enabled", transaction, new_list, requester.session.created_at
            )
            return codes, session_secret

        return await run_in_transaction(self._identity.database, work)

    async def switch_off(
        self, requester: Requester, password: str, code: str
    ) -> tuple[Session, str]:
        """Switch the second factor off; return a new session, and its secret.

        Raises BadRequest if it is off.
        """
        person = await self._sign_in.confirm(
            requester.session, _PASSWORD, password, requester.client, code
        )
        if not person.has_totp:
            raise BadRequest("totp: is off already")

        async def work(transaction: MongoSession) -> tuple[Session, str]:
            await self._identity.people.switch_totp_off(person, transaction)
            return await self._self_service.renew(requester, "totp.disabled", transaction)

        return await run_in_transaction(self._identity.database, work)


def _check_off(person: Person) -> None:
    if person.has_totp:
        raise BadRequest("totp: is on already; switch it off first")
