"""`/api/click`: the redirect, and with JSON in a POST a click of a page that redirects nobody."""

import re
from typing import Final

from msgspec import MsgspecError
from msgspec.json import Decoder, encode, schema_components

from tracker.clicks.api.click import ClickQuery, redirect_routes
from tracker.clicks.api.click_schema import PASSWORD_FORM, REDIRECT_ANSWERS, SLUG_IN_QUERY
from tracker.clicks.pages.sent import EXAMPLE, PageClick, RecordedClick
from tracker.errors import PayloadTooLarge, Required, TrackerError
from tracker.web.handler import JSON, Content, json_error
from tracker.web.limits import MAX_PAGE_CLICK_BYTES, PREFLIGHT_CACHE_SECONDS
from tracker.web.openapi_parts import constants, json_content, public_answer, public_error
from tracker.web.parameters import parse_body

JSON_TYPES: Final = ("application/json", "text/plain")
"""Pages send text/plain without a preflight. Other types are the form of a protected link."""

EXPOSED: Final = "X-Request-Id, X-Error-Code, X-Error-Reason, X-Error-Field, Retry-After"

_DECODER: Final = Decoder(PageClick)
_VISIBLE: Final = re.compile(r"[!-~]{1,300}")


class PageClickHandler(ClickQuery):
    """The handler of `/api/click`. Pages of any origin may read why a click was refused."""

    @property
    def is_of_page(self) -> bool:
        kind = self.header("Content-Type").partition(";")[0].strip().lower()
        return self.request.method == "POST" and kind in JSON_TYPES

    async def post(self) -> None:
        """Record the click of a page, or take a form. Raises PayloadTooLarge, and as `record`."""
        if not self.is_of_page:
            await self.get()
            return
        if len(body := self.body()) > MAX_PAGE_CLICK_BYTES:
            raise PayloadTooLarge(f"body: at most {MAX_PAGE_CLICK_BYTES} bytes")
        sent = page_click_in(body)
        recorded: RecordedClick = await self.services.pages.record(
            sent, self.header("Origin"), self._visit()
        )
        for name, value in headers_for(self.header("Origin")):
            self.set_header(name, value)
        self.finish_with(recorded_content(recorded))

    async def options(self) -> None:
        """Answer a CORS preflight without a look-up: the click itself is checked."""
        if not self.header("Access-Control-Request-Method"):
            await self.get()
            return
        for name, value in headers_for(self.header("Origin")):
            self.set_header(name, value)
        self.set_header("Access-Control-Allow-Methods", "POST")
        self.set_header("Access-Control-Allow-Headers", "Content-Type")
        self.set_header("Access-Control-Max-Age", str(PREFLIGHT_CACHE_SECONDS))
        self.set_status(204)
        self.finish()

    def finish_error(self, error: TrackerError) -> None:
        if not self.is_of_page:
            if self.request.method == "POST" and isinstance(error, Required):
                error = Required(f"{error}; JSON needs Content-Type {' or '.join(JSON_TYPES)}")
            super().finish_error(error)
            return
        for name, value in headers_for(self.header("Origin")):
            self.set_header(name, value)
        self.finish_with(json_error(error))


def page_click_in(body: bytes) -> PageClick:
    """Return the click in a body. Raises BadRequest."""
    try:
        return _DECODER.decode(body)
    except (MsgspecError, UnicodeDecodeError):
        return parse_body(PageClick, body).value  # slower, and says what is wrong


def recorded_content(recorded: RecordedClick) -> Content:
    return Content(JSON, encode(recorded))


def headers_for(origin: str) -> tuple[tuple[str, str], ...]:
    """Return the CORS headers of each answer to a page. Cookies are never allowed."""
    return (
        *((("Access-Control-Allow-Origin", origin),) if _VISIBLE.fullmatch(origin) else ()),
        ("Access-Control-Expose-Headers", EXPOSED),
        ("Vary", "Origin"),
        ("Cache-Control", "no-store"),
    )


_KINDS, PAGE_SCHEMAS = schema_components(
    [PageClick, RecordedClick], ref_template="#/components/schemas/{name}"
)
_HEADERS = constants(Vary="Origin", Cache_Control="no-store")
_get, _head, _options, _post = redirect_routes(
    "/api/click", PageClickHandler, "ShortLinkByQuery", SLUG_IN_QUERY, REDIRECT_ANSWERS
)
_RECORD = _post._replace(
    operation_id="recordClick",
    summary="Record a click of a page, which redirects nobody; with a form, open a protected link",
    parameters=tuple(one | {"required": False} for one in _post.parameters),
    body={"content": json_content(_KINDS[0], EXAMPLE) | PASSWORD_FORM["content"]},
    answers={
        **_post.answers,
        200: public_answer("The click is durable.", json_content(_KINDS[1]), _HEADERS),
        403: public_error(
            403,
            "The account does not allow the page's origin, or none was sent.",
            "Origin: not on the account's list of origins",
            headers=_HEADERS,
        ),
        413: public_error(413, example=f"body: at most {MAX_PAGE_CLICK_BYTES} bytes"),
    },
)
ENDPOINTS = (_get, _head, _options, _RECORD)
