"""Tags: names that group an account's links, unique in it ignoring case."""

from collections.abc import Collection, Sequence
from datetime import datetime
from unicodedata import normalize
from uuid import UUID

import msgspec
from pymongo.errors import DuplicateKeyError

from tracker.clock import now
from tracker.errors import BadRequest, ErrorCode
from tracker.ids import new_id
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct, updated
from tracker.stores.mongodb.paging import Pages

_TAKEN = "name: another tag of the account has it; upper and lower case do not differ"


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    """A label of an account's links."""

    id: UUID
    account_id: UUID
    name: str
    created_at: datetime

    @property
    def tags(self) -> Sequence[UUID]:
        """Return what limits of members to tags look at."""
        return (self.id,)


class Tags:
    """The tags of all accounts in MongoDB."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._tags = mongodb["tags"]
        self._pages = Pages(mongodb.reads, "tags", Tag)

    async def create(self, account_id: UUID, name: str) -> Tag:
        """Store a new tag and return it. Raises BadRequest if the account has the name already."""
        tag = Tag(id=new_id(), account_id=account_id, name=name, created_at=now())
        try:
            await self._tags.insert_one({**as_document(tag), "key": _key(name)})
        except DuplicateKeyError:
            raise BadRequest(_TAKEN, code=ErrorCode.ALREADY_TAKEN) from None
        return tag

    async def rename(self, tag_id: UUID, name: str) -> Tag:
        """Rename a tag and return it. Raises NotFound, or BadRequest if the name is taken."""
        try:
            update = {"$set": {"name": name, "key": _key(name)}}
            return as_struct(Tag, await updated(self._tags, {"_id": tag_id}, update, "tag"))
        except DuplicateKeyError:
            raise BadRequest(_TAKEN, code=ErrorCode.ALREADY_TAKEN) from None

    async def delete(self, tag_id: UUID) -> None:
        """Delete a tag, if it exists; the caller has removed it from all links (`Links.untag`)."""
        await self._tags.delete_one({"_id": tag_id})

    async def find(self, ids: Collection[UUID]) -> dict[UUID, Tag]:
        """Return the existing tags among `ids`, of any account, by id."""
        return await self._pages.by_ids(ids)

    async def by_names(self, account_id: UUID, names: Collection[str]) -> dict[str, UUID]:
        """Return the ids of the account's tags among `names`, ignoring case, by name."""
        matching = {"account_id": account_id, "key": {"$in": list(set(map(_key, names)))}}
        found = {row["key"]: row["_id"] async for row in self._tags.find(matching, ["key"])}
        return {name: found[_key(name)] for name in names if _key(name) in found}

    async def page(
        self, account_id: UUID, page: int, page_size: int, among: Collection[UUID] | None = None
    ) -> tuple[list[Tag], int]:
        """Return a page of the account's tags, or of those `among` some ids."""
        some = {} if among is None else {"_id": {"$in": list(among)}}
        return await self._pages.find({"account_id": account_id, **some}, page, page_size)


def _key(name: str) -> str:
    """Return the form of a name that ignores case, and how an accent is encoded."""
    return normalize("NFD", normalize("NFD", name).casefold())
