"""People: who signs in to the console. What they may do in an account is `access/members`."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from tracker.clock import now
from tracker.db.connect import Database
from tracker.db.documents import document, record
from tracker.db.transaction import Session
from tracker.errors import BadRequest, ErrorCode
from tracker.ids import new_id

MAX_NETWORKS: Final = 10
"""Networks remembered of a person who signed in; the oldest is dropped first."""


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A person. `email` is in its normalised form, `password` is an Argon2 hash.

    - `account_id` is the account that the person looked at last.
    - `networks` are digests of the networks from which the person signed in last.
    - `totp` is the sealed secret of the second factor, None if it is off; `new_totp` is one that
      waits for its first code, in one session. `totp_step` is the time of the last code used.
    - `recovery_codes` are the hashes of those that are left.
    """

    id: UUID
    email: str
    name: str
    password: str
    totp: str | None = None
    new_totp: str | None = None
    new_totp_session: UUID | None = None
    totp_step: int = 0
    recovery_codes: list[bytes] = []
    account_id: UUID | None = None
    networks: list[bytes] = []
    created_at: datetime

    @property
    def has_totp(self) -> bool:
        """Return whether signing in needs a code besides the password."""
        return self.totp is not None

    @property
    def label(self) -> str:
        """Return the name of the person, or the e-mail if there is none."""
        return self.name or self.email


WITHOUT_TOTP: Final[Mapping[str, Any]] = {
    "totp": None,
    "new_totp": None,
    "new_totp_session": None,
    "totp_step": 0,
    "recovery_codes": [],
}
"""The fields of a person whose second factor is off."""


class People:
    """The stored people."""

    def __init__(self, database: Database) -> None:
        self._people = database["people"]

    async def create(
        self, email: str, name: str, password: str, session: Session | None = None
    ) -> Person:
        """Store a new person and return it. Raises BadRequest if the e-mail is another's."""
        person = Person(id=new_id(), email=email, name=name, password=password, created_at=now())
        try:
            await self._people.insert_one(document(person), session=session)
        except DuplicateKeyError:
            raise BadRequest(
                "email: belongs to another person", code=ErrorCode.ALREADY_TAKEN
            ) from None
        return person

    async def find(self, person_id: UUID, session: Session | None = None) -> Person | None:
        """Return the person, or None if there is none."""
        row = await self._people.find_one({"_id": person_id}, session=session)
        return None if row is None else record(Person, row)

    async def find_all(self, ids: Collection[UUID]) -> dict[UUID, Person]:
        """Return the people that exist among `ids`, by id."""
        rows = self._people.find({"_id": {"$in": list(ids)}})
        return {row["_id"]: record(Person, row) async for row in rows}

    async def find_by_email(self, email: str, session: Session | None = None) -> Person | None:
        """Return the person with a normalised e-mail, or None if there is none."""
        row = await self._people.find_one({"email": email}, session=session)
        return None if row is None else record(Person, row)

    async def change(
        self, person_id: UUID, fields: Mapping[str, Any], session: Session | None = None
    ) -> None:
        """Set checked `fields` of a person, if it exists."""
        await self._people.update_one({"_id": person_id}, {"$set": dict(fields)}, session=session)

    async def replace_password(
        self, person: Person, password: str, session: Session | None = None
    ) -> bool:
        """Set another hash; return False if the stored one is no longer that of `person`."""
        unchanged = {"_id": person.id, "password": person.password}
        change = {"$set": {"password": password}}
        updated = await self._people.update_one(unchanged, change, session=session)
        return updated.matched_count == 1

    async def record_sign_in(self, person: Person, network: bytes, session: Session) -> bool:
        """Remember that a person signed in now, from a network with this digest.

        Returns False if password or second factor are no longer those of `person`. It always
        writes, so that it conflicts with a change of either, which ends all sessions.
        """
        unchanged = {"_id": person.id, "password": person.password, "totp": person.totp}
        known = {"$ifNull": ["$networks", []]}
        others = {"$filter": {"input": known, "cond": {"$ne": ["$$this", network]}}}
        networks = {"$slice": [{"$concatArrays": [others, [network]]}, -MAX_NETWORKS]}
        change = [{"$set": {"networks": networks, "signed_in_at": now()}}]
        updated = await self._people.update_one(unchanged, change, session=session)
        return updated.matched_count == 1

    async def use_totp_step(self, person: Person, step: int) -> bool:
        """Store the step of a code; return False if a code of it or a later one was used before."""
        unused = {"_id": person.id, "totp": person.totp, "totp_step": {"$lt": step}}
        updated = await self._people.update_one(unused, {"$set": {"totp_step": step}})
        return updated.matched_count == 1

    async def use_recovery_code(
        self, person: Person, digest: bytes, session: Session
    ) -> int | None:
        """Delete a recovery code, and return how many are left; None if it was used before."""
        row = await self._people.find_one_and_update(
            {"_id": person.id, "recovery_codes": digest},
            {"$pull": {"recovery_codes": digest}},
            return_document=ReturnDocument.AFTER,
            session=session,
        )
        return None if row is None else len(row["recovery_codes"])

    async def switch_totp_on(
        self, person: Person, step: int, recovery_codes: list[bytes], session: Session
    ) -> bool:
        """Put the waiting secret of `person` into effect; return False if it has changed."""
        waiting = {"_id": person.id, "totp": None, "new_totp": person.new_totp}
        fields = {
            "totp": person.new_totp,
            "new_totp": None,
            "new_totp_session": None,
            "totp_step": step,
            "recovery_codes": recovery_codes,
        }
        updated = await self._people.update_one(waiting, {"$set": fields}, session=session)
        return updated.matched_count == 1

    async def switch_totp_off(self, person: Person, session: Session) -> None:
        """Delete the second factor of a person."""
        await self.change(person.id, WITHOUT_TOTP, session)
