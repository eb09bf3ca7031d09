"""Every MongoDB index of the service, as a table. `ensure` makes what is missing."""

import pymongo
from pymongo import ASCENDING, DESCENDING, IndexModel

from tracker.db.connect import UNLIMITED, Database

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
    "deliveries": [
        IndexModel(
            [("status", ASCENDING), ("webhook_id", ASCENDING), ("due_at", ASCENDING)],
            name="by_webhook_and_time",
            partialFilterExpression={"status": "due"},
        ),
        IndexModel(
            [
                ("webhook_id", ASCENDING),
                ("status", ASCENDING),
                ("created_at", DESCENDING),
                ("_id", DESCENDING),
            ],
            name="log",
        ),
        IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0, sparse=True),
    ],
    "clicks": [
        IndexModel([("account_id", ASCENDING), ("at", ASCENDING)], name="by_account"),
        IndexModel([("link_id", ASCENDING), ("at", ASCENDING)], name="by_link_and_time"),
    ],
    "events": [
        IndexModel([("account_id", ASCENDING), ("at", ASCENDING)], name="by_account"),
        IndexModel(
            [("click_id", ASCENDING), ("_id", ASCENDING)],
            name="pending_of_click",
            partialFilterExpression={"status": "pending"},
        ),
        IndexModel(
            [("tell_at", ASCENDING)],
            name="by_telling",
            partialFilterExpression={"tell_at": _EXISTING},
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
    with pymongo.timeout(UNLIMITED):
        for collection, indexes in INDEXES.items():
            await database[collection].create_indexes(indexes)
