"""Clicks and events, and the rollups of them."""

from datetime import UTC, datetime

from bson import Decimal128

from tests.factories import make_click_document, make_event_document
from tracker.ids import new_id
from tracker.visitor_dimensions import NAMES

ACCOUNT, LINK, CONFIG = new_id(), new_id(), new_id()


AT = datetime(2026, 1, 31, 9, 59, 59, 999_000, UTC)


VALUES = {name: f"Some {name}" for name in NAMES}


CLICK = make_click_document(
    account_id=ACCOUNT, link_id=LINK, at=AT, domain_name="go.example.com", **VALUES, unique=False
)


EVENT = make_event_document(
    1,
    at=AT,
    account_id=ACCOUNT,
    event_config_id=CONFIG,
    value=Decimal128("12.50"),
    payout=Decimal128("1.25"),
)


JOINED = EVENT | {
    "status": "attributed",
    "link_id": LINK,
    "domain_name": "go.example.com",
    **VALUES,
    "bot": None,
}
