"""A custom domain: an account's claim to a hostname, and the links that a hostname serves. Pure.

Any account may claim a name. Proof by DNS ends the other claims. After deletion, a proven name
stays reserved for its account during QUARANTINE: old links must not serve another account.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from tracker.stores.cache.cache import Versioned
from tracker.syntax.url_path import folded

QUARANTINE: Final = timedelta(days=30)
"""No other account may have the name of a deleted proven domain for this time."""

IsReserved = Callable[[str], bool]
"""Returns whether no account may claim a hostname in canonical form (`own_hosts`)."""


class DnsCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The DNS values found where a proof belongs. `error` names the unanswered queries."""

    at: datetime
    txt: list[str]
    cname: list[str]
    proven: bool
    error: str | None


FILES: Final = ("apple_app_site_association", "assetlinks")
URLS: Final = ("root_url", "not_found_url", "expired_url")
SETTINGS: Final = ("case_sensitive", *URLS)


class DomainSettings(Versioned, frozen=True, kw_only=True):
    """The settings of a domain. The URLs are for visitors whom no link takes elsewhere."""

    case_sensitive: bool = True
    root_url: str | None = None
    not_found_url: str | None = None
    expired_url: str | None = None


class Domain(DomainSettings, frozen=True, kw_only=True):
    """A claim to a hostname, `verified` once DNS has proven it.

    `token` is a part of the proof. A deleted domain reserves the name until `quarantined_until`.
    """

    id: UUID
    account_id: UUID
    domain_name: str
    verified: bool
    token: str
    created_at: datetime
    quarantined_until: datetime | None = None
    last_check: DnsCheck | None = None
    apple_app_site_association: str | None = None
    assetlinks: str | None = None
    folds: bool = False
    """Links have names in which case does not count, before visits are compared with them."""

    @property
    def is_deleted(self) -> bool:
        return self.quarantined_until is not None


class ServedName(DomainSettings, frozen=True, kw_only=True, omit_defaults=True):
    """The cached form of a hostname. `namespace` has the account's links; empty if none are served.

    It is `verified` while a claim is proven, which one in quarantine is not. Copies of earlier
    releases have no `account_id`.
    """

    namespace: str
    verified: bool
    quarantined: bool
    account_id: bytes = b""

    def form_of(self, name: str) -> str:
        """Return the form of a slug or path by which its link is found."""
        return name if self.case_sensitive else folded(name)


def namespace_of(domain_id: UUID | None) -> str:
    """Return the namespace of a domain's slugs, empty for the default domain."""
    return "" if domain_id is None else domain_id.hex


def served_name(
    claims: Sequence[Domain], is_reserved: IsReserved = lambda _: False
) -> ServedName | None:
    """Return the served name that the `claims` to a hostname result in; None if nothing is served.

    Several unproven claims serve nothing, nor does a reserved name.
    """
    if claims and is_reserved(claims[0].domain_name):
        return None
    proven = next((claim for claim in claims if claim.verified), None)
    unproven = [claim for claim in claims if not claim.verified]
    if proven is not None and not proven.is_deleted:
        return _served(proven, quarantined=False)
    if proven is not None:
        repeated = [claim for claim in unproven if claim.account_id == proven.account_id]
        return _served(repeated[0] if repeated else proven, quarantined=True)
    return _served(unproven[0], quarantined=False) if len(unproven) == 1 else None


def _served(domain: Domain, quarantined: bool) -> ServedName:
    settings = {} if domain.is_deleted else {name: getattr(domain, name) for name in SETTINGS}
    return ServedName(
        version=domain.version,
        namespace="" if domain.is_deleted else namespace_of(domain.id),
        account_id=domain.account_id.bytes,
        verified=domain.verified and not domain.is_deleted,
        quarantined=quarantined,
        **settings,
    )
