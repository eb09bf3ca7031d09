"""Every MongoDB index of the service, as a table, and the index of each list."""

from collections.abc import Mapping
from typing import Any, Final

import pymongo
from pymongo import ASCENDING, DESCENDING, IndexModel

from tracker.stores.mongodb.drivers import UNLIMITED, Database
from tracker.stores.mongodb.order import BY_NAME

# Not {"$type": "string"}: a look-up of one transaction id would not use the index then.
_EXISTING = {"$exists": True}

_IMPORTED: Final = {"import_id": _EXISTING}
_WITH_PARENT: Final = {"partialFilterExpression": {"parent_id": _EXISTING}}
STATES: Final[Mapping[str, Any]] = {
    "inactive": {"active": False},
    "scheduled": {"starts_at": _EXISTING},
    "expired": {"expires_at": _EXISTING},
    "used_up": {"used_up_at": _EXISTING},
    "protected": {"password_hash": _EXISTING},
}
"""The links that a list by state may have. Few are in one, and the others cost nothing."""

_DUE_IN_ORDER: Final = {"status": "due", "revision": {"$gte": 0}}
_BOUNDED: Final = {"status": "due", "skipped": {"$gte": 0}}
_LINKS_IN_ORDER: Final = {"status": "due", "link_id": _EXISTING}
_FAILING: Final = {"status": "due", "attempts.0": _EXISTING}
_EXTERNAL: Final = {"partialFilterExpression": {"external_id": _EXISTING}}
_OF_VARIANT: Final = {"partialFilterExpression": {"variant_id": _EXISTING}}
_LAST_CLICKS = ("account_id", "archived", "-last_click_at", "-_id")
_WORDS = ("account_id", "-at", "event_config_id", "unknown_word")
_NAMES = ("account_id", "archived", "internal_name", "_id")
_SLUGS = ("account_id", "archived", "slug", "_id")
_NAMES_OF_TAG = ("account_id", "tags", "internal_name", "_id")
_SLUGS_OF_TAG = ("account_id", "tags", "slug", "_id")


def _index(name: str, *fields: str, **options: Any) -> IndexModel:
    """Return an index in the order of `fields`: descending after a minus, else ascending."""
    keys = [
        (field[1:], DESCENDING) if field.startswith("-") else (field, ASCENDING) for field in fields
    ]
    return IndexModel(keys, name=name, **options)


def _of(state: str) -> dict[str, Any]:
    return {"partialFilterExpression": STATES[state]}


def _of_state(state: str) -> list[IndexModel]:
    return [
        _index(state, "account_id", "archived", "-_id", **_of(state)),
        _index(f"{state}_in_order_of_names", *_NAMES, collation=BY_NAME, **_of(state)),
        _index(f"{state}_in_order_of_slugs", *_SLUGS, collation=BY_NAME, **_of(state)),
    ]


_NO_OTHER = [_index("_id_", "_id")]
"""Of collections without a further index, made too: a transaction that makes one lets others fail,
and so does a snapshot without it."""

_BY_ACCOUNT: Final = _index("by_account", "account_id", "-_id")
_OF_JOBS: Final = (_BY_ACCOUNT, _index("by_lease", "state", "leased_until"))

INDEXES: dict[str, list[IndexModel]] = {
    **dict.fromkeys(
        ("accounts", "counters", "drain_fences", "rebuilds", "utm_templates", "webhook_skips"),
        _NO_OTHER,
    ),
    "api_keys": [
        _index("by_hash", "sha256", unique=True),
        _index("by_account", "account_id", "-_id"),
    ],
    "people": [_index("by_email", "email", unique=True)],
    "sessions": [
        _index("by_hash", "sha256", unique=True),
        _index("by_person", "person_id", "-_id"),
        _index("expiry", "expires_at", expireAfterSeconds=0),
    ],
    "members": [
        _index("by_person", "account_id", "person_id", unique=True),
        _BY_ACCOUNT,
        _index("of_person", "person_id", "_id"),
    ],
    "audit": [
        _index("by_account", "account_id", "-_id"),
        _index("by_target", "account_id", "target.id", "-_id"),
        # 400 days: `access/audit.RETENTION_DAYS`.
        _index("expiry", "at", expireAfterSeconds=400 * 24 * 3600),
    ],
    "invitations": [
        _index("by_hash", "sha256", unique=True),
        _index("by_account", "account_id", "-_id"),
        _index("of_person", "person_id"),
        _index("expiry", "expires_at", expireAfterSeconds=0),
    ],
    "links": [
        _index("by_domain_and_slug", "domain_id", "slug", unique=True),
        _index("by_external_id", "account_id", "external_id", unique=True, **_EXTERNAL),
        _index(
            "by_name",
            "domain_id",
            "names",
            unique=True,
            partialFilterExpression={"names": _EXISTING},
        ),
        _index("by_account", "account_id", "archived", "-_id"),
        _index("by_tag", "account_id", "tags", "-_id"),
        _index("by_tag_in_order_of_names", *_NAMES_OF_TAG, collation=BY_NAME),
        _index("by_tag_in_order_of_slugs", *_SLUGS_OF_TAG, collation=BY_NAME),
        _index("in_order_of_names", *_NAMES, collation=BY_NAME),
        _index("in_order_of_slugs", *_SLUGS, collation=BY_NAME),
        _index("in_order_of_last_clicks", *_LAST_CLICKS),
        _index("by_tag_in_order_of_last_clicks", "account_id", "tags", *_LAST_CLICKS[2:]),
        _index("inactive_in_order_of_last_clicks", *_LAST_CLICKS, **_of("inactive")),
        # Without the id, which would be most of each of its many keys.
        _index("by_words", "account_id", "archived", "words"),
        *(index for state in STATES for index in _of_state(state)),
    ],
    "link_counts": [
        _index("by_tag", "_id.account_id", "_id.tag_id"),
        # Only recounts write it, to one document of an account.
        _index("recounts", "recounts", sparse=True),
    ],
    "choices": [_index("by_link", "link_id"), _index("by_name", "account_id", "name")],
    "rule_versions": [_index("by_link", "link_id", "-_id")],
    "domains": [
        # The last field separates domains in quarantine, of which an account may have several.
        _index("by_claim", "domain_name", "account_id", "quarantined_until", unique=True),
        _index(
            "by_proven_name", "domain_name", unique=True, partialFilterExpression={"verified": True}
        ),
        _index("quarantine", "quarantined_until", expireAfterSeconds=0, sparse=True),
        _index("by_account", "account_id", "-_id"),
    ],
    "unknown_paths": [
        _index("by_domain", "_id.domain_id", "-last_at"),
        _index("expiry", "last_at", expireAfterSeconds=30 * 24 * 3600),
    ],
    "tags": [
        _index("by_name", "account_id", "key", unique=True),
        _index("by_account", "account_id", "-_id"),
    ],
    "event_configs": [
        _index("by_pbk", "pbk", unique=True),
        _index("by_account", "account_id", "-_id"),
    ],
    "deliveries": [
        _index(
            "by_webhook_and_time",
            "status",
            "webhook_id",
            "due_at",
            partialFilterExpression={"status": "due"},
        ),
        _index("in_order", "webhook_id", "event_id", partialFilterExpression=_DUE_IN_ORDER),
        _index("links_in_order", "webhook_id", "link_id", partialFilterExpression=_LINKS_IN_ORDER),
        _index("bounded", "webhook_id", partialFilterExpression=_BOUNDED),
        _index("log", "webhook_id", "status", "-created_at", "-_id"),
        _index("failing", "webhook_id", "-created_at", "-_id", partialFilterExpression=_FAILING),
        _index("expiry", "expires_at", expireAfterSeconds=0, sparse=True),
    ],
    # Idle accounts have neither time (`webhooks/queue`).
    "delivery_queue": [
        _index("by_turn", "turn_at", sparse=True),
        _index("by_time", "-due_at", sparse=True),
    ],
    "costs": [
        _index("by_key", "account_id", "key", unique=True),
        _index("by_account", "account_id", "-_id"),
        _index("by_days", "account_id", "last", "first"),
    ],
    "imports": [*_OF_JOBS],
    "import_rows": [
        _index("by_number", "import_id", "number", unique=True),
        _index("by_import", "import_id", "_id"),
        _index("by_outcome", "import_id", "outcome", "_id"),
        _index("by_name", "import_id", "names"),
        _index("by_link", "import_id", "link_id"),
        _index("differing", "import_id", "_id", partialFilterExpression={"differ": {"$gt": 0}}),
        # 90 days: `imports/rows.RETENTION_DAYS`.
        _index("expiry", "at", expireAfterSeconds=90 * 24 * 3600),
    ],
    "first_answers": [_index("expiry", "at", expireAfterSeconds=24 * 3600)],
    "job_files": [_index("expiry", "at", expireAfterSeconds=7 * 24 * 3600)],
    "uploads": [*_OF_JOBS, _index("expiry", "created_at", expireAfterSeconds=90 * 24 * 3600)],
    "upload_rows": [
        _index("by_upload", "upload_id", "_id"),
        _index("expiry", "at", expireAfterSeconds=90 * 24 * 3600),
    ],
    "imported_links": [
        _index("by_source", "account_id", "source", "instance", "source_id", unique=True),
        _index("by_import", "import_id", "_id"),
    ],
    "shares": [
        _index("by_token", "sha256", unique=True),
        _index("by_account", "account_id", "-_id"),
        # Revoked shares are listed for a while.
        _index("expiry", "revoked_at", expireAfterSeconds=30 * 24 * 3600),
    ],
    "views": [_BY_ACCOUNT],
    "webhooks": [_BY_ACCOUNT, _index("by_event", "events", "active")],
    **{name: [_BY_ACCOUNT, _index("due", "due_at")] for name in ("alerts", "summaries")},
    "clicks": [
        _index("by_account", "account_id", "at"),
        _index("by_link_and_time", "link_id", "at"),
        # Few among millions, and no cost for the rest.
        _index("tests", "account_id", "-at", partialFilterExpression={"test": True}),
        _index("by_parent", "parent_id", "_id", **_WITH_PARENT),
        # Imported visits: for an undo, and to count those of a link. No cost for other clicks.
        _index("imported", "import_id", partialFilterExpression=_IMPORTED),
        _index("imported_of_link", "link_id", "import_id", partialFilterExpression=_IMPORTED),
    ],
    "events": [
        # The state comes before the time, so that a rare one is found among millions. Without a
        # filter by state MongoDB merges the events of each (`feeds/conversions`).
        _index("log", "account_id", "status", "-at", "-_id"),
        _index(
            "pending_of_click", "click_id", "_id", partialFilterExpression={"status": "pending"}
        ),
        # No cost for events without warnings, which are nearly all.
        _index("warned", "account_id", "-at", partialFilterExpression={"warnings": _EXISTING}),
        # Few events have such a word.
        _index("unknown_words", *_WORDS, partialFilterExpression={"unknown_word": _EXISTING}),
        # Only unsettled events without an account have this time.
        _index("expiry", "expires_at", expireAfterSeconds=0, sparse=True),
        # For accounts that limit the conversions of a click.
        _index("by_click", "click_id", "event_config_id"),
        _index("of_variant", "variant_id", "click_at", **_OF_VARIANT),
        # The state of a notification: `conversions/notification_state`.
        _index("by_telling", "tell_at", partialFilterExpression={"tell_at": _EXISTING}),
        _index(
            "by_transaction",
            "transaction_scope",
            "transaction_id",
            unique=True,
            partialFilterExpression={"transaction_id": _EXISTING},
        ),
    ],
    "consents": [_index("expiry", "expires_at", expireAfterSeconds=0)],
    # 8 days: `feeds/arrivals.STORED_DAYS`.
    "arrivals": [_index("expiry", "at", expireAfterSeconds=8 * 24 * 3600)],
    "refused_postbacks": [
        _BY_ACCOUNT,
        # 7 days: `conversions/refusals.STORED_DAYS`; the counts are of whole days.
        _index("expiry", "at", expireAfterSeconds=7 * 24 * 3600),
    ],
    "refused_postback_counts": [
        _index("expiry", "at", expireAfterSeconds=8 * 24 * 3600),
    ],
    "conversion_locks": [
        _index("expiry", "at", expireAfterSeconds=3600),
    ],
    "joint_counts": [
        _index("by_account", "_id.account_id", "_id.period"),
        # Only counts by some dimensions have it (`reports/joint_counts/store`).
        _index("expiry", "expires_at", expireAfterSeconds=0, sparse=True),
    ],
    "joint_counts_due": [_index("due", "due_at", sparse=True)],
    "rollups": [
        _index("by_account", "_id.account_id", "_id.of", "_id.day", "_id.link_id"),
    ],
}

LISTS: Final[Mapping[str, str]] = dict.fromkeys(
    (
        *("api_keys", "audit", "domains", "event_configs", "imports", "invitations", "members"),
        *("costs", "refused_postbacks", "shares", "tags", "uploads", "views", "webhooks"),
    ),
    "by_account",
)
"""The index of each list with few filters, by collection. Without this hint MongoDB would try each
index that begins with the same field, on all documents of the account."""


async def ensure(database: Database) -> None:
    """Make every missing index, however long that takes."""
    with pymongo.timeout(UNLIMITED):
        for collection, indexes in INDEXES.items():
            await database[collection].create_indexes(indexes)
