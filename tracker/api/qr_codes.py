"""`/api/short-links/{id}/qr.svg` and `qr.png`: the QR code of a short link's URL."""

from functools import partial
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tracker.api.endpoint import Answer, Call, Endpoint, MediaType, Nothing
from tracker.api.handler import Content
from tracker.api.short_links import find_own, short_url
from tracker.links.qr_code import (
    DEFAULT_BORDER,
    DEFAULT_SCALE,
    MAX_BORDER,
    MAX_SCALE,
    ImageKind,
)

_MEDIA_TYPES: Final[dict[ImageKind, str]] = {"svg": "image/svg+xml", "png": "image/png"}

# Nothing runs or is loaded where an image is opened as a page. Browsers style such pages inline.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class QrQuery(msgspec.Struct, kw_only=True):
    """The size of a QR code."""

    scale: Annotated[int, Meta(ge=1, le=MAX_SCALE, description="pixels of a module")] = (
        DEFAULT_SCALE
    )
    border: Annotated[
        int, Meta(ge=0, le=MAX_BORDER, description="white border in modules; scanners expect 4")
    ] = DEFAULT_BORDER


async def show(call: Call[QrQuery, Nothing], kind: ImageKind) -> Answer:
    """Return the QR code of a link's `short_url`, also if the link is archived.

    Raises NotFound or Forbidden if the account has no such link, RateLimited or Unavailable if too
    many codes are being made.
    """
    services, query, link = call.services, call.query, await find_own(call)
    with services.qr_limiter.acquire(call.account_id):
        url = short_url(services, link)
        image = await services.qr_codes.image(url, kind, query.scale, query.border)
    headers = {
        "Content-Disposition": f'inline; filename="{link.slug}.{kind}"',
        "Content-Security-Policy": _POLICY,
    }
    return Answer(Content(_MEDIA_TYPES[kind], image), headers)


def _endpoint(kind: ImageKind) -> Endpoint:
    return Endpoint(
        "GET",
        f"/api/short-links/{{id}}/qr.{kind}",
        "links:read",
        partial(show, kind=kind),
        f"Show the QR code of a short link as {kind.upper()}",
        MediaType(_MEDIA_TYPES[kind]),
        query=QrQuery,
        operation_id=f"getShortLinkQr{kind.capitalize()}",
    )


ENDPOINTS = (_endpoint("svg"), _endpoint("png"))
