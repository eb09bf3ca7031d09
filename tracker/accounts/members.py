"""Members: the people of an account, each with a role. A person may be a member of several.

Guarantees, within the caller's transaction:

- An account keeps an owner. Taking an owner's role writes the account's document, so simultaneous
  demotions conflict.
- A removal or a change of role or limit ends the member's sessions, open invitations and resets
  in the account.
- Any change of a person's memberships ends the open resets that accounts have created for the
  person. It also writes the person's document, so it conflicts with the simultaneous creation or
  use of a reset.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec
from pymongo.errors import DuplicateKeyError

from tracker.access.invitations import Invitations
from tracker.access.roles import Role
from tracker.accounts.people import Person
from tracker.clock import now
from tracker.errors import BadRequest, ErrorCode
from tracker.ids import new_id
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct, stored_id, stored_ids
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

ALREADY_MEMBER: Final = "email: is a member of the account already"


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A person's membership in an account. `last_seen_at` is None before the first session.

    `tags` limit it to links with one of them; without any it has no limit. A deleted tag stays, so
    that no limit ends by itself.
    """

    id: UUID
    account_id: UUID
    person_id: UUID
    role: Role
    tags: list[UUID] = []
    created_at: datetime
    last_seen_at: datetime | None = None


class MembershipRecord(msgspec.Struct, frozen=True, kw_only=True):
    """An account of the person, and the role there."""

    id: UUID
    name: str
    role: Role


class Members:
    """The members of all accounts in MongoDB."""

    def __init__(self, mongodb: MongoDB, invitations: Invitations) -> None:
        self._members = mongodb["members"]
        self._reads = mongodb.reads.with_binary_ids()
        self._pages = Pages(mongodb.reads, "members", Member)
        self._accounts = mongodb["accounts"]
        self._people = mongodb["people"]
        self._sessions = mongodb["sessions"]
        self._invitations = invitations

    async def add(
        self,
        account_id: UUID,
        person_id: UUID,
        role: Role,
        session: MongoSession | None = None,
        tags: Sequence[UUID] = (),
    ) -> Member:
        """Store a new member and return it. Raises BadRequest if the person is a member already."""
        given: dict[str, Any] = {"account_id": account_id, "person_id": person_id, "role": role}
        member = Member(id=new_id(), created_at=now(), tags=list(tags), **given)
        try:
            await self._members.insert_one(as_document(member), session=session)
        except DuplicateKeyError:
            raise BadRequest(ALREADY_MEMBER, code=ErrorCode.ALREADY_TAKEN) from None
        await self._end_resets(member, session)
        return member

    async def find(self, member_id: UUID, session: MongoSession | None = None) -> Member | None:
        return await self._find_one({"_id": member_id}, session)

    async def find_person(
        self, account_id: UUID, person_id: UUID, session: MongoSession | None = None
    ) -> Member | None:
        return await self._find_one({"account_id": account_id, "person_id": person_id}, session)

    async def of_person(
        self, person_id: UUID, session: MongoSession | None = None, limit: int = 0
    ) -> list[Member]:
        """Return the memberships of a person, oldest first; at most `limit`, if it is not 0."""
        rows = self._members.find({"person_id": person_id}, session=session).sort("_id", 1)
        return [as_struct(Member, row) async for row in rows.limit(limit)]

    async def last_used(self, person: Person, session: MongoSession | None = None) -> Member | None:
        """Return the membership in the account that a person used last, or else the oldest."""
        used = {"account_id": person.account_id, "person_id": person.id}
        last = await self._find_one(used, session)
        return last or await self._find_one({"person_id": person.id}, session)

    async def count_of_person(self, person_id: UUID) -> int:
        return await self._members.count_documents({"person_id": person_id})

    async def by_account_name(
        self, person_id: UUID, search: str, page: int, page_size: int
    ) -> tuple[list[MembershipRecord], int]:
        """Return a page of the accounts with `search` in their names, by name, and their number."""
        # Not by $lookup: it takes four times as long for 10,000 memberships.
        of_person = {"person_id": stored_id(person_id.bytes)}
        rows = await self._reads.find("members", of_person, ["account_id", "role"])
        roles = {bytes(row["account_id"]): Role(row["role"]) for row in rows}
        matching: dict[str, Any] = {"_id": {"$in": stored_ids(roles)}}
        if search:
            matching["name"] = {"$regex": re.escape(search), "$options": "i"}
        stages: list[dict[str, Any]] = [
            {"$match": matching},
            {"$project": {"name": 1, "key": {"$toLower": "$name"}}},
            {"$sort": {"key": 1, "_id": 1}},
        ]
        shown = [{"$skip": (page - 1) * page_size}, {"$limit": page_size}]
        facets = {"$facet": {"rows": shown, "total": [{"$count": "number"}]}}
        [found] = await self._reads.aggregate("accounts", [*stages, facets])
        memberships = [
            MembershipRecord(id=UUID(bytes=one), name=row["name"], role=roles[one])
            for row in found["rows"]
            for one in [bytes(row["_id"])]
        ]
        return memberships, found["total"][0]["number"] if found["total"] else 0

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[Member], int]:
        return await self._pages.find({"account_id": account_id}, page, page_size)

    async def list(self, account_id: UUID) -> list[Member]:
        rows = self._members.find({"account_id": account_id}).sort("_id", -1)
        return [as_struct(Member, row) async for row in rows]

    async def has_owner(self, account_id: UUID) -> bool:
        owner = {"account_id": account_id, "role": Role.OWNER}
        return await self._members.find_one(owner, ["_id"]) is not None

    async def change_role(
        self, member: Member, role: Role, session: MongoSession, tags: Sequence[UUID] = ()
    ) -> Member:
        """Change role and limit of a member read in this transaction, unless the last owner's."""
        await self._keep_an_owner(member, session)
        change = {"$set": {"role": role, "tags": list(tags)}}
        await self._members.update_one({"_id": member.id}, change, session=session)
        await self._end_access(member, session)
        return msgspec.structs.replace(member, role=role, tags=list(tags))

    async def remove(self, member: Member, session: MongoSession) -> None:
        """Remove a member read in this transaction, unless it is the last owner."""
        await self._keep_an_owner(member, session)
        await self._members.delete_one({"_id": member.id}, session=session)
        await self._end_access(member, session)

    async def _find_one(
        self, one: Mapping[str, Any], session: MongoSession | None
    ) -> Member | None:
        row = await self._members.find_one(one, sort=[("_id", 1)], session=session)
        return None if row is None else as_struct(Member, row)

    async def _keep_an_owner(self, member: Member, session: MongoSession) -> None:
        if member.role != Role.OWNER:
            return
        account = {"_id": member.account_id}
        await self._accounts.update_one(account, {"$inc": {"owner_changes": 1}}, session=session)
        owners = {"account_id": member.account_id, "role": Role.OWNER}
        others = {**owners, "_id": {"$ne": member.id}}
        if await self._members.find_one(others, ["_id"], session=session) is None:
            raise BadRequest("role: an account keeps its last owner; make another owner first")

    async def _end_access(self, member: Member, session: MongoSession) -> None:
        account_id, person_id = member.account_id, member.person_id
        sessions = {"account_id": account_id, "person_id": person_id}
        await self._sessions.delete_many(sessions, session=session)
        await self._invitations.end_made_by(account_id, [person_id], session)
        await self._end_resets(member, session)

    async def _end_resets(self, member: Member, session: MongoSession | None) -> None:
        person = {"_id": member.person_id}
        await self._people.update_one(person, {"$inc": {"member_changes": 1}}, session=session)
        await self._invitations.end_resets_of(member.person_id, session, of_accounts_only=True)
