"""`/api/short-links/{id}/qr.svg` and `qr.png`: the QR code of a short link's URL."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tracker.errors import BadRequest
from tracker.links.api.short_link_record import short_url
from tracker.links.api.short_links import find_own, proven_domains
from tracker.links.options import QR_PAIR
from tracker.links.qr_code import (
    DEFAULT_BORDER,
    DEFAULT_SCALE,
    MAX_BORDER,
    MAX_SCALE,
    MIN_CONTRAST,
    ErrorCorrection,
    ImageFormat,
    QrStyle,
    contrast_to_white,
)
from tracker.links.services import LinkCall
from tracker.web.call import AnswerWithHeaders, Nothing
from tracker.web.endpoint import Endpoints, MediaType
from tracker.web.handler import Content

endpoint = Endpoints("links")

_MEDIA_TYPES: Final[dict[ImageFormat, str]] = {"svg": "image/svg+xml", "png": "image/png"}

# Nothing runs or is loaded where an image is opened as a page. Browsers style such pages inline.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class QrQuery(msgspec.Struct, kw_only=True):
    """The size and the colour of a QR code."""

    scale: Annotated[int, Meta(ge=1, le=MAX_SCALE, description="pixels of a module")] = (
        DEFAULT_SCALE
    )
    border: Annotated[
        int, Meta(ge=0, le=MAX_BORDER, description="white border in modules; scanners expect 4")
    ] = DEFAULT_BORDER
    color: Annotated[
        str,
        Meta(
            pattern=r"^[0-9A-Fa-f]{6}$",
            description=f"of the modules, on white; its contrast must be {MIN_CONTRAST} or more",
        ),
    ] = "000000"
    correction: Annotated[
        ErrorCorrection,
        Meta(description="readable while 7, 15, 25 or 30 % of it is covered"),
    ] = "m"

    def __post_init__(self) -> None:
        if contrast_to_white(self.color) < MIN_CONTRAST:
            raise BadRequest("color: too light on white for scanners; choose a darker one")


@endpoint(
    "GET",
    "/api/short-links/{id}/qr.svg",
    "links:read",
    answer=MediaType(_MEDIA_TYPES["svg"]),
    operation_id="getShortLinkQrSvg",
    limited=True,
)
async def show_svg(call: LinkCall[QrQuery, Nothing]) -> AnswerWithHeaders[Content]:
    """Show the QR code of a short link as SVG."""
    return await _show(call, "svg")


@endpoint(
    "GET",
    "/api/short-links/{id}/qr.png",
    "links:read",
    answer=MediaType(_MEDIA_TYPES["png"]),
    operation_id="getShortLinkQrPng",
    limited=True,
)
async def show_png(call: LinkCall[QrQuery, Nothing]) -> AnswerWithHeaders[Content]:
    """Show the QR code of a short link as PNG."""
    return await _show(call, "png")


async def _show(
    call: LinkCall[QrQuery, Nothing], image_format: ImageFormat
) -> AnswerWithHeaders[Content]:
    """Return the QR code of a link. Raises RateLimited or Unavailable under load."""
    services, query = call.services, call.query
    link = await find_own(call, services.links)
    with services.qr_limiter.acquire(call.account_id):
        url = short_url(services.public_url, link, await proven_domains(services, [link]))
        style = QrStyle(query.scale, query.border, query.color, query.correction)
        image = await services.qr_codes.image(f"{url}?{QR_PAIR}", image_format, style)
    headers = {
        "Content-Disposition": f'inline; filename="{link.slug}.{image_format}"',
        "Content-Security-Policy": _POLICY,
    }
    return AnswerWithHeaders(Content(_MEDIA_TYPES[image_format], image), headers)
