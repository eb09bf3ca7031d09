"""The cut-over check: whether each printed path answers here as it does at its source.

A path is asked of the redirect itself, as HEAD, so nothing is recorded. The answer of the source
follows from its own data. Redirects are equal if their destinations are, whatever their status.
"""

from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from tracker.clicks.redirect import ClientHeaders, Redirect, Visit
from tracker.errors import BadRequest, TrackerError, Unavailable
from tracker.imports.item import SourceLink
from tracker.links.destination import Destination

_HEADERS: Final = ClientHeaders.from_headers("", "", "", "")
_NO_MACROS: Final = ("(?!)",)


class Answer(NamedTuple):
    """The answer to a path: 302 for any redirect, and the reason if it is an error of ours."""

    status: int
    location: str = ""
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.status} {self.location}".rstrip()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A printed path that does not answer as at its source. `row` is its link's number there."""

    row: int
    domain_name: str
    path: str
    expected: str
    answered: str
    reason: str


async def differences(
    redirect: Redirect, host: str, link: SourceLink, at: datetime
) -> list[Difference]:
    """Ask the paths of a link. Raises Unavailable if no store can find it."""
    expected = answer_of_source(link, at)
    found = []
    for path in (link.path, *link.aliases):
        answered = await _ask(redirect, host, path)
        if answered[:2] != expected[:2]:
            found.append(
                Difference(
                    row=link.row,
                    domain_name=host,
                    path=path,
                    expected=str(expected),
                    answered=str(answered),
                    reason=answered.reason or _reason(expected, answered),
                )
            )
    return found


def answer_of_source(link: SourceLink, at: datetime) -> Answer:
    """Return what the source answers by its own data. Archived links go on working there."""
    if not link.active:
        return Answer(404)
    is_used_up = link.max_clicks is not None and (link.clicks or 0) >= link.max_clicks
    if (
        is_used_up
        or (link.starts_at is not None and at < link.starts_at)
        or (link.expires_at is not None and at >= link.expires_at)
    ):
        return Answer(404) if link.expired_url is None else Answer(302, _normal(link.expired_url))
    if link.password is not None:
        return Answer(401)
    return Answer(302, _normal(link.destination_url))


async def _ask(redirect: Redirect, host: str, path: str) -> Answer:
    visit = Visit("HEAD", host, None, query="", address="", headers=_HEADERS, path=quote(path))
    try:
        response = await redirect.answer(visit)
    except Unavailable:
        raise
    except TrackerError as error:
        return Answer(error.status, reason=error.message)
    location = dict(response.headers).get("Location", "")
    return Answer(302, _normal(location)) if location else Answer(response.status)


def _reason(expected: Answer, answered: Answer) -> str:
    if answered.status != 302:
        return "the source redirects"
    return "another destination" if expected.status == 302 else "the source does not redirect"


@lru_cache(maxsize=1000)
def _normal(url: str) -> str:
    """Return a URL as redirects write it, without its click id."""
    try:
        return Destination(url, _NO_MACROS).location("", None, {})
    except BadRequest:  # such a link was refused
        return url
