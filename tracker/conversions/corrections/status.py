"""The status of a conversion, as its sender reports it, and what a repeat of it does. Pure.

Whether a conversion has its click is another matter (`document.Attribution`).
"""

from enum import StrEnum
from typing import Final
from uuid import UUID


class Status(StrEnum):
    """The status of a conversion. Without any word of a sender it is approved."""

    APPROVED = "approved"
    PENDING = "pending"
    REJECTED = "rejected"
    REFUNDED = "refunded"


NO_VALUE: Final = (Status.REJECTED, Status.REFUNDED)
"""Their value is none of their account's, so its rules do not limit it."""


class OnRepeat(StrEnum):
    """What becomes of a further report of a conversion that is known already."""

    FIRST = "first"
    """It changes nothing: the first answer again."""
    UPDATE = "update"
    """It restates what it carries."""
    COUNT = "count"
    """It is a conversion of its own."""


_CLICK_KEY: Final = "\x1fclick:"


def click_key(click_id: UUID) -> str:
    """Return what stands for a transaction id where a status comes without one.

    Then all reports of one click and event configuration are about one conversion. No sender can
    send it, because transaction ids are printable.
    """
    return f"{_CLICK_KEY}{click_id}"


def is_click_key(transaction_id: str) -> bool:
    return transaction_id.startswith(_CLICK_KEY)
