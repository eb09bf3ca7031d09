"""The principal of a request: its account, actor and scopes."""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from tracker.clock import iso
from tracker.errors import BadRequest, ErrorCode, Forbidden

SCOPES: Final = (
    "links",
    "domains",
    "tags",
    "event_configs",
    "webhooks",
    "reports",
    "keys",
    "account",
    "conversions",
    "members",
    "audit",
    "shares",
    "views",
    "costs",
)
"""The resources that a scope can name, as in `links:read`, `links:write` or `links:*`."""

VERBS: Final = ("read", "write")
EVERY_SCOPE: Final = tuple(f"{resource}:{verb}" for resource in SCOPES for verb in (*VERBS, "*"))
"""The scopes that a key may be given."""


_NO_TAG: Final = UUID(int=0)


class ActorKind(StrEnum):
    """The kinds of actors that change an account."""

    MEMBER = "member"
    API_KEY = "api_key"
    OPERATOR = "operator"


class Actor(msgspec.Struct, frozen=True, kw_only=True):
    """A person, an API key, or the operator, who has no id."""

    kind: ActorKind
    id: UUID | None
    name: str

    @property
    def queue_key(self) -> UUID:
        """Transactions that lock the actor's authority queue under this key."""
        return self.id or UUID(int=0)  # the operator's


OPERATOR: Final = Actor(kind=ActorKind.OPERATOR, id=None, name="operator")
"""The actor of the operator's scripts."""


class Author(NamedTuple):
    """The author of a change. `address` is truncated; only members' requests have `session_id`."""

    account_id: UUID
    actor: Actor
    address: str = ""
    session_id: UUID | None = None

    @classmethod
    def operator(cls, account_id: UUID) -> "Author":
        return cls(account_id, OPERATOR)


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """The account, actor and scopes of a request. `scopes` is None for every scope.

    `session_id` is set only for a member's request, `expires_at` only for an API key that expires.
    `tags`: only links with one of these tags may be seen and changed; None: all links.
    """

    account_id: UUID
    actor: Actor
    scopes: Collection[str] | None
    session_id: UUID | None = None
    expires_at: datetime | None = None
    tags: frozenset[UUID] | None = None

    def require(self, scope: str, field: str = "") -> None:
        """Check for `scope`, such as `links:write`. Raises Forbidden, naming `field` if given."""
        if not self._has(scope):
            subject = "your role" if self.actor.kind == ActorKind.MEMBER else "this API key"
            named = f"{field}: " if field else ""
            message = f"{named}{subject} lacks the scope {scope}"
            raise Forbidden(message, code=ErrorCode.MISSING_SCOPE)

    def covers(self, scopes: Collection[str] | None) -> bool:
        """Return whether the principal has all `scopes` (None: every scope).

        Nobody may grant a key or a role more than their own scopes.
        """
        if scopes is None:
            return self.scopes is None
        return all(self._has(one) for scope in scopes for one in _expanded(scope))

    def expiry(self, wanted: datetime | None) -> datetime | None:
        """Return when an object that the principal creates expires: as wanted, or with its key.

        Raises BadRequest if `wanted` is later than the key's expiry.
        """
        if self.expires_at is None or wanted is None:
            return wanted or self.expires_at
        if wanted > self.expires_at:
            latest = iso(self.expires_at)
            raise BadRequest(f"expires_at: at most {latest}, when this API key ends")
        return wanted

    def may_see(self, stored: object) -> bool:
        """Return whether the limit allows an object: only those with tags, such as links."""
        return self.tags is None or not self.tags.isdisjoint(getattr(stored, "tags", ()))

    def check_tags(self, tags: Collection[UUID], field: str = "tags") -> None:
        """Raises BadRequest if a link with these tags would be outside the limit."""
        if self.tags is not None and self.tags.isdisjoint(tags):
            raise BadRequest(f"{field}: a link needs one of the tags that you are limited to")

    def _has(self, scope: str) -> bool:
        if self.scopes is None:
            return True
        return scope in self.scopes or scope.partition(":")[0] + ":*" in self.scopes


def tags_within(
    limit: frozenset[UUID] | None, tags: Sequence[Any], all_tags: bool
) -> tuple[Sequence[Any], bool]:
    """Return a filter by tags that only links of the limit pass."""
    if limit is None:
        return tags, all_tags
    if not tags:
        return sorted(limit), False
    own = [one for one in tags if one in limit]
    passes = len(own) == len(tags) if all_tags else bool(own)
    return (own, all_tags) if passes else ([_NO_TAG], False)


def _expanded(scope: str) -> list[str]:
    resource, _, verb = scope.partition(":")
    return [f"{resource}:{one}" for one in VERBS] if verb == "*" else [scope]
