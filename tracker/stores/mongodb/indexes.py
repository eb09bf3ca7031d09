"""Every MongoDB index of the service, as a table. `ensure` makes what is missing."""

import pymongo
from pymongo import ASCENDING, DESCENDING, IndexModel

from tracker.stores.mongodb.drivers import UNLIMITED, Database
from tracker.stores.mongodb.order import BY_NAME

# Not {"$type": "string"}: a look-up of one transaction id would not use the index then.
_EXISTING = {"$exists": True}

INDEXES: dict[str, list[IndexModel]] = {
    "api_keys": [
        IndexModel([("sha256", ASCENDING)], name="by_hash", unique=True),
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
    ],
    "people": [
        IndexModel([("email", ASCENDING)], name="by_email", unique=True),
    ],
    "sessions": [
        IndexModel([("sha256", ASCENDING)], name="by_hash", unique=True),
        IndexModel([("person_id", ASCENDING), ("_id", DESCENDING)], name="by_person"),
        IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0),
    ],
    "members": [
        IndexModel(
            [("account_id", ASCENDING), ("person_id", ASCENDING)], name="by_person", unique=True
        ),
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
        IndexModel([("person_id", ASCENDING), ("_id", ASCENDING)], name="of_person"),
    ],
    "audit": [
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
        IndexModel(
            [("account_id", ASCENDING), ("target.id", ASCENDING), ("_id", DESCENDING)],
            name="by_target",
        ),
        # 400 days: `access/audit.RETENTION_DAYS`.
        IndexModel([("at", ASCENDING)], name="expiry", expireAfterSeconds=400 * 24 * 3600),
    ],
    "invitations": [
        IndexModel([("sha256", ASCENDING)], name="by_hash", unique=True),
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
        IndexModel([("person_id", ASCENDING)], name="of_person"),
        IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0),
    ],
    "links": [
        IndexModel(
            [("domain_id", ASCENDING), ("slug", ASCENDING)], name="by_domain_and_slug", unique=True
        ),
        IndexModel(
            [("account_id", ASCENDING), ("archived", ASCENDING), ("_id", DESCENDING)],
            name="by_account",
        ),
        IndexModel(
            [("account_id", ASCENDING), ("tags", ASCENDING), ("_id", DESCENDING)], name="by_tag"
        ),
        IndexModel(
            [
                ("account_id", ASCENDING),
                ("tags", ASCENDING),
                ("internal_name", ASCENDING),
                ("_id", ASCENDING),
            ],
            name="by_tag_in_order_of_names",
            collation=BY_NAME,
        ),
        IndexModel(
            [
                ("account_id", ASCENDING),
                ("tags", ASCENDING),
                ("slug", ASCENDING),
                ("_id", ASCENDING),
            ],
            name="by_tag_in_order_of_slugs",
            collation=BY_NAME,
        ),
        IndexModel(
            [
                ("account_id", ASCENDING),
                ("archived", ASCENDING),
                ("internal_name", ASCENDING),
                ("_id", ASCENDING),
            ],
            name="in_order_of_names",
            collation=BY_NAME,
        ),
        IndexModel(
            [
                ("account_id", ASCENDING),
                ("archived", ASCENDING),
                ("slug", ASCENDING),
                ("_id", ASCENDING),
            ],
            name="in_order_of_slugs",
            collation=BY_NAME,
        ),
        # Without the id, which would be most of each of its many keys.
        IndexModel(
            [("account_id", ASCENDING), ("archived", ASCENDING), ("words", ASCENDING)],
            name="by_words",
        ),
        # Few links are inactive, and the others cost nothing.
        IndexModel(
            [("account_id", ASCENDING), ("archived", ASCENDING), ("_id", DESCENDING)],
            name="inactive",
            partialFilterExpression={"active": False},
        ),
        IndexModel(
            [
                ("account_id", ASCENDING),
                ("archived", ASCENDING),
                ("internal_name", ASCENDING),
                ("_id", ASCENDING),
            ],
            name="inactive_in_order_of_names",
            partialFilterExpression={"active": False},
            collation=BY_NAME,
        ),
        IndexModel(
            [
                ("account_id", ASCENDING),
                ("archived", ASCENDING),
                ("slug", ASCENDING),
                ("_id", ASCENDING),
            ],
            name="inactive_in_order_of_slugs",
            partialFilterExpression={"active": False},
            collation=BY_NAME,
        ),
    ],
    "link_counts": [
        IndexModel([("_id.account_id", ASCENDING), ("_id.tag_id", ASCENDING)], name="by_tag"),
        # Only recounts write it, to one document of an account.
        IndexModel([("recounts", ASCENDING)], name="recounts", sparse=True),
    ],
    "domains": [
        # The last field separates domains in quarantine, of which an account may have several.
        IndexModel(
            [
                ("domain_name", ASCENDING),
                ("account_id", ASCENDING),
                ("quarantined_until", ASCENDING),
            ],
            name="by_claim",
            unique=True,
        ),
        IndexModel(
            [("domain_name", ASCENDING)],
            name="by_proven_name",
            unique=True,
            partialFilterExpression={"verified": True},
        ),
        IndexModel(
            [("quarantined_until", ASCENDING)], name="quarantine", expireAfterSeconds=0, sparse=True
        ),
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
    # Idle accounts have neither time (`webhooks/queue`).
    "delivery_queue": [
        IndexModel([("turn_at", ASCENDING)], name="by_turn", sparse=True),
        IndexModel([("due_at", DESCENDING)], name="by_time", sparse=True),
    ],
    "shares": [
        IndexModel([("sha256", ASCENDING)], name="by_token", unique=True),
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
        # Revoked shares are listed for a while.
        IndexModel([("revoked_at", ASCENDING)], name="expiry", expireAfterSeconds=30 * 24 * 3600),
    ],
    "views": [
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
    ],
    "clicks": [
        IndexModel([("account_id", ASCENDING), ("at", ASCENDING)], name="by_account"),
        IndexModel([("link_id", ASCENDING), ("at", ASCENDING)], name="by_link_and_time"),
        # Few among millions, and no cost for the others.
        IndexModel(
            [("account_id", ASCENDING), ("at", DESCENDING)],
            name="tests",
            partialFilterExpression={"test": True},
        ),
    ],
    "events": [
        # The state comes before the time, so that a rare one is found among millions. Without a
        # filter by state MongoDB merges the events of each (`feeds/conversions`).
        IndexModel(
            [
                ("account_id", ASCENDING),
                ("status", ASCENDING),
                ("at", DESCENDING),
                ("_id", DESCENDING),
            ],
            name="log",
        ),
        IndexModel(
            [("click_id", ASCENDING), ("_id", ASCENDING)],
            name="pending_of_click",
            partialFilterExpression={"status": "pending"},
        ),
        # No cost for events without warnings, which are nearly all.
        IndexModel(
            [("account_id", ASCENDING), ("at", DESCENDING)],
            name="warned",
            partialFilterExpression={"warnings": _EXISTING},
        ),
        # Only unsettled events without an account have this time.
        IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0, sparse=True),
        # For accounts that limit the conversions of a click.
        IndexModel([("click_id", ASCENDING), ("event_config_id", ASCENDING)], name="by_click"),
        # The state of a notification: `conversions/notification_state`.
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
    "arrivals": [
        # 8 days: `feeds/arrivals.STORED_DAYS`.
        IndexModel([("at", ASCENDING)], name="expiry", expireAfterSeconds=8 * 24 * 3600),
    ],
    "refused_postbacks": [
        IndexModel([("account_id", ASCENDING), ("_id", DESCENDING)], name="by_account"),
        # 7 days: `conversions/refusals.STORED_DAYS`; the counts are of whole days.
        IndexModel([("at", ASCENDING)], name="expiry", expireAfterSeconds=7 * 24 * 3600),
    ],
    "refused_postback_counts": [
        IndexModel([("at", ASCENDING)], name="expiry", expireAfterSeconds=8 * 24 * 3600),
    ],
    "conversion_locks": [
        IndexModel([("at", ASCENDING)], name="expiry", expireAfterSeconds=3600),
    ],
    "joint_counts": [
        IndexModel([("_id.account_id", ASCENDING), ("_id.period", ASCENDING)], name="by_account"),
        # Only counts by some dimensions have it (`reports/joint_counts/store`).
        IndexModel([("expires_at", ASCENDING)], name="expiry", expireAfterSeconds=0, sparse=True),
    ],
    "joint_counts_due": [
        IndexModel([("due_at", ASCENDING)], name="due", sparse=True),
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
    """Make every missing index, however long that takes."""
    with pymongo.timeout(UNLIMITED):
        for collection, indexes in INDEXES.items():
            await database[collection].create_indexes(indexes)
