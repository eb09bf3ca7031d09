"""The roles of an account's members, each a set of the API's scopes."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from tracker.access.principal import Principal
from tracker.errors import ErrorCode, Forbidden


class Role(StrEnum):
    """The roles of members, the mightiest first."""

    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


_WORK: Final = ("links", "domains", "tags", "event_configs", "webhooks", "views", "shares")
_RECORDS: Final = ("reports", "conversions", "account", "members")

SCOPES_OF: Final[dict[Role, Sequence[str] | None]] = {
    Role.OWNER: None,
    Role.EDITOR: (*(f"{one}:*" for one in _WORK), *(f"{one}:read" for one in _RECORDS)),
    Role.VIEWER: tuple(f"{one}:read" for one in (*_WORK, *_RECORDS)),
}
"""The scopes of each role; None stands for every scope. API keys, the audit log, and changes of
members and of the account are for owners."""


def require_authority(principal: Principal, *roles: Role) -> None:
    """Check that the principal has every scope of all `roles`, which it grants or takes.

    Raises Forbidden if it lacks one: nobody grants more than they may do themselves, or takes a
    role above their own from another.
    """
    for role in roles:
        if not principal.covers(SCOPES_OF[role]):
            raise Forbidden(f"role: {role} has scopes that you lack", code=ErrorCode.MISSING_SCOPE)
