"""`/api/short-links/.../decide`: where a visitor would go, by the code that redirects."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID, uuid5

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tracker.clicks.country import COUNTRIES
from tracker.clicks.redirects.deciding import RequestVisitor, decision_of
from tracker.clicks.services import ClickCall
from tracker.clicks.visit import ClientHeaders, Visit
from tracker.clock import now_ms
from tracker.errors import BadRequest
from tracker.limits.network import address_number
from tracker.links.api.rules.checks import check_rules, checked_url
from tracker.links.api.rules.schema import DestinationUrl, RulesIn, SplitInput
from tracker.links.api.short_links import find_own
from tracker.links.destination import DESTINATION_FIELD
from tracker.links.link import CachedLink, Link
from tracker.links.macros import check_macros
from tracker.links.options import RedirectOptions
from tracker.links.rules.decider import Decider
from tracker.links.rules.explained import brought
from tracker.links.rules.rule import Deciding, kind_of
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoints
from tracker.web.schema import AccountId

endpoint = Endpoints("clicks")

_YEARS: Final = range(1970, 3000)
_UNSAVED: Final = UUID(int=0)
_NO_SECRET: Final = "00" * 16
"""Of splits that are not stored. So the draw stays the same while somebody types."""


class DecideLink(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A visitor of a short link, and what is to be tried in place of the link's own.

    Whatever a visitor is not said to bring is not known.
    """

    country: (
        Annotated[str, Meta(description="ISO 3166-1 alpha-2; default: that of the address")]
        | UnsetType
    ) = UNSET
    language: (
        Annotated[str, Meta(description="a language, or the header Accept-Language")] | UnsetType
    ) = UNSET
    user_agent: str | UnsetType = UNSET
    query: (
        Annotated[str, Meta(description="what follows the `?`", examples=["src=mail"])] | UnsetType
    ) = UNSET
    referrer: str | UnsetType = UNSET
    address: Annotated[str, Meta(description="IPv4 or IPv6")] | UnsetType = UNSET
    time: Annotated[datetime, Meta(tz=True)] | UnsetType = UNSET
    destination_url: DestinationUrl | UnsetType = UNSET
    rules: RulesIn | UnsetType = UNSET
    split: SplitInput | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        if self.country and self.country.upper() not in COUNTRIES:
            raise BadRequest("country: must be an ISO 3166-1 alpha-2 code such as DE")
        if self.address and address_number(self.address) is None:
            raise BadRequest("address: must be an IPv4 or IPv6 address")
        if self.time is not UNSET and self.time.year not in _YEARS:
            raise BadRequest(f"time: must be in the years {_YEARS[0]} to {_YEARS[-1]}")
        if isinstance(self.destination_url, str):
            self.destination_url = checked_url(DESTINATION_FIELD, self.destination_url)
            check_macros(DESTINATION_FIELD, self.destination_url)
        check_rules(self.rules, self.split)


class DecideUnsaved(DecideLink, forbid_unknown_fields=True, kw_only=True):
    """A visitor, and a link that is not stored."""

    account_id: AccountId = msgspec.field(name="accountId")
    destination_url: DestinationUrl


class FailedCondition(msgspec.Struct, kw_only=True):
    """The first condition of a rule that does not hold."""

    condition: Annotated[int, Meta(description="0: the first")]
    kind: Annotated[str, Meta(examples=["country"])]
    why: Annotated[str, Meta(description="what the visitor brings", examples=["country is US"])]


class RuleOutcome(msgspec.Struct, kw_only=True):
    """A rule, and whether it holds."""

    id: UUID
    name: str
    holds: bool
    failed: FailedCondition | None


class DecidedVisit(msgspec.Struct, kw_only=True):
    """Where a visitor goes, and why."""

    location: Annotated[
        str | None,
        Meta(description="as HEAD of the link answers; null: 404, as it would lead here again"),
    ]
    destination_url: str
    rule_id: Annotated[UUID | None, Meta(description="the rule that decides; null: none holds")]
    variant_id: Annotated[UUID | None, Meta(description="null: no split, or nothing is drawn")]
    rules: list[RuleOutcome]


@endpoint(
    "POST",
    "/api/short-links/{id}/decide",
    "links:read",
    example={"country": "DE", "query": "src=mail"},
    operation_id="decideShortLink",
    limited=True,
)
async def decide_link(call: ClickCall[Nothing, DecideLink]) -> DecidedVisit:
    """Tell where a visitor of a short link would go, and why."""
    return decided(call, call.body, await find_own(call, call.services.links))


@endpoint(
    "POST",
    "/api/short-links/decide",
    "links:read",
    example={"destination_url": "https://example.com/offer", "country": "DE"},
    operation_id="decideUnsavedShortLink",
)
async def decide_unsaved(call: ClickCall[Nothing, DecideUnsaved]) -> DecidedVisit:
    """Tell where a visitor of a link that is not stored would go, and why."""
    return decided(call, call.body, None)


class _TriedVisitor(RequestVisitor):
    def draws(self) -> bool:
        return bool(self.address) and super().draws()


def decided(call: ClickCall[Nothing, Any], sent: DecideLink, link: Link | None) -> DecidedVisit:
    deciding, cached = _deciding(sent, link), _cached(sent, link, call.account_id)
    services = call.services
    query = "" if sent.query is UNSET else _as_sent(sent.query)
    at = None if sent.time is UNSET else round(sent.time.timestamp() * 1000)
    headers = ClientHeaders.from_headers(
        _as_sent(sent.user_agent),
        _as_sent(sent.referrer),
        purpose="",
        edge_country=sent.country or "",
        languages=_as_sent(sent.language),
    )
    visit = Visit("HEAD", "", link.slug if link else "", query, sent.address or "", headers)
    visitor = _TriedVisitor(
        services.enrichment, visit.address, headers, None if sent.query is UNSET else query, at
    )
    decider = Decider(deciding, cached.destination_url)
    decision, _ = decision_of(decider, visitor, query)
    led = services.redirect.lead(visit, cached, at or now_ms(), decision, None)
    return DecidedVisit(
        location=led and led[0],
        destination_url=decision.destination_url,
        rule_id=_id(decision.rule_id),
        variant_id=_id(decision.variant_id),
        rules=_outcomes(deciding, decider, visitor),
    )


def _outcomes(deciding: Deciding, decider: Decider, visitor: RequestVisitor) -> list[RuleOutcome]:
    outcomes = []
    for rule, number in zip(deciding.rules, decider.failures(visitor), strict=True):
        failed = None
        if number is not None:
            condition = rule.conditions[number]
            failed = FailedCondition(
                condition=number, kind=kind_of(condition), why=brought(condition, visitor)
            )
        outcomes.append(
            RuleOutcome(id=rule.id, name=rule.name, holds=failed is None, failed=failed)
        )
    return outcomes


def _id(raw: bytes | None) -> UUID | None:
    return None if raw is None else UUID(bytes=raw)


def _as_sent(text: str | UnsetType) -> str:
    """Return a text as a request brings it, one character for each byte; empty if it is unset."""
    return "" if text is UNSET else text.encode(errors="replace").decode("latin-1")


def _cached(sent: DecideLink, link: Link | None, account_id: UUID) -> CachedLink:
    """Return the link as redirects see it, even if its visitors get 404."""
    of_link = "" if link is None else link.destination_url
    return CachedLink(
        version=0,
        id=(link.id if link else _UNSAVED).bytes,
        account_id=account_id.bytes,
        domain_name=link.domain_name if link else "",
        destination_url=of_link if sent.destination_url is UNSET else sent.destination_url,
        options=None if link is None else RedirectOptions.of(link),
    )


def _deciding(sent: DecideLink, link: Link | None) -> Deciding:
    """Return what is tried: what was sent, else the link's own.

    Parts without an id get one by their place. A split has the secret of the link's, if it shares
    a variant with it, so its visitors draw what they would if it was stored.
    """
    own = Deciding() if link is None else Deciding(rules=link.rules, split=link.split)
    secrets = {one.id: split.secret for _, split in own.splits() for one in split.variants}
    tried = msgspec.to_builtins(own, builtin_types=(UUID,))
    for name in ("rules", "split"):
        if (given := getattr(sent, name)) is not UNSET:
            tried[name] = msgspec.to_builtins(given, builtin_types=(UUID,))
    for number, rule in enumerate(tried.get("rules", ())):
        rule.setdefault("id", uuid5(_UNSAVED, f"{number}"))
        _identify(rule.get("split"), f"{number}", secrets)
    _identify(tried.get("split"), "", secrets)
    return msgspec.convert(tried, Deciding)


def _identify(split: dict[str, Any] | None, at: str, secrets: Mapping[UUID, str]) -> None:
    if split is not None:
        for number, variant in enumerate(split["variants"]):
            variant.setdefault("id", uuid5(_UNSAVED, f"{at}.{number}"))
        known = (secrets.get(one["id"]) for one in split["variants"])
        split["secret"] = next(filter(None, known), _NO_SECRET)
