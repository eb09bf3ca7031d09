"""Types that bodies, queries and answers share; the description of each is in `/openapi.json`."""

from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

import msgspec
from msgspec import Meta, field

from tracker.errors import BadRequest

AccountId = Annotated[UUID, Meta(description="account; also spelled account_id / accountId")]
Timestamp = Annotated[
    str,
    Meta(
        description="ISO 8601 UTC with milliseconds",
        extra_json_schema={"format": "date-time"},
        examples=["2026-01-31T09:30:00.000Z"],
    ),
]
Text = Annotated[str, Meta(extra_json_schema={"minLength": 1, "maxLength": 255})]

Row = TypeVar("Row")


class Pagination(msgspec.Struct, kw_only=True):
    page: int
    page_size: int = field(name="pageSize")
    total_rows: int = field(name="totalRows")
    total_pages: int = field(name="totalPages")


class Page(msgspec.Struct, Generic[Row], kw_only=True):
    rows: list[Row]
    pagination: Pagination


class Paged(msgspec.Struct, kw_only=True):
    """The part of a request that names a page."""

    page: Annotated[int, Meta(ge=1, le=10**9, description="1-based")] = 1
    page_size: Annotated[int, Meta(ge=1, le=100, description="rows on a page")] = field(
        default=25, name="pageSize"
    )

    def page_of(self, rows: list[Any], total: int) -> Page[Any]:
        pagination = Pagination(
            page=self.page,
            page_size=self.page_size,
            total_rows=total,
            total_pages=-(-total // self.page_size),
        )
        return Page(rows=rows, pagination=pagination)


class AccountPage(Paged, kw_only=True):
    """The query of a list."""

    account_id: AccountId = field(name="accountId")


class Done(msgspec.Struct, kw_only=True):
    """The answer where nothing is left to show."""

    success: bool = True


def trimmed(name: str, text: str, most: int = 255) -> str:
    """`text` without outer white space. Raises BadRequest naming the field and the rule."""
    text = text.strip()
    if not 1 <= len(text) <= most or not text.isprintable():
        raise BadRequest(f"{name}: 1 to {most} printable characters")
    return text
