"""The words that networks use for a status, and their meanings. Pure.

`WORDS` has those that mean one thing everywhere. Digits, and words such as `hold`, `dep` and
`accept`, mean opposite things with different networks: an event configuration has their meanings.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from tracker.conversions.corrections.status import Status
from tracker.errors import BadRequest

MAX_WORDS: Final = 100
MAX_WORD_CHARACTERS: Final = 64


class Meaning(StrEnum):
    """The meaning of a word: a status, or one more conversion, which is approved."""

    APPROVED = Status.APPROVED
    PENDING = Status.PENDING
    REJECTED = Status.REJECTED
    REFUNDED = Status.REFUNDED
    COUNT = "count"


Meanings = Mapping[str, Meaning]

_OF_MEANING: Final = {
    Meaning.APPROVED: "approved approve confirmed confirm paid payed success successful completed "
    "complete valid",
    Meaning.PENDING: "pending wait waiting new processing in_progress review on_review unconfirmed "
    "moderation on_moderation",
    Meaning.REJECTED: "rejected reject declined decline trash cancel cancelled canceled refused "
    "fraud duplicate invalid disapproved denied spam fake",
    Meaning.REFUNDED: "refunded refund chargeback charge_back chargedback",
    Meaning.COUNT: "rebill",
}
WORDS: Final[Meanings] = {
    word: meaning for meaning, words in _OF_MEANING.items() for word in words.split()
}


def plain_word(text: str) -> str:
    return text.strip().casefold()


def meaning_of(word: str, statuses: Meanings) -> Meaning | None:
    """Return the meaning of a plain word, first by an event configuration's `statuses`."""
    return statuses.get(word) or WORDS.get(word)


def checked_statuses(statuses: Meanings) -> Meanings:
    """Return plain words with their meanings. Raises BadRequest if one breaks a rule."""
    if len(statuses) > MAX_WORDS:
        raise BadRequest(f"statuses: at most {MAX_WORDS} words")
    read: dict[str, Meaning] = {}
    for text, meaning in statuses.items():
        word = plain_word(text)
        if not (word and word.isprintable() and len(word) <= MAX_WORD_CHARACTERS):
            raise BadRequest(f"statuses: words have 1 to {MAX_WORD_CHARACTERS} characters")
        if read.setdefault(word, meaning) is not meaning:
            raise BadRequest(f"statuses: {word} has two meanings; case is ignored")
    return read
