"""`/c/<slug>` and its like: the handlers between Tornado and `clicks/redirects/redirect`."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qs, unquote

from msgspec.structs import replace

from tracker.clicks.api.click_schema import (
    DOMAIN_PARAMETER,
    OPTIONS_ANSWERS,
    PASSED_ON_PARAMETERS,
    PASSWORD_FORM,
    REDIRECT_ANSWERS,
    SLUG_IN_PATH,
    form_answers,
)
from tracker.clicks.redirects.protection import PASS_SECONDS, PasswordRequired
from tracker.clicks.redirects.redirect import METHODS
from tracker.clicks.redirects.redirection import RedirectResponse
from tracker.clicks.visit import ClientHeaders, Visit, without_stuck_text
from tracker.errors import MethodNotAllowed, NotFound, PayloadTooLarge, TrackerError
from tracker.syntax.accept import prefers
from tracker.web.endpoint import HandledEndpoint
from tracker.web.handler import Content, Handler, json_error
from tracker.web.openapi_parts import TEXT, OpenApiPart, without_content

ANY_PATH = "/{path}"
"""The route of paths of custom domains, in metrics."""

PREFETCH_HEADERS = ("sec-purpose", "purpose", "x-purpose", "x-moz")

_STYLE = """body{font:18px/1.5 sans-serif;margin:20vh auto;max-width:30em}
input,button{font:inherit;padding:.2em .5em}"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>{title}</title>
<style>{style}</style></head><body><h1>{title}</h1><p>{text}</body></html>
"""
# Without an action, a form is sent to its own address.
_FORM = """<form method="post"><label>Password
<input type="password" name="password" autocomplete="off" required autofocus></label>
<button>Open</button></form>"""
_MAX_FORM_BYTES: Final = 2048
"""The longest password fits, even if each of its characters takes twelve bytes of a form."""

_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
# No form-action: Chromium applies it also to the redirect that answers the form.
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; frame-ancestors 'none'"
ERROR_HEADERS = (
    ("Cache-Control", "no-store"),
    ("X-Robots-Tag", "noindex"),
    ("Content-Security-Policy", _POLICY),
    ("Referrer-Policy", "no-referrer"),  # or a form's click would have the link as its referrer
)


class ClickQuery(Handler):
    """The handler of redirects at `/api/click` (`clicks/api/page_click`)."""

    room = "clicks"

    def slug(self) -> str | None:
        """Leave the slug to `clicks/redirects/redirect`, which takes it from the query."""
        return None

    async def get(self) -> None:
        answer = await self._redirection(self._visit())
        self.set_status(answer.status)
        for name, value in answer.headers:
            self.set_header(name, value)
        self.finish()

    head = options = post = get

    def method_error(self) -> TrackerError:
        """Leave out POST, which only protected links take."""
        return MethodNotAllowed(METHODS)

    async def _redirection(self, visit: Visit) -> RedirectResponse:
        answer: RedirectResponse
        try:
            answer = await self._answer(visit)
        except PasswordRequired as required:
            if visit.method != "POST":
                raise
            granted = await self.services.protection.unlock(
                required.link, self._typed(), visit.address
            )
            opened = replace(visit, method="GET", headers=replace(visit.headers, cookies=granted))
            answer = await self._answer(opened)
            self.set_header("Set-Cookie", self._limited(granted))
        # After 307 a browser would send the password on.
        return answer._replace(status=303) if visit.method == "POST" else answer

    async def _answer(self, visit: Visit) -> RedirectResponse:
        answer: RedirectResponse = await self.services.redirect.answer(visit)
        return answer

    def _typed(self) -> str:
        """Return the password in the form; empty without one."""
        body = self.body()
        if len(body) > _MAX_FORM_BYTES:
            raise PayloadTooLarge(f"body: at most {_MAX_FORM_BYTES} bytes")
        return parse_qs(body.decode(errors="replace")).get("password", [""])[0]

    def _limited(self, granted: str) -> str:
        """Return a pass as a cookie that is sent back to this path alone."""
        path = self.request.path.rstrip("/").replace(";", "%3B")
        secure = "; Secure" if self.web.public_url.scheme == "https" else ""
        return f"{granted}; Path={path}; Max-Age={PASS_SECONDS}; HttpOnly; SameSite=Lax{secure}"

    def finish_error(self, error: TrackerError) -> None:
        for name, value in ERROR_HEADERS:
            self.set_header(name, value)
        self.finish_with(error_content(error, self.header("Accept")))

    def _visit(self) -> Visit:
        header = self.header
        cookies = self.request.headers.get_list("Cookie")
        return Visit(
            method=self.request.method or "",
            host=header("Host"),
            slug=self.slug(),
            query=self.request.query,
            address=self.client_address(),
            headers=ClientHeaders.from_headers(
                user_agent=header("User-Agent"),
                referrer=header("Referer"),
                purpose=purpose_of(map(header, PREFETCH_HEADERS)),
                edge_country=self.edge_country(),
                # A form asks for a pass, whatever others there are.
                cookies="" if self.request.method == "POST" else ";".join(cookies),
                languages=header("Accept-Language"),
            ),
        )


class ClickSlug(ClickQuery):
    """The handler of `/c/<slug>`."""

    def slug(self) -> str | None:
        return unquote(self._after_prefix())

    async def _redirection(self, visit: Visit) -> RedirectResponse:
        try:
            return await super()._redirection(visit)
        except NotFound:
            if (found := without_stuck_text(self._after_prefix(), visit.query)) is None:
                raise
        return await super()._redirection(replace(visit, slug=found[0], query=found[1]))

    def _after_prefix(self) -> str:
        return self.request.path.removeprefix("/c/")


class ClickPath(ClickQuery):
    """The handler of every path of a proven custom domain but those that are the service's."""

    async def _answer(self, visit: Visit) -> RedirectResponse:
        answer: RedirectResponse = await self.services.paths.answer(visit)
        return answer

    def _visit(self) -> Visit:
        return replace(super()._visit(), path=self.request.path[1:])


def purpose_of(values: Iterable[str]) -> str:
    """Join the values of the prefetch headers."""
    return " ".join(filter(None, values))


def error_content(error: TrackerError, accept: str) -> Content:
    """Return a page if `accept` prefers one, else JSON."""
    if not prefers(accept, "text/html", "application/json"):
        return json_error(error)
    return Content("text/html; charset=utf-8", _page(error).encode())


def _page(error: TrackerError) -> str:
    """Render an error page, which repeats nothing of the request."""
    title, text = "Link not opened", "This address is not complete."
    if isinstance(error, PasswordRequired):
        title, text = "This link is protected", error.hint + _FORM
    elif error.status == 429 or error.status >= 500:
        text = "Please try again in a moment."
    elif error.status == 404:
        title, text = "Link not found", "This link does not exist or has ended."
    return _PAGE.format(title=title, text=text, style=_STYLE)


def redirect_routes(
    path: str,
    handler: type[ClickQuery],
    name: str,
    slug: OpenApiPart,
    answers: Mapping[int, OpenApiPart],
) -> tuple[HandledEndpoint, ...]:
    """List the endpoints of a path that opens short links. `name` is part of the operation ids."""
    get = HandledEndpoint(
        "GET",
        path,
        handler,
        f"open{name}",
        "Clicks",
        "Record a click and redirect to the destination",
        answers,
        (slug, DOMAIN_PARAMETER, PASSED_ON_PARAMETERS),
    )
    head = get._replace(
        method="HEAD",
        operation_id=f"peekAt{name}",
        summary="The same redirect; nothing is recorded",
        answers=without_content(answers),
    )
    options = get._replace(
        method="OPTIONS",
        operation_id=f"get{name}Options",
        summary="The methods of a short link",
        answers=OPTIONS_ANSWERS,
        parameters=(slug | {"schema": TEXT},) if slug["in"] == "path" else (),
    )
    post = get._replace(
        method="POST",
        operation_id=f"unlock{name}",
        summary="Open a protected link with its password; others answer 405",
        answers=form_answers(answers),
        body=PASSWORD_FORM,
    )
    return get, head, options, post


ENDPOINTS = redirect_routes(
    "/c/{slug}",
    ClickSlug,
    "ShortLink",
    SLUG_IN_PATH,
    {status: answer for status, answer in REDIRECT_ANSWERS.items() if status != 400},
)
