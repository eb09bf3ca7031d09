"""A visit: a request for a short link, before anything is looked up. Pure."""

import re
from typing import Final, Self
from urllib.parse import unquote

import msgspec

from tracker.clicks.bots import MAX_USER_AGENT_CHARACTERS
from tracker.ids import SLUG

MAX_REFERRER_CHARACTERS: Final = 2048
MAX_QUERY_CHARACTERS: Final = 8192
MAX_LANGUAGE_CHARACTERS: Final = 256
"""Longer texts of a click are cut."""

_QUERY_IN_PATH: Final = re.compile("[?&]|%3F|%26", re.IGNORECASE)
_SLUG_BEFORE_TEXT: Final = re.compile(rf"{SLUG.pattern}(?=[^A-Za-z0-9_-])")


class ClientHeaders(msgspec.Struct, frozen=True, gc=False):
    """The headers of a visit, cut to their maximum lengths."""

    user_agent: str
    referrer: str
    purpose: str
    edge_country: str
    cookies: str
    languages: str = ""

    @classmethod
    def from_headers(
        cls,
        user_agent: str,
        referrer: str,
        purpose: str,
        edge_country: str,
        cookies: str = "",
        languages: str = "",
    ) -> Self:
        """Cut the headers, which are Latin-1. Missing headers are empty."""
        if len(languages) > MAX_LANGUAGE_CHARACTERS:
            # The last one whole: `de;q=0.1` must not be cut to `de`, which everybody prefers.
            languages = languages[:MAX_LANGUAGE_CHARACTERS].rpartition(",")[0]
        return cls(
            user_agent[:MAX_USER_AGENT_CHARACTERS],
            referrer[:MAX_REFERRER_CHARACTERS],
            purpose[:MAX_USER_AGENT_CHARACTERS],
            edge_country,
            cookies,
            languages,
        )


class Visit(msgspec.Struct, frozen=True, gc=False):
    """A request for a short link, in Latin-1. `slug` is None if the query has it, as `s`.

    `path`, without its first slash, is of a custom domain: neither slug nor query name the link.
    """

    method: str
    host: str
    slug: str | None
    query: str
    address: str
    headers: ClientHeaders
    path: str | None = None


def without_stuck_text(path: str, query: str) -> tuple[str, str] | None:
    """Return the slug that `path` begins with, and the query; None if no text is stuck to one.

    Punctuation sticks to links in texts, and "&utm_source=x" to links without a query.
    """
    before, *after = _QUERY_IN_PATH.split(path, maxsplit=1)
    found = _SLUG_BEFORE_TEXT.match(unquote(before) + "?" * len(after))
    return None if found is None else (found[0], "&".join(filter(None, (*after, query))))
