"""Fields of sources: times, numbers, URLs and texts as each writes them, and refused rows. Pure."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from tracker.clicks.country import COUNTRIES
from tracker.errors import BadRequest
from tracker.imports.item import (
    Loss,
    RefusedRow,
    SourceItem,
    SourceLink,
    SourcePassword,
    SourceVisit,
)
from tracker.syntax.text_pieces import BrokenFile
from tracker.syntax.url import check_url
from tracker.visitor_dimensions import country_code
from tracker.web.schema import in_utc

Record = Mapping[str, Any]
Read = Callable[[int, Any], Iterable[SourceItem]]
"""Makes items of a record and its number. Raises BadRequest if it is refused."""

NO_FRAMES: Final = "visitors are redirected, and see the destination's address"
NO_PREVIEWS: Final = "previews show the destination"

MAX_REFUSED: Final = 1_000_000
"""Rows of a file that are stored as refused."""

MAX_LINKS_OF_A_SECOND: Final = 10_000
"""Their visits are counted to be numbered."""

_ROWS_AT_ONCE: Final = 20
"""Rows between which others go on: one with many rules takes 1 ms."""

_NOT_SHOWN: Final = {"password", "ip", "ip_address"}
_MOST_SECONDS: Final = 100_000_000_000
"""Unix times beyond it are in milliseconds."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]+")
_SHORT_URL: Final = re.compile(r"(?:https?://)?([^/?#]*)/?([^?#]*)", re.IGNORECASE)


async def items_of(rows: AsyncIterator[list[Any]], read: Read) -> AsyncIterator[SourceItem]:
    """Yield what `read` makes of each row, and its number; of a bad row that it is refused.

    A BrokenFile, or too many refused rows, are a last refused row: the rest is not read.
    Raises BadRequest if an answer of an API cannot be read.
    """
    number = refusals = 0
    try:
        async for batch in rows:
            await asyncio.sleep(0)
            for row in batch:
                number += 1
                if number % _ROWS_AT_ONCE == 0:
                    await asyncio.sleep(0)
                for item in items_of_row(read, number, row):
                    refusals += type(item) is RefusedRow
                    yield item
            if refusals > MAX_REFUSED:
                yield refused(
                    number, f"file: more than {MAX_REFUSED} are refused; the rest is left"
                )
                return
    except BrokenFile as error:
        yield refused(number + 1, error.message)
    except (AttributeError, KeyError, TypeError) as error:
        raise BadRequest("api: an answer is not as this source writes it") from error


def items_of_row(read: Read, number: int, row: Any) -> list[SourceItem]:
    try:
        return list(read(number, row))
    except BadRequest as error:
        return [refused(number, error.message, row)]
    except (AttributeError, KeyError, TypeError, ValueError):
        return [refused(number, "row: is not as this source writes it", row)]


def refused(number: int, message: str, row: Any = None) -> RefusedRow:
    field, _, reason = message.partition(": ")
    shown = row if isinstance(row, Mapping) else getattr(row, "values", {})
    texts = [one for name, one in shown.items() if isinstance(one, str) and name not in _NOT_SHOWN]
    return RefusedRow(
        row=number, field=field, reason=reason, text=", ".join(filter(None, texts))[:500]
    )


def link(number: int, record: Record, names: str, **known: Any) -> SourceLink:
    """Make a link of what is `known`, and of fields that `names` lists as `field:name in record`.

    The id of a link at a source that gives none is its domain and path. Raises BadRequest if a
    field breaks a rule.
    """
    for pair in names.split():
        field, _, name = pair.partition(":")
        known[field] = CONVERTERS[field](name or field, record.get(name or field))
    domain_name = known.setdefault("domain_name", None)
    known.setdefault("id", link_id(domain_name, known["path"]))
    if not all(isinstance(known[name], str) for name in ("id", "path")):
        raise BadRequest("path: must be a text")
    return SourceLink(row=number, **known)


def link_id(domain_name: str | None, path: str) -> str:
    return f"{domain_name or ''}/{path}"


def visit(
    link_id: str, number: int, record: Record, names: str, is_bot: bool = False
) -> SourceVisit:
    """Make a visit. `names` are those of its time, referrer, user agent and country.

    Raises BadRequest if it has no time.
    """
    time, *others = names.split()
    at = moment(time, record.get(time))
    if at is None:
        raise BadRequest(f"{time}: is required")
    referrer, agent, country = (str(record.get(name) or "") for name in others)
    return SourceVisit(
        link_id=link_id,
        at=at,
        number=number,
        referrer="" if referrer in ("direct", "Direct") else referrer,
        user_agent=agent,
        country=_country(country),
        is_bot=is_bot,
    )


def moment(field: str, value: Any, zone: tzinfo = UTC) -> datetime | None:
    """Return a time in ISO 8601, `zone` where it has none, or in Unix seconds or milliseconds.

    Raises BadRequest if it is neither.
    """
    text = str("" if value is None else value).strip()
    if text in ("", "0", "0000-00-00 00:00:00"):
        return None
    try:
        if text.replace(".", "", 1).isdecimal():
            seconds = float(text)
            return datetime.fromtimestamp(seconds / (1000 if seconds > _MOST_SECONDS else 1), UTC)
        at = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        raise BadRequest(f"{field}: must be a time in ISO 8601 or Unix time") from None
    return in_utc(field, at if at.tzinfo else at.replace(tzinfo=zone))


def _count(field: str, value: Any) -> int | None:
    text = str("" if value is None else value).strip()
    if not re.fullmatch(r"\d{0,15}", text, re.ASCII):
        raise BadRequest(f"{field}: must be a whole number from 0")
    return int(text) if text else None


def is_true(value: Any) -> bool:
    return str(value).strip().lower() in ("1", "true", "t", "yes", "y")


def _url(field: str, value: Any) -> str:
    url = str(value or "").strip()
    check_url(field, url)
    return url


def _line(value: Any) -> str | None:
    return " ".join((_text("", value) or "").split()) or None


def _text(_: str, value: Any) -> str | None:
    return _CONTROL.sub(" ", str(value or "")).strip() or None


def _tags(_: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split("|" if "|" in value else ",")
    names = (tag["name"] if isinstance(tag, Mapping) else tag for tag in value or ())
    return tuple(dict.fromkeys(filter(None, map(_line, names))))


def password(_: str, value: Any) -> SourcePassword | None:
    if value is True:
        return SourcePassword("unknown")
    clear = str(value or "")
    is_bcrypt = re.match(r"\$2[abxy]?\$\d\d\$", clear)
    return SourcePassword("bcrypt" if is_bcrypt else "plain", clear) if clear else None


CONVERTERS: Final[Mapping[str, Callable[[str, Any], Any]]] = {
    **dict.fromkeys(("created_at", "starts_at", "expires_at"), moment),
    **dict.fromkeys(("clicks", "max_clicks"), _count),
    **dict.fromkeys(("internal_name", "external_id"), lambda _, value: _line(value)),
    "archived": lambda _, value: is_true(value),
    "destination_url": _url,
    "expired_url": lambda field, value: _url(field, value) if value else None,
    "notes": _text,
    "password": password,
    "tags": _tags,
}


def short_url(value: str) -> tuple[str | None, str]:
    """Return the host of a short URL, and its path decoded, without `/` at its ends."""
    host, path = _SHORT_URL.match(value.strip()).groups()  # type: ignore[union-attr]
    if not path and "." not in host:
        host, path = "", host
    return host.lower() or None, without_punycode(unquote(path).removesuffix("/"))


def without_punycode(path: str) -> str:
    """Return a path as it is printed: some services keep other letters as hostnames have them."""
    try:
        # Decoding takes time squared.
        return re.sub(
            r"xn--([a-z0-9-]{1,250})(?![a-z0-9-])",
            lambda one: one[1].encode().decode("punycode"),
            path,
        )
    except UnicodeError:
        return path


def losses(record: Record, names: Mapping[str, str]) -> tuple[Loss, ...]:
    """Return what a record has of the fields that no link can hold, listed below their reason."""
    pairs = ((name, reason) for reason, listed in names.items() for name in listed.split())
    return tuple(Loss(name, reason) for name, reason in pairs if record.get(name))


def query_loss(destination_url: str) -> tuple[Loss, ...]:
    """For a source that replaces parameters of the destination by those that the visitor brings."""
    reason = "a visitor's parameter no longer replaces the destination's of that name: both stay"
    return (Loss("query", reason),) if "?" in destination_url else ()


@lru_cache(maxsize=1000)
def _country(text: str) -> str:
    """Return the ISO code of a code or an English name; empty if it is neither."""
    code = text.strip().upper()
    return code if code in COUNTRIES else country_code(text)


async def numbered(items: AsyncIterator[SourceItem]) -> AsyncIterator[SourceItem]:
    """Number the visits of each link and second. Those of a second must stand together.

    Raises BadRequest if a second has visits of too many links.
    """
    second, seen = None, Counter[str]()
    async for item in items:
        if isinstance(item, SourceVisit):
            at = item.at.replace(microsecond=0)
            if at != second:
                second, seen = at, Counter[str]()
            number = seen[item.link_id]
            seen[item.link_id] += 1
            if len(seen) > MAX_LINKS_OF_A_SECOND:
                raise BadRequest(f"date: more than {MAX_LINKS_OF_A_SECOND} links in one second")
            item = msgspec.structs.replace(item, number=number)
        yield item
