"""Every MongoDB index of the service, as a table. `ensure` makes what is missing."""

import pymongo
from pymongo import ASCENDING, DESCENDING, IndexModel
from pymongo.errors import OperationFailure

from tracker.db.connect import Collection, Database

# Not {"$type": "string"}: a look-up of one transaction id would not use the index then.
_EXISTING = {"$exists": True}

INDEXES: dict[str, list[IndexModel]] = {
    "api_keys": [
        IndexModel([("sha256", ASCENDING)], name="by_hash", unique=True),
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
    ],
    "links": [
        IndexModel([("domain_name", ASCENDING), ("slug", ASCENDING)], name="by_slug", unique=True),
        IndexModel(
            [("account_id", ASCENDING), ("archived", ASCENDING), ("_id", DESCENDING)],
            name="by_account",
        ),
        IndexModel(
            [("account_id", ASCENDING), ("tags", ASCENDING), ("_id", DESCENDING)], name="by_tag"
        ),
    ],
    "domains": [
        IndexModel([("domain_name", ASCENDING)], name="by_name", unique=True),
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
    ],
    "tags": [
        IndexModel([("account_id", ASCENDING), ("key", ASCENDING)], name="by_name", unique=True),
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
    ],
    "event_configs": [
        IndexModel([("pbk", ASCENDING)], name="by_pbk", unique=True),
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
    ],
    "webhooks": [
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
    ],
    "clicks": [
        IndexModel([("account_id", ASCENDING), ("at", ASCENDING)], name="by_account"),
        IndexModel([("link_id", ASCENDING), ("at", ASCENDING)], name="by_link_and_time"),
    ],
    "events": [
        IndexModel([("account_id", ASCENDING), ("at", ASCENDING)], name="by_account"),
        IndexModel(
            [("click_id", ASCENDING)],
            name="pending_by_click",
            partialFilterExpression={"status": "pending"},
        ),
        IndexModel(
            [("transaction_scope", ASCENDING), ("transaction_id", ASCENDING)],
            name="by_transaction",
            unique=True,
            partialFilterExpression={"transaction_id": _EXISTING},
        ),
    ],
    "rollups": [
        IndexModel(
            [
                ("_id.account_id", ASCENDING),
                ("_id.of", ASCENDING),
                ("_id.day", ASCENDING),
                ("_id.link_id", ASCENDING),
            ],
            name="by_account",
        ),
    ],
}


async def ensure(database: Database) -> None:
    """Make every index that is missing, however long that takes. Raises PyMongoError."""
    with pymongo.timeout(None):
        for collection, indexes in INDEXES.items():
            await database[collection].create_indexes(indexes)


_EXPIRY = "expiry"
_DAY_SECONDS = 86_400
_NO_SUCH_INDEX = 27


async def keep_clicks(database: Database, days: int) -> None:
    """Have MongoDB delete clicks that many days after they were stored; 0: never.

    By when they were stored, not made: a late click must not be gone before its journal entry is
    acknowledged, or the entry would count it again. Raises PyMongoError.
    """
    clicks = database["clicks"]
    with pymongo.timeout(None):
        if not days:
            await _drop_expiry(clicks)
            return
        seconds = days * _DAY_SECONDS
        stored = (await clicks.index_information()).get(_EXPIRY)
        if stored is None:
            await clicks.create_index("stored_at", name=_EXPIRY, expireAfterSeconds=seconds)
        elif stored["expireAfterSeconds"] != seconds:
            index = {"name": _EXPIRY, "expireAfterSeconds": seconds}
            await database.command("collMod", "clicks", index=index)


async def _drop_expiry(clicks: Collection) -> None:
    try:
        await clicks.drop_index(_EXPIRY)
    except OperationFailure as error:
        if error.code != _NO_SUCH_INDEX:
            raise
