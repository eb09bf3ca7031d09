"""The status of a conversion, as its sender reports it, and what a repeat of it does. Pure.

Whether a conversion has its click is another matter (`document.Attribution`).
"""

from enum import StrEnum


class Status(StrEnum):
    """The status of a conversion. Without any word of a sender it is approved."""

    APPROVED = "approved"
    PENDING = "pending"
    REJECTED = "rejected"
    REFUNDED = "refunded"


class OnRepeat(StrEnum):
    """What becomes of a further report of a conversion that is known already."""

    FIRST = "first"
    """It changes nothing: the first answer again."""
    UPDATE = "update"
    """It restates what it carries."""
    COUNT = "count"
    """It is a conversion of its own."""
