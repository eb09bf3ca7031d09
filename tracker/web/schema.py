"""Types that bodies, queries and answers share. `/openapi.json` describes them."""

import re
from datetime import UTC, date, datetime
from typing import Annotated, Any, Final, Generic, TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from tracker.clock import now
from tracker.errors import BadRequest
from tracker.ids import EXAMPLE_ID
from tracker.syntax.invisible import stripped
from tracker.web.limits import (
    DEFAULT_PAGE_SIZE,
    MAX_PAGE,
    MAX_PAGE_SIZE,
    MAX_TEXT_CHARACTERS,
    MAX_TOKEN_CHARACTERS,
)

EXAMPLE_ACCOUNT: Final = EXAMPLE_ID

AccountId = Annotated[
    UUID,
    Meta(
        description="the account of the key; accountId and account_id are both accepted",
        examples=[EXAMPLE_ACCOUNT],
    ),
]
Timestamp = Annotated[
    str,
    Meta(
        description="ISO 8601 UTC with milliseconds",
        extra_json_schema={"format": "date-time"},
        examples=["2026-01-31T09:30:00.000Z"],
    ),
]
Expiry = Annotated[
    datetime, Meta(tz=True, description="null: never", examples=["2099-01-31T09:30:00.000Z"])
]
MakerExpiry = Annotated[
    Expiry,
    Meta(
        description="null: never; with an API key that expires: when the key does, which is also "
        "the latest"
    ),
]
"""An expiry no later than the expiry of the key that sets it."""
Day = Annotated[str, Meta(extra_json_schema={"format": "date", "pattern": r"^\d{4}-\d{2}-\d{2}$"})]
TimeZone = Annotated[
    str,
    Meta(description="IANA name of the zone whose days are counted", examples=["Europe/Berlin"]),
]
Text = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": MAX_TEXT_CHARACTERS})]

Token = Annotated[
    str, Meta(max_length=MAX_TOKEN_CHARACTERS, description="the link's part after the #")
]
"""The secret of a link that works once, or of a shared report."""

Row = TypeVar("Row")


class Pagination(msgspec.Struct, kw_only=True):
    """The position of a page among all pages."""

    page: int
    page_size: int = field(name="pageSize")
    total_rows: int = field(name="totalRows")
    total_pages: int = field(name="totalPages")
    total_is_exact: (
        Annotated[
            bool,
            Meta(description="false: there are more rows than totalRows. Left out if it is true"),
        ]
        | UnsetType
    ) = field(default=UNSET, name="totalIsExact")


class Page(msgspec.Struct, Generic[Row], kw_only=True):
    """One page of a list."""

    rows: list[Row]
    pagination: Pagination


PageNumber = Annotated[int, Meta(ge=1, le=MAX_PAGE, description="1-based")]
PageSize = Annotated[int, Meta(ge=1, le=MAX_PAGE_SIZE, description="rows on a page")]


class Paged(msgspec.Struct, kw_only=True):
    """The part of a request that names a page."""

    page: PageNumber = 1
    page_size: PageSize = field(default=DEFAULT_PAGE_SIZE, name="pageSize")

    def page_of(self, rows: list[Any], total: int) -> Page[Any]:
        """Return `rows` as the requested page of `total` rows."""
        return Page(rows=rows, pagination=pagination_of(self.page, self.page_size, total))


def pagination_of(page: int, page_size: int, total: int, total_is_exact: bool = True) -> Pagination:
    return Pagination(
        page=page,
        page_size=page_size,
        total_rows=total,
        total_pages=-(-total // page_size),
        total_is_exact=UNSET if total_is_exact else False,
    )


class AccountPage(Paged, kw_only=True):
    """The query of a list."""

    account_id: AccountId = field(name="accountId")


def in_utc(name: str, moment: datetime) -> datetime:
    """Return a time in UTC. Raises BadRequest, naming the field, beyond the years that exist."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise BadRequest(f"{name}: must be in the years 1 to 9999 of UTC") from None


def in_the_future(expires_at: datetime) -> datetime:
    """Return a time in UTC. Raises BadRequest if it is past, or beyond the years that exist."""
    moment = in_utc("expires_at", expires_at)
    if moment <= now():
        raise BadRequest("expires_at: must be in the future")
    return moment


def sent_fields(body: msgspec.Struct) -> dict[str, Any]:
    """Return the fields of `body` that were sent, by name."""
    fields = msgspec.structs.asdict(body)
    return {name: value for name, value in fields.items() if value is not UNSET}


class Done(msgspec.Struct, kw_only=True):
    """The answer of an operation that has nothing to return."""

    success: bool = True


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def parse_day(name: str, text: str) -> date:
    """Return the date in `text`. Raises ValueError, which names the field, if it is none."""
    try:
        if _DATE.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:  # such as 2026-02-30
        pass
    raise ValueError(f"{name}: must be a date such as 2026-01-31")


# Not str.isprintable: it refuses the joiners of Persian and of emoji.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


FilterText = Annotated[str, Meta(max_length=MAX_TEXT_CHARACTERS)]
"""A text to filter by, which may be empty."""


def trimmed(name: str, text: str, limit: int = MAX_TEXT_CHARACTERS) -> str:
    """Return `text` without white space and invisible characters at its ends.

    Raises BadRequest, naming the field, if it is empty, too long or has control characters.
    """
    text = stripped(text)
    if not 1 <= len(text) <= limit or _CONTROL.search(text):
        raise BadRequest(f"{name}: 1 to {limit} characters, no control characters")
    return text


class AccountQuery(msgspec.Struct, kw_only=True):
    """The account to show."""

    account_id: AccountId = field(name="accountId")
