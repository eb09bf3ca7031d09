"""The options of a link: its window, and how its redirect differs from the usual one. Pure.

A link that uses none has none, neither stored nor cached, so its clicks pay nothing for them.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any, Final, Literal, Self
from uuid import UUID

import msgspec

from tracker.errors import BadRequest
from tracker.links.rules.decider import encoded
from tracker.links.rules.rule import Deciding, Rule, Split

CLICK_ID: Final = "click_id"

QR_PAIR: Final = "qr=1"
"""The pair in the URL of a QR code. It is counted, and never passed on."""

RedirectStatus = Literal[301, 302, 307]

CLICK_PARAMETER: Final = re.compile(r"[A-Za-z0-9_.~-]{1,64}")
CLICK_PARAMETER_RULE: Final = "1 to 64 of A-Z a-z 0-9 _ . ~ -, and neither s nor d"


class LinkOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The optional fields of a link. Times are in UTC; `starts_at` is before `expires_at`.

    `opening_clicks` is set by imports alone: the link's clicks elsewhere of which no day is known.
    `cost_per_click` is as `syntax/amounts` writes it.
    """

    starts_at: datetime | None = None
    expires_at: datetime | None = None
    expired_url: str | None = None
    redirect_status: RedirectStatus = 302
    pass_query: bool = True
    click_parameter: str = CLICK_ID
    no_referrer: bool = False
    password_hash: str | None = None
    notes: str | None = None
    opening_clicks: int = 0
    external_id: str | None = None
    max_clicks: int | None = None
    paths: list[str] = []
    cost_per_click: str | None = None
    rules: list[Rule] = []
    split: Split | None = None


NAMES: Final = LinkOptions.__struct_fields__
_DEFAULTS: Final = {
    **msgspec.structs.asdict(LinkOptions()),
    "last_click_at": None,
    "renewed_version": None,
    "names": [],
}


def without_defaults(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a link without options that it does not use."""
    return {
        name: value
        for name, value in fields.items()
        if name not in _DEFAULTS or value != _DEFAULTS[name]
    }


def check_options(options: LinkOptions) -> None:
    """Raises BadRequest, naming both fields, if two options exclude each other."""
    if options.starts_at and options.expires_at and options.starts_at >= options.expires_at:
        raise BadRequest("expires_at: must be after starts_at")
    if options.redirect_status == 301:
        for name in ("starts_at", "expires_at", "max_clicks", "password_hash", "rules", "split"):
            if getattr(options, name):
                field = name.removesuffix("_hash")
                raise BadRequest(f"redirect_status: 301 is permanent, so not with {field}")


def password_key(hashed: str) -> bytes:
    """Return the key that signs the passes of a link. Another password has another key."""
    return blake2b(hashed.encode(), digest_size=16, person=b"pass of a link").digest()


def check_parameter(field: str, name: str) -> None:
    """Raises BadRequest, naming the field, if no parameter of visitors has the name."""
    if not CLICK_PARAMETER.fullmatch(name) or name in ("s", "d"):
        raise BadRequest(f"{field}: {CLICK_PARAMETER_RULE}")


def check_paths(paths: Sequence[str], domain_id: UUID | None) -> None:
    """Raises BadRequest, naming both fields, if the default domain would have paths."""
    if paths and domain_id is None:
        raise BadRequest("paths: need domain_id, a custom domain")


class RedirectOptions(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """The options as redirects need them, cached with the link. Times are in milliseconds."""

    starts_ms: int | None = None
    expires_ms: int | None = None
    expired_url: str | None = None
    status: int = 302
    pass_query: bool = True
    click_parameter: str = CLICK_ID
    no_referrer: bool = False
    max_clicks: int | None = None
    password_key: bytes | None = None
    cost: str | None = None
    deciding: bytes | None = None

    @classmethod
    def of(cls, options: LinkOptions) -> Self | None:
        """Return the options of a link; None if its redirect is the usual one."""
        hashed = options.password_hash
        found = cls(
            starts_ms=_ms(options.starts_at),
            expires_ms=_ms(options.expires_at),
            expired_url=options.expired_url,
            status=options.redirect_status,
            pass_query=options.pass_query,
            click_parameter=options.click_parameter,
            no_referrer=options.no_referrer,
            max_clicks=options.max_clicks,
            password_key=None if hashed is None else password_key(hashed),
            cost=options.cost_per_click,
            deciding=encoded(Deciding(rules=options.rules, split=options.split)),
        )
        return None if found == _USUAL else found

    def has_started(self, at: int) -> bool:
        return self.starts_ms is None or self.starts_ms <= at

    def has_expired(self, at: int) -> bool:
        return self.expires_ms is not None and self.expires_ms <= at


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


_USUAL: Final = RedirectOptions()
