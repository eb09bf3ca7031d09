"""The check of a second factor at sign-in, for people who have switched it on.

Guarantee: a code works once. A conditional write records its use, so a simultaneous use is refused.
"""

import time
from functools import partial
from typing import Final

import structlog

from tracker.access.audit import FieldChange
from tracker.accounts import totp
from tracker.accounts.identity import Identity
from tracker.accounts.people import Person
from tracker.errors import ErrorCode, Unauthorized, Unavailable
from tracker.metrics import SIGN_INS_REFUSED
from tracker.stores.mongodb.reseal import SealedFields
from tracker.stores.mongodb.transaction import MongoSession, run_in_transaction
from tracker.stores.secret_box import SecretBox, UnreadableSecret

log = structlog.get_logger(__name__)

CODE_REQUIRED: Final = "code: required"
WRONG_CODE: Final = "code: wrong, or used already"


class SecondFactor:
    """Checks codes. `box` encrypts the secrets of second factors."""

    def __init__(self, identity: Identity, box: SecretBox) -> None:
        self._identity = identity
        self._box = box

    @property
    def sealed_fields(self) -> SealedFields:
        return SealedFields("people", ("totp", "new_totp"), self._box)

    async def check(self, person: Person, code: str | None, address: str) -> None:
        """Use up a code of the app, or a recovery code, if the second factor is on.

        Raises Unauthorized if it is missing, wrong or used.
        """
        if not person.has_totp:
            return
        if not code:
            raise Unauthorized(CODE_REQUIRED, code=ErrorCode.CODE_REQUIRED)
        if not await self.accepts(person, code, address):
            raise Unauthorized(WRONG_CODE, code=ErrorCode.CODE_REQUIRED)

    async def accepts(self, person: Person, code: str, address: str) -> bool:
        """Use up a code; return False, audited, if it is wrong or used."""
        if await self._use(person, totp.normal_code(code), address):
            return True
        SIGN_INS_REFUSED.inc()
        log.info("sign-in refused", why="code", person_id=str(person.id), network=address)

        await run_in_transaction(
            self._identity.database,
            partial(self._identity.record_for_person, person.actor, address, "totp.refused"),
        )
        return False

    def seal(self, person: Person, secret: str) -> str:
        return self._box.seal(person.id, secret)

    def open(self, person: Person, stored: str) -> str:
        """Return a stored secret of a person. Raises Unavailable if it cannot be decrypted."""
        try:
            return self._box.open(person.id, stored)
        except UnreadableSecret:
            log.error(
                "the secret of a second factor cannot be read: set SECRET_KEY to the keys it was "
                "encrypted with",
                person_id=str(person.id),
            )
            raise Unavailable(
                "code: cannot be checked until the operator sets SECRET_KEY; a recovery code works"
            ) from None

    async def _use(self, person: Person, code: str, address: str) -> bool:
        digest = totp.recovery_digest(person.id, code)
        if digest in person.recovery_codes:
            return await self._use_recovery_code(person, digest, address)
        secret = self.open(person, person.totp or "")
        step = totp.step_of(secret, code, time.time())
        return step is not None and await self._identity.people.use_totp_step(person, step)

    async def _use_recovery_code(self, person: Person, digest: bytes, address: str) -> bool:
        async def work(transaction: MongoSession) -> bool:
            left = await self._identity.people.use_recovery_code(person, digest, transaction)
            if left is None:
                return False
            changes = {"recovery_codes": FieldChange(before=left + 1, after=left)}
            await self._identity.record_for_person(
                person.actor, address, "recovery_code.used", transaction, changes
            )
            return True

        return await run_in_transaction(self._identity.database, work)
