"""People, who sign in to the console. Their roles in accounts are in `accounts/members`.

Guarantee: a change of password or second factor ends every open password reset of the person, in
its transaction. It conflicts with the simultaneous creation or use of a reset.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from pymongo import ReturnDocument
from pymongo.errors import DuplicateKeyError

from tracker.access.invitations import Invitations
from tracker.access.principal import Actor, ActorKind
from tracker.clock import now
from tracker.errors import BadRequest, ErrorCode
from tracker.ids import new_id
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.transaction import MongoSession

MAX_NETWORKS: Final = 10
"""Networks of a person's sign-ins that are stored. The oldest is dropped first."""


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """A person. `email` is in its normalised form, `password` is an Argon2 hash.

    - `account_id` is the last used account, `networks` are digests.
    - `totp` is encrypted, None if off. `new_totp` awaits its first code, in one session.
    - `totp_step` is the time of the last used code.
    - `recovery_codes` has the hashes of unused codes.
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
        return self.totp is not None

    @property
    def label(self) -> str:
        return self.name or self.email

    @property
    def actor(self) -> Actor:
        return Actor(kind=ActorKind.MEMBER, id=self.id, name=self.label)


WITHOUT_TOTP: Final[Mapping[str, Any]] = {
    "totp": None,
    "new_totp": None,
    "new_totp_session": None,
    "totp_step": 0,
    "recovery_codes": [],
}


class People:
    """The people in MongoDB, with their credentials."""

    def __init__(self, mongodb: MongoDB, invitations: Invitations) -> None:
        self._people = mongodb["people"]
        self._invitations = invitations

    async def create(
        self, email: str, name: str, password: str, session: MongoSession | None = None
    ) -> Person:
        """Store a new person and return it. Raises BadRequest if the e-mail is another's."""
        person = Person(id=new_id(), email=email, name=name, password=password, created_at=now())
        try:
            await self._people.insert_one(as_document(person), session=session)
        except DuplicateKeyError:
            error = "email: belongs to another person"
            raise BadRequest(error, code=ErrorCode.ALREADY_TAKEN) from None
        return person

    async def find(self, person_id: UUID, session: MongoSession | None = None) -> Person | None:
        row = await self._people.find_one({"_id": person_id}, session=session)
        return None if row is None else as_struct(Person, row)

    async def find_all(self, ids: Collection[UUID]) -> dict[UUID, Person]:
        rows = self._people.find({"_id": {"$in": list(ids)}})
        return {row["_id"]: as_struct(Person, row) async for row in rows}

    async def find_by_email(self, email: str, session: MongoSession | None = None) -> Person | None:
        row = await self._people.find_one({"email": email}, session=session)
        return None if row is None else as_struct(Person, row)

    async def change(
        self, person_id: UUID, fields: Mapping[str, Any], session: MongoSession | None = None
    ) -> None:
        """Set checked `fields` of a person, if it exists; never password or second factor."""
        await self._people.update_one({"_id": person_id}, {"$set": dict(fields)}, session=session)

    async def lock(self, person_id: UUID, session: MongoSession) -> Person | None:
        """Return the person or None. Its write conflicts with a change of the password."""
        row = await self._people.find_one_and_update(
            {"_id": person_id}, {"$inc": {"resets": 1}}, session=session
        )
        return None if row is None else as_struct(Person, row)

    async def rehash(self, person: Person, password: str) -> None:
        """Store another hash of the same password, unless the password has changed."""
        unchanged = {"_id": person.id, "password": person.password}
        await self._people.update_one(unchanged, {"$set": {"password": password}})

    async def change_password(self, person: Person, password: str, session: MongoSession) -> bool:
        """Set the hash of a new password. Return False if `person` has an outdated one."""
        unchanged = {"_id": person.id, "password": person.password}
        return await self._change_credentials(unchanged, {"password": password}, session)

    async def reset_password(
        self, person: Person, password: str, without_totp: bool, session: MongoSession
    ) -> Person:
        """Set the hash of a new password, whatever the old one; return the person with it."""
        fields = {"password": password, **(WITHOUT_TOTP if without_totp else {})}
        await self._change_credentials({"_id": person.id}, fields, session)
        return msgspec.structs.replace(person, **fields)

    async def record_sign_in(self, person: Person, network: bytes, session: MongoSession) -> bool:
        """Record a sign-in from a network with this digest. Return False if `person` is outdated.

        It always writes, so it conflicts with a change of credentials, which ends all sessions.
        """
        unchanged = {"_id": person.id, "password": person.password, "totp": person.totp}
        known = {"$ifNull": ["$networks", []]}
        others = {"$filter": {"input": known, "cond": {"$ne": ["$$this", network]}}}
        networks = {"$slice": [{"$concatArrays": [others, [network]]}, -MAX_NETWORKS]}
        change = [{"$set": {"networks": networks, "signed_in_at": now()}}]
        updated = await self._people.update_one(unchanged, change, session=session)
        return updated.matched_count == 1

    async def use_totp_step(self, person: Person, step: int) -> bool:
        """Store the step of a code; return False if its step or a later one was used before."""
        unused = {"_id": person.id, "totp": person.totp, "totp_step": {"$lt": step}}
        updated = await self._people.update_one(unused, {"$set": {"totp_step": step}})
        return updated.matched_count == 1

    async def use_recovery_code(
        self, person: Person, digest: bytes, session: MongoSession
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
        self, person: Person, step: int, recovery_codes: list[bytes], session: MongoSession
    ) -> bool:
        """Make `new_totp` the person's secret; return False if it has changed."""
        waiting = {"_id": person.id, "totp": None, "new_totp": person.new_totp}
        used = {"totp": person.new_totp, "totp_step": step, "recovery_codes": recovery_codes}
        return await self._change_credentials(waiting, {**WITHOUT_TOTP, **used}, session)

    async def switch_totp_off(self, person: Person, session: MongoSession) -> None:
        await self._change_credentials({"_id": person.id}, WITHOUT_TOTP, session)

    async def _change_credentials(
        self, one: Mapping[str, Any], fields: Mapping[str, Any], session: MongoSession
    ) -> bool:
        """Set credentials, and end the person's resets. Return False if `one` matches nobody."""
        changed = await self._people.find_one_and_update(
            one, {"$set": dict(fields)}, ["_id"], session=session
        )
        if changed is None:
            return False
        await self._invitations.end_resets_of(changed["_id"], session)
        return True
