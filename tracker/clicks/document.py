"""The document of a click in MongoDB, as the drain stores it, and how its texts are read."""

from datetime import datetime
from typing import NotRequired, TypedDict


class SourceFields(TypedDict, total=False):
    """The source dimensions of a click (`clicks/sources`), each of which only some clicks have."""

    referrer_host: str
    utm_source: str
    utm_medium: str
    utm_campaign: str
    utm_term: str
    utm_content: str


class ClickDocument(SourceFields):
    """A stored click: what the visitor sent, and the values derived from it.

    Ids are the 16 bytes of a UUID. `unique` says whether it is its visitor's first on the link and
    day. `bot` is why it counts as a bot's, None for a person. `address` is stored only if the
    operator wants it.
    """

    _id: bytes
    account_id: bytes
    link_id: bytes
    at: datetime
    domain_name: str
    country: str
    device: str
    browser: str
    os: str
    bot: str | None
    unique: bool
    referrer: str
    user_agent: str
    query: str
    stored_at: NotRequired[datetime]
    address: NotRequired[str]


def decoded(raw: str) -> str:
    """Decode a visitor's text, which is stored with one character for each byte."""
    return raw.encode("latin-1", errors="replace").decode(errors="replace")
