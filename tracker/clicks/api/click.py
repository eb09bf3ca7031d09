"""`/c/<slug>` and `/api/click`: the handlers between Tornado and `clicks/redirect`."""

from collections.abc import Iterable, Mapping
from urllib.parse import unquote

from msgspec.structs import replace

from tracker.clicks.api.click_schema import (
    DOMAIN_PARAMETER,
    OPTIONS_ANSWERS,
    PASSED_ON_PARAMETERS,
    REDIRECT_ANSWERS,
    SLUG_IN_PATH,
    SLUG_IN_QUERY,
)
from tracker.clicks.redirect import ClientHeaders, Visit
from tracker.clicks.redirection import RedirectResponse
from tracker.clicks.stuck_text import without_stuck_text
from tracker.errors import NotFound, TrackerError
from tracker.syntax.accept import prefers
from tracker.web.endpoint import HandledEndpoint
from tracker.web.handler import Content, Handler, json_error
from tracker.web.openapi_parts import TEXT, OpenApiPart, without_content

ANY_PATH = "/{path}"
"""The route of paths of custom domains, in metrics."""

ERROR_HEADERS = (("Cache-Control", "no-store"), ("X-Robots-Tag", "noindex"))
PREFETCH_HEADERS = ("sec-purpose", "purpose", "x-purpose", "x-moz")

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>{title}</title>
<style>body{{font:18px/1.5 sans-serif;margin:20vh auto;max-width:30em}}</style>
</head><body><h1>{title}</h1><p>{text}</p></body></html>
"""


class ClickQuery(Handler):
    """The handler of `/api/click`."""

    room = "clicks"

    def slug(self) -> str | None:
        """Leave the slug to `clicks/redirect`, which takes it from the query."""
        return None

    async def get(self) -> None:
        answer = await self._redirection(self._visit())
        self.set_status(answer.status)
        for name, value in answer.headers:
            self.set_header(name, value)
        self.finish()

    head = options = get

    async def _redirection(self, visit: Visit) -> RedirectResponse:
        answer: RedirectResponse = await self.services.redirect.answer(visit)
        return answer

    def finish_error(self, error: TrackerError) -> None:
        for name, value in ERROR_HEADERS:
            self.set_header(name, value)
        self.finish_with(error_content(error, self.header("Accept")))

    def _visit(self) -> Visit:
        header = self.header
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

    async def _redirection(self, visit: Visit) -> RedirectResponse:
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
    return Content("text/html; charset=utf-8", _page(error.status).encode())


def _page(status: int) -> str:
    """Render an error page, which repeats nothing of the request."""
    if status == 429 or status >= 500:
        return _PAGE.format(title="Link not opened", text="Please try again in a moment.")
    if status == 404:
        return _PAGE.format(title="Link not found", text="This link does not exist or has ended.")
    return _PAGE.format(title="Link not opened", text="This address is not complete.")


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
        operation_id=f"optionsOf{name}",
        summary="The methods of a short link",
        answers=OPTIONS_ANSWERS,
        parameters=(slug | {"schema": TEXT},) if slug["in"] == "path" else (),
    )
    return get, head, options


ENDPOINTS = (
    *redirect_routes(
        "/c/{slug}",
        ClickSlug,
        "ShortLink",
        SLUG_IN_PATH,
        {status: answer for status, answer in REDIRECT_ANSWERS.items() if status != 400},
    ),
    *redirect_routes("/api/click", ClickQuery, "Click", SLUG_IN_QUERY, REDIRECT_ANSWERS),
)
