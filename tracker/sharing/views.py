"""Views: named reports of an account, stored as the query of the overview's address."""

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from tracker.clock import now
from tracker.errors import LimitReached
from tracker.ids import new_id
from tracker.stores.mongodb.account_lock import has_room
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

MAX_OF_ACCOUNT: Final = 200


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A report with a name."""

    id: UUID
    account_id: UUID
    name: str
    query: str
    created_at: datetime


class Views:
    """The stored views."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._views = mongodb["views"]
        self._pages = Pages(mongodb.reads, "views", View)

    async def create(self, account_id: UUID, name: str, query: str, session: MongoSession) -> View:
        """Store a view and return it. Raises BadRequest if the account has MAX_OF_ACCOUNT."""
        if not await has_room(self._database, "views", account_id, MAX_OF_ACCOUNT, session):
            raise LimitReached(f"view: an account has at most {MAX_OF_ACCOUNT}; delete one first")
        view = View(id=new_id(), account_id=account_id, name=name, query=query, created_at=now())
        await self._views.insert_one(as_document(view), session=session)
        return view

    async def find(self, view_id: UUID) -> View | None:
        return await self._pages.by_id(view_id)

    async def page(self, account_id: UUID, page: int, page_size: int) -> tuple[list[View], int]:
        return await self._pages.find({"account_id": account_id}, page, page_size)

    async def delete(self, view_id: UUID) -> None:
        await self._views.delete_one({"_id": view_id})
