"""Fields of sources: times, numbers, URLs and texts as each writes them, and refused rows. Pure."""

import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from tracker.clicks.country import COUNTRIES
from tracker.errors import BadRequest
from tracker.imports.item import Loss, RefusedRow, SourceItem, SourcePassword, SourceVisit
from tracker.imports.readers.text import BrokenFile
from tracker.syntax.url import check_url
from tracker.visitor_dimensions import country_code
from tracker.web.schema import in_utc

Record = Mapping[str, Any]

_SECRET: Final = {"password", "ip", "ip_address"}
_MOST_SECONDS: Final = 100_000_000_000
"""Unix times beyond it are in milliseconds."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]+")
_SHORT_URL: Final = re.compile(r"(?:https?://)?([^/?#]*)/?([^?#]*)", re.IGNORECASE)
_NONE_YET: Final = ("", "0", "0000-00-00 00:00:00")


async def items_of(
    rows: AsyncIterator[list[Any]], read: Callable[[int, Any], Iterable[SourceItem]]
) -> AsyncIterator[SourceItem]:
    """Yield what `read` makes of each row, and its number; of a bad row that it is refused."""
    number = 0
    try:
        async for batch in rows:
            for row in batch:
                number += 1
                try:
                    found = list(read(number, row))
                except BadRequest as error:
                    found = [refused(number, error.message, row)]
                except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
                    found = [refused(number, "row: is not as this source writes it", row)]
                for item in found:
                    yield item
    except BrokenFile as error:
        yield refused(number + 1, error.message, {})


def refused(number: int, message: str, row: Any) -> RefusedRow:
    field, _, reason = message.partition(": ")
    shown = row if isinstance(row, Mapping) else getattr(row, "values", {})
    texts = [str(value) for name, value in shown.items() if value and name not in _SECRET]
    return RefusedRow(row=number, field=field, reason=reason, text=", ".join(texts)[:500])


def moment(field: str, value: Any, zone: tzinfo = UTC) -> datetime | None:
    """Return a time in ISO 8601, `zone` where it has none, or in Unix seconds or milliseconds."""
    text = str("" if value is None else value).strip()
    if text in _NONE_YET:
        return None
    try:
        if re.fullmatch(r"\d+(\.\d*)?", text):
            seconds = float(text)
            return datetime.fromtimestamp(seconds / (1000 if seconds > _MOST_SECONDS else 1), UTC)
        at = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        raise BadRequest(f"{field}: must be a time in ISO 8601 or Unix time") from None
    return in_utc(field, at if at.tzinfo else at.replace(tzinfo=zone))


def required_moment(field: str, value: Any) -> datetime:
    at = moment(field, value)
    if at is None:
        raise BadRequest(f"{field}: is required")
    return at


def count(field: str, value: Any) -> int | None:
    text = str("" if value is None else value).strip()
    if not re.fullmatch(r"\d{0,15}", text, re.ASCII):
        raise BadRequest(f"{field}: must be a whole number from 0")
    return int(text) if text else None


def is_true(value: Any) -> bool:
    return str(value).strip().lower() in ("1", "true", "t", "yes", "y", "archived")


def destination(field: str, value: Any) -> str:
    url = str(value or "").strip()
    check_url(field, url)
    return url


def optional_url(field: str, value: Any) -> str | None:
    return destination(field, value) if value else None


def line(value: Any) -> str | None:
    """Return a text of one line; None if it is empty."""
    return " ".join((text(value) or "").split()) or None


def text(value: Any) -> str | None:
    return _CONTROL.sub(" ", str(value or "")).strip() or None


def tags(texts: Iterable[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(line, texts))))


def short_url(value: Any) -> tuple[str | None, str]:
    """Return the host of a short URL, and its path decoded, without `/` at its ends."""
    host, path = _SHORT_URL.match(str(value).strip()).groups()  # type: ignore[union-attr]
    if not path and "." not in host:
        host, path = "", host
    return host.lower() or None, unquote(path).removesuffix("/")


def link_id(domain_name: str | None, path: str) -> str:
    """Return the id of a link at a source that gives none."""
    return f"{domain_name or ''}/{path}"


def losses(record: Record, reasons: Mapping[str, str]) -> tuple[Loss, ...]:
    """Return the fields that a record uses, of those that no link can hold."""
    return tuple(Loss(name, reason) for name, reason in reasons.items() if record.get(name))


def query_loss(destination_url: str) -> tuple[Loss, ...]:
    """For a source that replaces parameters of the destination by those that the visitor brings."""
    reason = "a visitor's parameter no longer replaces the destination's of that name: both stay"
    return (Loss("query", reason),) if "?" in destination_url else ()


def password(value: Any) -> SourcePassword | None:
    clear = str(value or "")
    is_bcrypt = re.match(r"\$2[abxy]?\$\d\d\$", clear)
    return SourcePassword("bcrypt" if is_bcrypt else "plain", clear) if clear else None


@lru_cache(maxsize=1000)
def country(value: str) -> str:
    """Return the ISO code of a code or an English name; empty if it is neither."""
    code = value.strip().upper()
    return code if code in COUNTRIES else country_code(value)


async def numbered(
    items: AsyncIterator[SourceItem], *, is_newest_first: bool = False
) -> AsyncIterator[SourceItem]:
    """Number the visits of each link and second from the oldest. Those of a second are together."""
    held: list[SourceVisit] = []
    async for item in items:
        if not isinstance(item, SourceVisit):
            yield item
            continue
        if held and held[0].at != item.at:
            for visit in _numbered(held, is_newest_first):
                yield visit
            held = []
        held.append(item)
    for visit in _numbered(held, is_newest_first):
        yield visit


def _numbered(visits: list[SourceVisit], is_newest_first: bool) -> Iterable[SourceVisit]:
    seen: dict[str, int] = {}
    for visit in reversed(visits) if is_newest_first else visits:
        number = seen[visit.link_id] = seen.get(visit.link_id, -1) + 1
        yield msgspec.structs.replace(visit, number=number)
