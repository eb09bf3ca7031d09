"""The roles of an account's members, each a set of the API's scopes."""

from collections.abc import Mapping, Sequence
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

_SEEN: Final = ("tags:read", "reports:read", "conversions:read")
_LIMITED: Final[Mapping[Role, Sequence[str]]] = {
    Role.EDITOR: ("links:*", "shares:*", *_SEEN),
    Role.VIEWER: ("links:read", "shares:read", *_SEEN),
}


def scopes_of(role: Role, limited: bool) -> Sequence[str] | None:
    """Return a role's scopes; those about links, if the member is limited to tags."""
    return _LIMITED.get(role, ()) if limited else SCOPES_OF[role]
