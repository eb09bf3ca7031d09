"""What a source gives out, whatever its format: links, visits, and rows that are neither. Pure."""

from datetime import datetime
from typing import Literal

import msgspec

from tracker.links.api.rules.schema import RuleInput, SplitInput

HashScheme = Literal["plain", "argon2", "bcrypt", "pbkdf2", "unknown"]


class Loss(msgspec.Struct, frozen=True):
    """A part of a link that does not come along: its field at the source, and why."""

    field: str
    reason: str


class SourcePassword(msgspec.Struct, frozen=True):
    """The password of a link. `text` is clear for "plain", a hash, or empty for "unknown".

    "argon2" is the service's own hash of a plain one.
    """

    scheme: HashScheme
    text: str = ""


class SourceLink(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="link"):
    """A link as its source has it. Times are in UTC; texts are as printed, not percent-encoded.

    - `id` is unique in one instance of the source, and the same whenever it is read.
    - `domain_name`: None on the domain that the source has by default.
    - `path` and `aliases` are what was printed, without the first `/`; "" is the domain's root.
    - `clicks`: the source's own total, with the visits that it gives out; None if it tells none.
    - `losses`: what the source has and no link can hold.
    - `row` is the number of its line or record, from 1, for messages.
    """

    id: str
    row: int
    domain_name: str | None
    path: str
    destination_url: str
    aliases: tuple[str, ...] = ()
    internal_name: str | None = None
    tags: tuple[str, ...] = ()
    active: bool = True
    archived: bool = False
    created_at: datetime | None = None
    starts_at: datetime | None = None
    expires_at: datetime | None = None
    expired_url: str | None = None
    max_clicks: int | None = None
    pass_query: bool = True
    notes: str | None = None
    external_id: str | None = None
    password: SourcePassword | None = None
    clicks: int | None = None
    rules: tuple[RuleInput, ...] = ()
    split: SplitInput | None = None
    losses: tuple[Loss, ...] = ()


class SourceVisit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="visit"):
    """A visit with its time. Missing texts are empty.

    `link_id` is the link's `SourceLink.id`. `number` tells visits of one link and second apart:
    it is the same whenever the source is read. `country` is an ISO 3166-1 alpha-2 code.
    """

    link_id: str
    at: datetime
    number: int
    referrer: str = ""
    user_agent: str = ""
    country: str = ""
    is_bot: bool = False


class RefusedRow(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """A row that is no link: its number, the field at fault, and the rule it breaks."""

    row: int
    field: str
    reason: str
    text: str = ""


def kept(link: SourceLink) -> bytes:
    """Return a link without the text of its password, for a check of its answers later."""
    password = link.password and SourcePassword(link.password.scheme)
    less = msgspec.structs.replace(link, password=password, notes=None, tags=(), losses=())
    return msgspec.msgpack.encode(less)


SourceItem = SourceLink | SourceVisit | RefusedRow
