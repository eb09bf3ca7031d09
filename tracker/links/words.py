"""The words by which links are found: those stored with a link, and those of a search. Pure.

A word is a run of letters and digits, without regard to case. A link is found by the beginnings of
words in its slug, destination and name.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from unicodedata import normalize
from urllib.parse import unquote

from bson import Regex

from tracker.links.destination import utm_of

MAX_WORDS: Final = 40
"""The words of a link that are stored, of its slug first. A slug has 32 at most."""

MAX_WORD_CHARACTERS: Final = 24
"""The characters of a word that are stored, and that are compared."""

_MAX_SEARCHED_WORDS: Final = 10

_WORD: Final = re.compile(r"[^\W_]+")
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_WWW: Final = re.compile(r"www\.", re.IGNORECASE)
_UTM_NAME: Final = re.compile(r"\butm_(?:source|medium|campaign|term|content)=")


def words_of(slug: str, destination_url: str, internal_name: str) -> list[str]:
    """Return the words to store with a link.

    The first words of UTM values are always among them, so that filters by these find them.
    """
    utm = [next(_words(value), "") for value in utm_of(destination_url).values() if value]
    found = dict.fromkeys([*_words(slug), *filter(None, utm)])
    found |= dict.fromkeys(islice(_words(destination_url), MAX_WORDS // 2))
    found |= dict.fromkeys(_words(internal_name)) | dict.fromkeys(_words(destination_url))
    return list(found)[:MAX_WORDS]


def found_by(search: str) -> dict[str, Any] | None:
    """Return the condition of the links that a search finds; None if it has no word.

    The first condition decides which part of the index is read: the longest word is the rarest.
    """
    words = list(dict.fromkeys(islice(_words(search), _MAX_SEARCHED_WORDS)))
    if not words:
        return None
    found: dict[str, Any] = {"words": {"$all": [_beginning(one) for one in _longest_first(words)]}}
    if _URL.match(url := search.strip()):
        found["destination_url"] = Regex(f"^{re.escape(url)}", re.IGNORECASE)
    return found


def first_word(value: str) -> str | None:
    """Return the word by which links with a UTM value are found; None if it has none."""
    return next(_words(value), None)


def _words(text: str) -> Iterator[str]:
    plain = text.strip()
    if scheme := _URL.match(plain):
        plain = unquote(plain[scheme.end() :])
    if www := _WWW.match(plain):
        plain = plain[www.end() :]
    plain = _UTM_NAME.sub(" ", plain)
    for match in _WORD.finditer(normalize("NFKC", plain).casefold()):
        yield match[0][:MAX_WORD_CHARACTERS]


def _longest_first(words: list[str]) -> list[str]:
    return sorted(words, key=len, reverse=True)


def _beginning(word: str) -> Regex[str]:
    return Regex(f"^{word}")
