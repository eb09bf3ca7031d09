"""The redirects that visitors get: the usual one, and those of links with options. Pure."""

from collections.abc import Callable
from typing import Final, NamedTuple

from tracker.errors import ErrorCode, NotFound
from tracker.links.destination import location_of
from tracker.links.options import RedirectOptions


class RedirectResponse(NamedTuple):
    """A response without a body."""

    status: int
    headers: tuple[tuple[str, str], ...]


Answer = str | RedirectResponse
"""The Location of a usual redirect, or another response."""

_FIELDS: Final = (("Cache-Control", "no-store"), ("X-Robots-Tag", "noindex"))
_NO_BODY: Final = ("Content-Length", "0")
_NO_REFERRER: Final = ("Referrer-Policy", "no-referrer")


def usual(location: str) -> RedirectResponse:
    return _redirection(302, location)


def redirection(options: RedirectOptions, location: str) -> Answer:
    """Return the redirect of a link with options: the Location alone if that is usual."""
    if options.status == 302 and not options.no_referrer:
        return location
    added = (_NO_REFERRER,) if options.no_referrer else ()
    return _redirection(options.status, location, *added)


def closed(
    options: RedirectOptions,
    at: int,
    is_used_up: bool = False,
    of_domain: Callable[[], RedirectResponse | None] = lambda: None,
) -> RedirectResponse | None:
    """Return the redirect of a link outside its window or after its last click; None before.

    Raises NotFound if neither the link nor its domain has a URL for that.
    """
    try:
        check_open(options, at, is_used_up)
    except NotFound:
        if options.expired_url is not None:
            return usual(location_of(options.expired_url)[0])
        if (found := of_domain()) is not None:
            return found
        raise
    return None


def check_open(options: RedirectOptions, at: int, is_used_up: bool) -> None:
    """Raises NotFound outside the link's window, or after its last click."""
    if is_used_up or options.has_expired(at):
        raise NotFound("short link: has expired", code=ErrorCode.LINK_EXPIRED)
    if not options.has_started(at):
        raise NotFound("short link: has not started", code=ErrorCode.LINK_NOT_STARTED)


def _redirection(status: int, location: str, *added: tuple[str, str]) -> RedirectResponse:
    return RedirectResponse(status, (("Location", location), *_FIELDS, *added, _NO_BODY))
