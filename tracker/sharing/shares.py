"""Shares: public links to a fixed report.

A link has 256 random bits, and only their SHA-256 is stored. So it cannot be guessed, and reading
the database does not reveal it. A share ends when it is revoked or expires. A revoked one stays
listed for 30 days (`stores/mongodb/indexes`).
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import msgspec

from tracker.access.principal import Actor
from tracker.clock import now
from tracker.errors import LimitReached, NotFound
from tracker.ids import new_secret, secret_digest
from tracker.stores.mongodb.account_lock import has_room
from tracker.stores.mongodb.database import MongoDB
from tracker.stores.mongodb.documents import as_document, as_struct
from tracker.stores.mongodb.paging import Pages
from tracker.stores.mongodb.transaction import MongoSession

MAX_OF_ACCOUNT: Final = 100
"""Shares of an account that have not been revoked."""

_TOKEN_BYTES: Final = 32
_NOT_REVOKED: Final[Mapping[str, None]] = {"revoked_at": None}


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A shared report, without the token. `report` is JSON; `password` is a hash.

    `tags` are its maker's limit: it shows only links with one of them; all if there are none.
    `created_by` is None for shares of earlier releases. `opens` and `last_opened_at` are up to
    `opens.FLUSH_SECONDS` late. `logo` is a `data:` URL; pages of shares have its beginning.
    """

    id: UUID
    account_id: UUID
    name: str
    report: str
    show_link_names: bool
    tags: list[UUID] = []
    password: str | None
    created_at: datetime
    expires_at: datetime | None
    created_by: Actor | None = None
    opens: int = 0
    last_opened_at: datetime | None = None
    revoked_at: datetime | None = None
    choose_days: bool = False
    all_rows: bool = False
    download: bool = False
    title: str = ""
    logo: str = ""


class Shares:
    """The stored shares."""

    def __init__(self, mongodb: MongoDB) -> None:
        self._database = mongodb.database
        self._shares = mongodb["shares"]
        self._pages = Pages(mongodb.reads, "shares", Share, begun=("logo",))

    async def create(self, share: Share, session: MongoSession) -> str:
        """Store a new share. Return its token, which is stored nowhere.

        Raises BadRequest if the account has MAX_OF_ACCOUNT.
        """
        limit, account_id = MAX_OF_ACCOUNT, share.account_id
        if not await has_room(self._database, "shares", account_id, limit, session, _NOT_REVOKED):
            raise LimitReached(f"share: an account has at most {MAX_OF_ACCOUNT}; revoke one first")
        token = new_secret("", _TOKEN_BYTES)
        stored = {**as_document(share), "sha256": secret_digest(token)}
        await self._shares.insert_one(stored, session=session)
        return token

    async def open(self, token: str) -> Share:
        """Return the share of a token. Raises NotFound if it is unknown, revoked or expired."""
        row = await self._shares.find_one({"sha256": secret_digest(token), **_NOT_REVOKED})
        share = None if row is None else as_struct(Share, row)
        if share is None or (share.expires_at is not None and share.expires_at <= now()):
            raise NotFound("share: expired, revoked or unknown")
        return share

    async def find(self, share_id: UUID) -> Share | None:
        """Return a share, even an expired one; None if it is revoked or unknown."""
        row = await self._shares.find_one({"_id": share_id, **_NOT_REVOKED})
        return None if row is None else as_struct(Share, row)

    async def page(
        self,
        account_id: UUID,
        page: int,
        page_size: int,
        revoked: bool = False,
        within: Collection[UUID] | None = None,
    ) -> tuple[list[Share], int]:
        """Return one page of the account's shares, newest first, and the number of all.

        `revoked` adds shares revoked in the last 30 days. `within`: only shares limited to some of
        these tags.
        """
        matching: dict[str, Any] = {"account_id": account_id, **({} if revoked else _NOT_REVOKED)}
        if within is not None:
            matching["tags"] = {"$nin": [None, []], "$not": {"$elemMatch": {"$nin": [*within]}}}
        return await self._pages.find(matching, page, page_size)

    async def revoke(self, share_id: UUID) -> None:
        """Revoke a share: its link stops working."""
        revoked = {"$set": {"revoked_at": now()}}
        await self._shares.update_one({"_id": share_id, **_NOT_REVOKED}, revoked)
