"""A custom domain: an account's claim to a hostname, and the links that a hostname serves. Pure.

Any account may claim a name. Proof by DNS makes the name one claim's alone: the other claims end.
A proven name stays its account's for QUARANTINE after it is deleted, so that old links, which are
still in circulation, never serve another account.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from tracker.db.cache import Versioned

QUARANTINE: Final = timedelta(days=30)
"""Time during which nobody else may have the name of a deleted proven domain."""


Reserves = Callable[[str], bool]
"""A rule (`own_hosts`) for hostnames, in canonical form, that no account may have."""


def nothing(name: str) -> bool:
    """Reserve no name."""
    return False


class Domain(Versioned, frozen=True, kw_only=True):
    """A claim to a hostname, `verified` once DNS has proven it.

    `token` is random, and part of the proof. `quarantined_until` is set when a proven domain is
    deleted: until then it only keeps the name.
    """

    id: UUID
    account_id: UUID
    domain_name: str
    verified: bool
    token: str
    created_at: datetime
    quarantined_until: datetime | None = None

    @property
    def is_deleted(self) -> bool:
        """Return whether the domain is deleted, and in quarantine."""
        return self.quarantined_until is not None


class ServedName(Versioned, frozen=True, kw_only=True):
    """The cached form of a hostname: the links that it serves.

    `namespace` is that of the domain's links (`namespace_of`), empty if it serves none.
    """

    namespace: str
    verified: bool
    quarantined: bool

    @property
    def is_proven(self) -> bool:
        """Return whether the name is one account's by proof, and in use."""
        return self.verified and not self.quarantined


def namespace_of(domain_id: UUID | None) -> str:
    """Return the namespace of a domain's slugs, empty for the default domain."""
    return "" if domain_id is None else domain_id.hex


def served_name(claims: Sequence[Domain], reserves: Reserves = nothing) -> ServedName | None:
    """Return the served name of these `claims` to it; None if it serves nothing, or is contested.

    Two claims decide as all do, if the proven one is among them. A name that the operator
    `reserves` is nobody's, even if it was claimed or proven before.
    """
    if claims and reserves(claims[0].domain_name):
        return None
    held = next((one for one in claims if one.verified), None)
    open_claims = [one for one in claims if not one.verified]
    if held is not None and not held.is_deleted:
        return _served(held, quarantined=False)
    if held is not None:
        again = [one for one in open_claims if one.account_id == held.account_id]
        return _served(again[0] if again else held, quarantined=True)
    return _served(open_claims[0], quarantined=False) if len(open_claims) == 1 else None


def _served(domain: Domain, quarantined: bool) -> ServedName:
    return ServedName(
        version=domain.version,
        namespace="" if domain.is_deleted else namespace_of(domain.id),
        verified=domain.verified and not domain.is_deleted,
        quarantined=quarantined,
    )
