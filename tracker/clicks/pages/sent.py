"""What a page says of a click. Pure."""

import re
from typing import Annotated, Final, Literal
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from tracker.clicks.visit import MAX_REFERRER_CHARACTERS, Visit
from tracker.errors import BadRequest, Required
from tracker.links.options import CLICK_ID

Consent = Literal["granted", "denied"]

EXAMPLE: Final = {"slug": "spring", "url": "https://shop.example/?utm_source=ads"}

_PAGE: Final = re.compile(
    r"https?://[^/?#\s]++[^?#\s]*+(?:\?([^#\s]*+))?(?:#.*)?", re.ASCII | re.IGNORECASE
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")


class RecordedClick(Struct, frozen=True):
    """A click that is durable."""

    click_id: UUID
    is_new: Annotated[bool, Meta(description="false: the visitor's of the last half hour")]


class PageClick(Struct, forbid_unknown_fields=True, kw_only=True):
    """A click to record: `slug` or `link_id` is required."""

    slug: Annotated[str, Meta(description="slug of the link")] | UnsetType = UNSET
    link_id: Annotated[UUID, Meta(description="the link, in place of slug")] | UnsetType = UNSET
    domain: (
        Annotated[str, Meta(description="custom domain of the slug; default: the default domain")]
        | UnsetType
    ) = UNSET
    url: Annotated[
        str,
        Meta(description="address of the page; its query is the click's"),
    ]
    referrer: Annotated[str, Meta(description="`document.referrer`")] | UnsetType = UNSET
    click_id: Annotated[UUID, Meta(description="an earlier click that led here")] | UnsetType = (
        UNSET
    )
    consent: Annotated[Consent, Meta(description="kept with the click")] | UnsetType = UNSET

    def __post_init__(self) -> None:
        if (self.slug is UNSET) == (self.link_id is UNSET):
            raise Required("slug or link_id: one of both is required")
        if self.domain and self.link_id:
            raise BadRequest("domain: not with link_id")
        if self.referrer and _CONTROL.search(self.referrer):
            raise BadRequest("referrer: no control characters")
        self.query()

    def query(self) -> str:
        """Return the click's query. Raises BadRequest if `url` is no address of a page."""
        found = _PAGE.fullmatch(self.url)
        if found is None or _CONTROL.search(self.url):
            raise BadRequest("url: must be an absolute http or https URL without white space")
        query = _as_sent(found[1] or "")
        return f"{CLICK_ID}={self.click_id}&{query}" if self.click_id else query

    def visit(self, request: Visit, slug: str) -> Visit:
        """Return the visit that the page stands for, from the request that reports it."""
        referrer = _as_sent(self.referrer or "")[:MAX_REFERRER_CHARACTERS]
        headers = replace(request.headers, referrer=referrer, cookies="")
        return replace(request, method="GET", slug=slug, query=self.query(), headers=headers)


def _as_sent(text: str) -> str:
    """Return a text of JSON as headers have it: one character for each byte."""
    return text if text.isascii() else text.encode().decode("latin-1")
