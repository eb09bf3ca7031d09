"""A link's destination, checked when the link is written, becomes the Location of every click.

Guarantees of `Destination.location`, for a URL that passed `check_url` and any query:

- It is ASCII without spaces or control characters, so nothing can break out of the header.
- Destination and visitor's parameters stay byte for byte, in order, percent-encoded if needed.
  The visitor's `s`, `d`, `click_id` and click parameter are dropped.
- It has exactly one click parameter, the last one, or none if there is no click.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from tracker.links.macros import MACRO_NAMES
from tracker.links.options import CLICK_ID, QR_PAIR
from tracker.links.utm import MAX_RAW_CHARACTERS, UTM, raw_utm, utm_values
from tracker.syntax.url import split_url

DESTINATION_FIELD: Final = "destination_url"

OWN_REDIRECT: Final = "must not be a redirect of this service, nor have a macro in the path there"

CACHED_DESTINATIONS: Final = 2_000
"""At 300 to 900 bytes each. Splitting one takes 1 to 10 µs."""

_CACHED_MACRO_PATTERNS: Final = 1
_CACHED_LOCATIONS: Final = 1_000
_CACHED_CLICK_PARAMETERS: Final = 100
"""Their patterns take 10 KB each."""

_SAFE_IN_URL: Final = "".join(map(chr, range(ord("!"), ord("~") + 1)))
_SAFE_IN_QUERY: Final = _SAFE_IN_URL.replace("#", "")


def _pair_named(name: str) -> Callable[[str], object]:
    """Return a test for pairs with this name, in any encoding; faster than decoding."""
    return re.compile(rf"{_either_way(name)}(?:=|\Z)").match


def _either_way(name: str) -> str:
    return "".join(f"(?:{re.escape(char)}|%(?i:{ord(char):02x}))" for char in name)


_MACRO_IN_PATH: Final = re.compile(r"\{[a-z_]+\}").search
_may_be_redirect: Final = re.compile(r"/c/|/api/|%|/\.").search
"""Searches a path for what most have not, before it is decoded."""

_PER_CLICK_MACROS: Final = frozenset(("click_id", "click_timestamp"))
"""Macros that differ from click to click. In reports each click would have its own row."""

# Origin, path and query of a URL without fragment, in which nothing has to be escaped.
_unescaped: Final = re.compile(
    r"""(https?://(?:[a-z0-9_-]+\.)+[a-z]+(?::[0-9]+)?)(/[!"$->@-~]*)?(\?[!"$-~]*)?"""
).fullmatch
_NO_MACROS: Final[frozenset[str]] = frozenset()
_NO_UTM: Final[Mapping[str, None]] = MappingProxyType(dict.fromkeys(UTM))


class _ClickParameter(NamedTuple):
    """The name of the parameter with the click id, and tests for it."""

    name: str
    is_named: Callable[[str], object]
    is_reserved: Callable[[str], object]
    has_dropped: Callable[[str], object]
    """Searches `&` and a query for a pair that is not passed on."""


@lru_cache(maxsize=_CACHED_CLICK_PARAMETERS)
def _click_parameter(name: str) -> _ClickParameter:
    reserved = tuple(dict.fromkeys(("s", "d", CLICK_ID, name)))
    names = "|".join(map(_either_way, reserved))
    of_code = rf"{QR_PAIR}(?:&|\Z)"
    dropped = re.compile(rf"&(?:&|\Z|(?:{names})(?:[=&]|\Z)|{of_code})")
    is_reserved = re.compile(rf"(?:{names})(?:=|\Z)|{of_code}")
    return _ClickParameter(name, _pair_named(name), is_reserved.match, dropped.search)


def redirect_address(url: str) -> tuple[str, int] | None:
    """Return (host, port) of `url` if its path is a redirect of this service, else None.

    A path with a macro may become one. The host is ASCII, lower case, without the final dot or
    brackets. Raises BadRequest if `url` is not a valid absolute http or https URL.
    """
    parts = split_url(DESTINATION_FIELD, url)
    path = _without_dot_segments(unquote(parts.path))
    is_redirect = path == "/api/click" or path.startswith("/c/") or _MACRO_IN_PATH(parts.path)
    return parts.address if is_redirect else None


def _redirect_host(url: str) -> str | None:
    address = redirect_address(url)
    return None if address is None else address[0]


@lru_cache(maxsize=_CACHED_LOCATIONS)
def location_of(url: str) -> tuple[str, str]:
    """Return a checked URL as the Location of a redirect that is no click, and its host."""
    return "".join(_split(url)), split_url(DESTINATION_FIELD, url).address[0]


def utm_of(url: str) -> Mapping[str, str | None]:
    """Return the UTM values in the query of `url`, with macros as written."""
    if "utm_" not in url:
        return _NO_UTM
    query = url.partition("#")[0].partition("?")[2]
    return {**_NO_UTM, **utm_values(_escaped(query))}


class Destination:
    """A link's destination, split once for all clicks. `used_macros` are the macros in it.

    `redirect_host` is its host if it would be a redirect of this service there.

    A plain one has no second string as long as its URL. It is recognized in 1 µs; to split one with
    macros takes 10, one that has to be escaped 30.
    """

    __slots__ = (
        *("_click", "_frame", "_has_utm_macros", "_templates", "_utm"),
        *("redirect_host", "used_macros"),
    )

    redirect_host: str | None
    used_macros: frozenset[str]
    _frame: tuple[str, str, str] | None

    def __init__(
        self, url: str, macro_names: tuple[str, ...], click_parameter: str = CLICK_ID
    ) -> None:
        self._click = _click_parameter(click_parameter)
        unescaped = _unescaped(url)
        if unescaped is None:
            self.redirect_host = _redirect_host(url)
            self._split(*_split(url), _macro_pattern(macro_names))
            return
        origin, path, query = unescaped.groups("")
        self.redirect_host = _redirect_host(url) if _may_be_redirect(path) else None
        if "{" in url or "%" in query or click_parameter in query:
            self._split(origin, path, query, "", _macro_pattern(macro_names))
        else:
            self.used_macros = _NO_MACROS
            self._frame = (url, _joiner(query), "")
            self._has_utm_macros = False
            self._utm = _joined(raw_utm(query[1:])) if "utm_" in query else ""

    def _split(
        self, origin: str, path: str, query: str, fragment: str, macro: re.Pattern[str]
    ) -> None:
        query = self._without_click(query)
        self.used_macros = frozenset(macro.findall(path + query + fragment))
        self._frame = None if self.used_macros else _frame(origin + path, query, fragment)
        utm = _counted_utm(query, macro)
        self._has_utm_macros = macro.search(utm) is not None
        self._utm = _template(utm, macro) if self._has_utm_macros else utm
        if self.used_macros:
            path, query, fragment = [_template(text, macro) for text in (path, query, fragment)]
            self._templates = (origin + path, query, fragment)

    def location(self, query: str, click_id: str | None, macros: Mapping[str, str]) -> str:
        """Return the Location for one click: destination, visitor's parameters, click id.

        `query` is the raw query of the request, one character for each byte. `click_id` is None if
        no click is recorded. `macros` has unencoded values; a missing one is empty.
        """
        head, joiner, fragment = self._frame or self._filled(click_id, macros)
        added = _passed_on(query, self._click) if query else ""
        if click_id is not None:
            name = self._click.name
            added = f"{added}&{name}={click_id}" if added else f"{name}={click_id}"
        return f"{head}{joiner}{added}{fragment}" if added else head + fragment

    def utm(self, macros: Mapping[str, str]) -> str:
        """Return the `utm_` parameters for reports, without macros that vary by click."""
        if not self._has_utm_macros:
            return self._utm
        filled = self._utm % self._encoded(macros)
        # Cut to what is read: a thousand macros would make each click's record 100 KB long.
        return filled if len(filled) <= MAX_RAW_CHARACTERS else _joined(raw_utm(filled))

    def _filled(self, click_id: str | None, macros: Mapping[str, str]) -> tuple[str, str, str]:
        values = self._encoded(macros)
        values["click_id"] = click_id or ""
        base, query, fragment = [template % values for template in self._templates]
        # A value may have completed the name click_id: `?click_{slug}=1`.
        return _frame(base, self._without_click(query), fragment)

    def _without_click(self, query: str) -> str:
        """Return `query` without its pairs of the click parameter; empty if nothing remains."""
        if not query:
            return ""
        pairs = [pair for pair in query[1:].split("&") if not self._click.is_named(pair)]
        return "?" + "&".join(pairs) if pairs else ""

    def _encoded(self, macros: Mapping[str, str]) -> dict[str, str]:
        return {name: quote(macros.get(name, ""), safe="") for name in self.used_macros}


@lru_cache(maxsize=CACHED_DESTINATIONS)
def destination_of(url: str, click_parameter: str) -> Destination:
    return Destination(url, MACRO_NAMES, click_parameter)


def _split(url: str) -> tuple[str, str, str, str]:
    """Return origin, path, query and fragment, escaped."""
    parts = split_url(DESTINATION_FIELD, url)
    origin = f"{parts.scheme}://{parts.authority}"
    return origin, _escaped(parts.path), _escaped(parts.query), _escaped(parts.fragment)


def _passed_on(query: str, click: _ClickParameter) -> str:
    # These four scans cost a third of one call of quote: 0.3 µs for 70 characters.
    if not (query.isascii() and query.isprintable() and " " not in query and "#" not in query):
        query = quote(query, safe=_SAFE_IN_QUERY, encoding="latin-1")
    if click.has_dropped(f"&{query}") is None:
        return query
    return "&".join([pair for pair in query.split("&") if pair and not click.is_reserved(pair)])


def _frame(base: str, query: str, fragment: str) -> tuple[str, str, str]:
    """Return the URL without its fragment, what joins added parameters to it, and the fragment."""
    return base + query, _joiner(query), fragment


def _joiner(query: str) -> str:
    return "" if query == "?" or query.endswith("&") else "&" if query else "?"


def _counted_utm(query: str, macro: re.Pattern[str]) -> str:
    found = raw_utm(query.removeprefix("?")).items()
    parameters = {
        name: raw for name, raw in found if _PER_CLICK_MACROS.isdisjoint(macro.findall(raw))
    }
    return _joined(parameters)


def _joined(parameters: Mapping[str, str]) -> str:
    return "&".join(f"{name}={raw}" for name, raw in parameters.items())


@lru_cache(maxsize=_CACHED_MACRO_PATTERNS)
def _macro_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\{{({'|'.join(names)})\}}")


def _template(text: str, macro: re.Pattern[str]) -> str:
    """Return `text` as a format string for `%` and a mapping of macro names to encoded values."""
    return macro.sub(r"%(\1)s", text.replace("%", "%%"))


def _escaped(text: str) -> str:
    # These scans take 0.2 µs, `quote` 1.3 even where it changes nothing.
    if text.isascii() and text.isprintable() and " " not in text:
        return text
    return quote(text, safe=_SAFE_IN_URL)


def _without_dot_segments(path: str) -> str:
    segments: list[str] = []
    for segment in path.split("/")[1:]:
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    return "/" + "/".join(segments)
