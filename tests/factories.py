"""Makers of links, clicks, conversions and visits, with a default for every field.

`make_…` returns a value and stores nothing. `create_…` stores one, and returns it as it is stored.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec

from tracker.access.principal import OPERATOR
from tracker.access.roles import Role
from tracker.accounts.members import Member
from tracker.accounts.people import Person
from tracker.alerts.rules import Rule
from tracker.clicks.click import Click
from tracker.clicks.visit import ClientHeaders, Visit
from tracker.clock import moment, now
from tracker.conversions.conversion import Conversion
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.conversions.postbacks.aliases import AliasedParameter
from tracker.conversions.postbacks.parameters import ConversionParameters
from tracker.ids import new_click_id, new_id
from tracker.links.domain import Domain
from tracker.links.link import Link, NewLink
from tracker.links.rules.rule import Split, Variant
from tracker.reports.costs.entries import PeriodCost
from tracker.service.services import Services
from tracker.sharing.shares import Share
from tracker.sharing.views import View
from tracker.stores.mongodb.transaction import run_in_transaction
from tracker.visitor_dimensions import DIMENSIONS
from tracker.webhooks.payloads.template import DEFAULT
from tracker.webhooks.store import Webhook

Document = dict[str, Any]

AT_MS = 1_767_000_000_123
"""The time at which clicks and events were made."""
LANDING = "https://example.com/landing"
TARGET = "https://8.8.8.8/hook"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36"
)


def make_click(
    account_id: UUID | None = None, click_id: UUID | None = None, **fields: Any
) -> Click:
    """Return the journal's record of a click."""
    given: dict[str, Any] = {
        "id": (click_id or new_click_id()).bytes,
        "at": AT_MS,
        "account_id": (account_id or new_id()).bytes,
        "link_id": new_id().bytes,
        "domain_name": "go.example.com",
        "address": "8.8.8.8",
        "user_agent": CHROME,
        "referrer": "https://example.com/",
        "purpose": "",
        "edge_country": "",
        "query": "a=1",
    }
    return Click(**(given | fields))


def make_conversion(number: int, click_id: bytes | None = None, **fields: Any) -> Conversion:
    """Return conversion `number` of the journal, of `click_id` and no event configuration."""
    given: dict[str, Any] = dict.fromkeys(Conversion.__struct_fields__)
    given |= {"id": number, "at": AT_MS + number % 1000, "click_id": click_id}
    given |= {"checked": False, "test": False}
    return Conversion(**(given | fields))


def make_click_document(**fields: Any) -> Document:
    """Return a click as it is stored, with what reports read."""
    return {
        "_id": new_id(),
        "account_id": new_id(),
        "link_id": new_id(),
        "at": moment(AT_MS),
        "domain_name": "",
        **{one.name: one.sample for one in DIMENSIONS},
        "country": "DE",
        "device": "mobile",
        "browser": "Chrome",
        "os": "Android",
        "bot": None,
        "unique": True,
    } | fields


def make_event_document(number: int, **fields: Any) -> Document:
    """Return stored conversion `number`: without a click, unless `fields` have one."""
    return {
        "_id": number,
        "account_id": new_id(),
        "event_config_id": None,
        "click_id": None,
        "at": moment(AT_MS),
        "value": None,
        "payout": None,
        "status": "no_click",
    } | fields


def make_parameters(**fields: Any) -> ConversionParameters:
    """Return the parameters of a conversion, with only `fields` sent."""
    given: dict[str, Any] = dict.fromkeys(ConversionParameters.__struct_fields__)
    return ConversionParameters(**(given | fields))


def make_visit(host: str = "tracker.test", **fields: Any) -> Visit:
    """Return a visitor's request for the link `abc`."""
    headers = ClientHeaders.from_headers(
        user_agent="curl/8.0", referrer="", purpose="", edge_country=""
    )
    visit = Visit("GET", host, slug="abc", query="", address="8.8.8.8", headers=headers)
    return msgspec.structs.replace(visit, **fields)


def make_new_link(account_id: UUID, domain: Domain | None = None, **fields: Any) -> NewLink:
    """Return a request for a link, with a random slug unless `fields` have one."""
    given: dict[str, Any] = {
        "destination_url": LANDING,
        "internal_name": "A link",
        "slug": None,
        "domain_id": domain.id if domain else None,
        "domain_name": domain.domain_name if domain else "",
        "tags": [],
    }
    return NewLink(account_id=account_id, **(given | fields))


def make_split(secret: str = "00" * 16, **weights: int) -> Split:
    """Return a split of these weights by name."""
    given = weights or {"a": 1, "b": 1}
    variants = [
        Variant(id=new_id(), name=name, destination_url=f"https://{name}.example/", weight=weight)
        for name, weight in given.items()
    ]
    return Split(variants=variants, secret=secret)


async def create_link(
    services: Services,
    account_id: UUID,
    slug: str | None = "abc",
    destination_url: str = LANDING,
    **fields: Any,
) -> Link:
    """Store a link: on the default domain, unless `fields` have a `domain`."""
    fields |= {"slug": slug, "destination_url": destination_url}
    return await services.links.links.create(make_new_link(account_id, **fields))


async def insert_links(services: Services, rows: Sequence[Document]) -> None:
    """Insert links as an earlier release did, which counted none. So no count is complete."""
    await services.stores.mongodb["links"].insert_many(rows)
    await services.stores.mongodb["link_counts"].delete_many({})


def make_event_config(**fields: Any) -> EventConfig:
    given: dict[str, Any] = {
        "version": 1,
        "id": new_id(),
        "account_id": new_id(),
        "name": "Purchase",
        "pbk": "k",
        "payout_type": PayoutType.CPA,
        "payout": Decimal("2.50"),
        "active": True,
        "created_at": now(),
    }
    return EventConfig(**(given | fields))


async def create_event_config(
    services: Services,
    account_id: UUID | None = None,
    payout_type: PayoutType = PayoutType.CPA,
    payout: str = "2.50",
    name: str = "Purchase",
    parameter_aliases: Mapping[str, str] | None = None,
    **reports: Any,
) -> EventConfig:
    """Store an event configuration."""
    account_id = account_id or new_id()
    aliases = {one: AliasedParameter(other) for one, other in (parameter_aliases or {}).items()}
    of = (account_id, name, payout_type, Decimal(payout), aliases)
    return await services.conversions.event_configs.create(*of, **reports)


async def create_webhook(services: Services, account_id: UUID, target_url: str = TARGET) -> Webhook:
    """Store an active webhook that is older than every event of the tests."""
    made = await services.webhooks.webhooks.create(
        account_id, "A webhook", target_url, "POST", DEFAULT
    )
    long_ago = {"$set": {"created_at": moment(AT_MS - 1)}}
    await services.stores.mongodb["webhooks"].update_one({"_id": made.id}, long_ago)
    return made


async def create_share(
    services: Services,
    account_id: UUID,
    name: str = "A share",
    report: str = '{"lastDays":7}',
    show_link_names: bool = False,
    **options: Any,
) -> tuple[Share, str]:
    """Store a share without an end; return it and its token."""

    share = Share(
        id=new_id(),
        account_id=account_id,
        name=name,
        report=report,
        show_link_names=show_link_names,
        password=None,
        created_at=now(),
        expires_at=None,
        created_by=OPERATOR,
        **options,
    )
    token = await run_in_transaction(
        services.stores.mongodb.database,
        lambda session: services.sharing.shares.create(share, session),
    )
    return share, token


async def create_view(services: Services, account_id: UUID, name: str = "A view") -> View:
    """Store a view."""
    return await run_in_transaction(
        services.stores.mongodb.database,
        lambda session: services.sharing.views.create(account_id, name, "country=DE", session),
    )


async def create_rule(
    services: Services, kind: str, account_id: UUID, webhook_id: UUID, **fields: Any
) -> Rule:
    """Store an alert or a summary, due now. `fields` are of its rule, or `until` of itself."""
    given: dict[str, Any] = (
        {"measure": "clicks", "hours": 1, "condition": "below", "threshold": 10}
        if kind == "alerts"
        else {"every": "week"}
    )
    at, until = now(), fields.pop("until", None)
    rule = Rule(
        id=new_id(),
        account_id=account_id,
        name="A rule",
        webhook_id=webhook_id,
        rule=msgspec.json.encode({**given, **fields}).decode(),
        created_at=at,
        due_at=at,
        until=until or at,
    )
    await run_in_transaction(
        services.stores.mongodb.database,
        lambda session: getattr(services.alerts, kind).create(rule, session),
    )
    return rule


async def create_cost(services: Services, account_id: UUID, **fields: Any) -> UUID:
    """Store a cost of 31 January 2026, by default of campaign `spring`."""
    given: dict[str, Any] = {"first": "2026-01-31", "last": "2026-01-31", "filter": "utm_campaign"}
    given |= {"value": "spring", "amount": 120_500_000_000, "id": new_id()}
    sent = PeriodCost(**(given | fields))
    [(cost_id, _)] = await run_in_transaction(
        services.stores.mongodb.database,
        lambda session: services.costs.costs.put(account_id, [sent], OPERATOR, session),
    )
    return cost_id


async def create_person(services: Services, email: str = "", **fields: Any) -> Person:
    """Store a person, whose password no test needs. The e-mail is new unless it is given."""
    email = email or f"{new_id().hex}@example.com"
    return await services.accounts.people.create(email, **{"name": "Ada", "password": ""} | fields)


async def create_member(
    services: Services, account_id: UUID, role: Role = Role.OWNER, person: Person | None = None
) -> Member:
    """Store a member: a new person unless one is given."""
    person = person or await create_person(services)
    return await services.accounts.members.add(account_id, person.id, role)


async def create_click(services: Services, account_id: UUID) -> UUID:
    """Store a new click in MongoDB and return its id."""
    return await store_click(services, make_click(account_id))


async def store_click(services: Services, click: Click) -> UUID:
    """Store `click` in MongoDB, without what it counts, and return its id."""
    await services.stores.mongodb["clicks"].insert_one(
        dict(services.clicks.enrichment.document(click))
    )
    return UUID(bytes=click.id)
