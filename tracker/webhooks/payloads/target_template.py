"""The target of a webhook as a template: path and query may have macros. Pure.

Guarantees, whatever the values hold:

- Scheme, host and port stay as they were checked when the webhook was written.
- A value adds no segment, parameter or fragment: each character that could is percent-encoded.
- A path in which values make a segment `.` or `..` is never sent.
- The URL is ASCII. With macros its length is limited. No value is ever cut.
"""

import re
from collections.abc import Mapping
from functools import lru_cache, partial
from typing import Final
from urllib.parse import quote, unquote

from tracker.errors import BadRequest
from tracker.syntax.url import UrlParts, check_url
from tracker.webhooks.limits import CACHED_TARGETS, MAX_FILLED_TARGET_CHARACTERS
from tracker.webhooks.macros import MACRO, Unfillable, check_macros, fill_parts, split_at_macros
from tracker.webhooks.target import FIELD

_SAFE_IN_URL: Final = "".join(map(chr, range(ord("!"), ord("~") + 1)))
_encode: Final = partial(quote, safe="")
_TOO_LONG: Final = (
    f"{FIELD}: with its macros filled longer than {MAX_FILLED_TARGET_CHARACTERS:,} characters"
)
_SEGMENT_END: Final = re.compile(r"[/\\]")


def check_target_macros(url: str) -> None:
    """Raises BadRequest if a macro is unknown, or not wholly within the path or the query."""
    parts = check_url(FIELD, url)
    check_macros(FIELD, [url])
    if MACRO.findall(url) != MACRO.findall(parts.path) + MACRO.findall(parts.query):
        raise BadRequest(f"{FIELD}: macros only in the path and in the query, each as a whole")


class TargetTemplate:
    """A target, split at its macros. `macros` are their names."""

    def __init__(self, target_url: str) -> None:
        parts = check_url(FIELD, target_url)
        self._origin = _origin(parts)
        self._path = _split(parts.path)
        self._query = _split(parts.query)
        self._own_dots = _dot_segments("x".join(self._path[::2]))
        self.macros = frozenset(self._path[1::2] + self._query[1::2])

    def fill(self, texts: Mapping[str, str]) -> str:
        """Return the URL; a missing text is empty.

        Raises Unfillable if it is too long, or a value makes a segment `.` or `..`.
        """
        path = _filled(self._path, texts)
        if _dot_segments(path) > self._own_dots:
            raise Unfillable(f"{FIELD}: a value would make a segment . or .. of its path")
        query = _filled(self._query, texts)
        url = self._origin + (path or "/") + (query if query != "?" else "")
        if self.macros and len(url) > MAX_FILLED_TARGET_CHARACTERS:
            raise Unfillable(_TOO_LONG)
        return url


@lru_cache(maxsize=CACHED_TARGETS)
def target_template(target_url: str) -> TargetTemplate:
    """Return a cached template. Raises BadRequest if the target is no URL."""
    return TargetTemplate(target_url)


def _origin(parts: UrlParts) -> str:
    """Return the origin in ASCII. Certificates name the canonical host."""
    host, port = parts.address
    scheme = parts.scheme.lower()
    shown_host = f"[{host}]" if ":" in host else host
    shown_port = "" if port == {"http": 80, "https": 443}[scheme] else f":{port}"
    return f"{scheme}://{shown_host}{shown_port}"


def _split(text: str) -> list[str]:
    """Return escaped plain texts and macro names, alternating."""
    parts = split_at_macros(text)
    parts[::2] = [quote(one, safe=_SAFE_IN_URL) for one in parts[::2]]
    return parts


def _filled(parts: list[str], texts: Mapping[str, str]) -> str:
    return "".join(fill_parts(parts, texts, _encode, MAX_FILLED_TARGET_CHARACTERS, _TOO_LONG))


def _dot_segments(path: str) -> int:
    """Count the segments `.` and `..`, as a server does that decodes the path first."""
    return sum(one in (".", "..") for one in _SEGMENT_END.split(unquote(path)))
