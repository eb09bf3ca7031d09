"""The roles of an account's members, each a set of the API's scopes."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final


class Role(StrEnum):
    """The roles of members, the most powerful first."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


_EDITABLE: Final = (
    *("links", "domains", "tags", "event_configs", "conversions", "webhooks", "views", "shares"),
    "costs",
)
_READABLE: Final = ("reports", "account", "members")

SCOPES_OF: Final[dict[Role, Sequence[str] | None]] = {
    Role.OWNER: None,
    Role.EDITOR: (*(f"{one}:*" for one in _EDITABLE), *(f"{one}:read" for one in _READABLE)),
    Role.VIEWER: tuple(f"{one}:read" for one in (*_EDITABLE, *_READABLE)),
}
"""The scopes of each role; None is every scope. Only owners change members and the account."""
