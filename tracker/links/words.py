"""The index terms of links, and the prefixes of a search. Pure.

A word is a run of letters and digits, case-folded. A search finds links by prefixes of words in
slug, destination and name. A UTM value is a term of its own, which no search finds.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Final
from unicodedata import normalize
from urllib.parse import unquote

from bson import Regex

from tracker.links.destination import utm_of
from tracker.links.utm import NO_VALUE, UTM

MAX_WORDS: Final = 40
"""Stored words of a link, beside its UTM terms. The slug's come first: it has 32 at most."""

MAX_WORD_CHARACTERS: Final = 24
"""The characters of a word that are stored, and that are compared."""

UTM_SIGN: Final = "="
"""The first character of UTM terms, which no word has."""

_UTM_NUMBERS: Final[Mapping[str, str]] = {name: str(number) for number, name in enumerate(UTM)}

_MAX_SEARCHED_WORDS: Final = 10

_WORD: Final = re.compile(r"[^\W_]+")
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_WWW: Final = re.compile(r"www\.", re.IGNORECASE)
_UTM_NAME: Final = re.compile(r"\butm_(?:source|medium|campaign|term|content)=")


def words_of(slug: str, destination_url: str, internal_name: str) -> list[str]:
    """Return the words to store with a link."""
    found = dict.fromkeys(_words(slug))
    found |= dict.fromkeys(islice(_words(destination_url), MAX_WORDS // 2))
    found |= dict.fromkeys(_words(internal_name)) | dict.fromkeys(_words(destination_url))
    return [*list(found)[:MAX_WORDS], *_utm_words(utm_of(destination_url))]


def beginnings_of(search: str) -> list[Regex[str]]:
    """Return the prefix patterns of a search, all of which a link matches."""
    words = dict.fromkeys(islice(_words(search), _MAX_SEARCHED_WORDS))
    return [Regex(f"^{one}") for one in words]


def begun_url(search: str) -> Regex[str] | None:
    """Return the prefix pattern of destinations; None if the search is no URL."""
    url = search.strip()
    return Regex(f"^{re.escape(url)}", re.IGNORECASE) if _URL.match(url) else None


def words_of_utm(name: str, values: Sequence[str]) -> list[str]:
    """Return the terms of UTM values, any of which a link matches. NO_VALUE: a missing value."""
    words = [_utm_word(name, value) for value in values]
    if NO_VALUE not in values:
        return words
    others = [other for other in UTM if other != name]
    missing = [one for n in range(len(UTM)) for one in combinations(others, n)]
    return words + [_word_of_missing([name, *one]) for one in missing]


def _utm_words(values: Mapping[str, str | None]) -> list[str]:
    words = [_utm_word(name, value) for name, value in values.items() if value]
    missing = [name for name, value in values.items() if not value]
    return [*words, _word_of_missing(missing)] if missing else words


def _utm_word(name: str, value: str) -> str:
    return f"{UTM_SIGN}{_UTM_NUMBERS[name]}{value}"


def _word_of_missing(names: Sequence[str]) -> str:
    """Return the term of all missing values of a link together: each term is a key of the index."""
    return UTM_SIGN * 2 + "".join(sorted(_UTM_NUMBERS[name] for name in names))


def _words(text: str) -> Iterator[str]:
    plain = text.strip()
    if scheme := _URL.match(plain):
        plain = unquote(plain[scheme.end() :])
    if www := _WWW.match(plain):
        plain = plain[www.end() :]
    plain = _UTM_NAME.sub(" ", plain)
    for match in _WORD.finditer(normalize("NFKC", plain).casefold()):
        yield match[0][:MAX_WORD_CHARACTERS]
