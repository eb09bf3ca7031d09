"""Documents of another release are read, with an unknown field and without the newest ones."""

from collections.abc import Awaitable, Callable
from datetime import date, timedelta
from typing import Any, Final

import pytest
from bson import Decimal128

from tests.conversions import scene
from tests.conversions.rules import cached_rules
from tests.factories import AT_MS, make_click, make_conversion
from tracker.access.principal import OPERATOR
from tracker.access.roles import Role
from tracker.clicks.sources import FIELDS
from tracker.clock import moment, now
from tracker.conversions.event_config import PayoutType
from tracker.conversions.rules import NO_RULES
from tracker.ids import new_id
from tracker.reports.query import ReportQuery
from tracker.reports.rollups.layout import stored_sums
from tracker.service.services import Services
from tracker.stores.redis import keys
from tracker.webhooks.deliveries import LEASE
from tracker.webhooks.delivery import Kind
from tracker.webhooks.payloads.template import DEFAULT
from tracker.webhooks.store import template_text

AT: Final = moment(AT_MS)
ACCOUNT, ONE = new_id(), new_id()
UNKNOWN: Final = {"added_later": {"a": [1]}}
OWNED: Final = {"_id": ONE, "account_id": ACCOUNT, "created_at": AT, **UNKNOWN}

LINK: Final[dict[str, Any]] = {
    "internal_name": "A link",
    "slug": "abc",
    "destination_url": "https://example.com/",
    "domain_id": None,
    "domain_name": "",
    "tags": [],
    "version": 1,
    "active": True,
    "archived": False,
}
EVENT: Final = {
    "_id": 7,
    "at": AT,
    "account_id": ACCOUNT,
    "event_config_id": None,
    "value": Decimal128("5"),
    "payout": None,
    "metadata": None,
    "status": "pending",
    "transaction_scope": None,
    **UNKNOWN,
}

OPERATOR_THEN: Final = {"kind": "operator", "id": None, "name": "operator", **UNKNOWN}
MONEY: Final = {"payout_type": "CPA", "payout": Decimal128("2.5")}

Find = Callable[[Services], Awaitable[Any]]
SHOWN: Final[dict[str, tuple[dict[str, Any], Find, dict[str, Any]]]] = {
    "links": (
        LINK,
        lambda s: s.links.link_cache.get(keys.link("", "abc")),
        {"destination_url": "https://example.com/"},
    ),
    "domains": (
        {"domain_name": "go.example.com", "verified": True, "token": "t", "version": 1},
        lambda s: s.links.domains.find(ONE),
        {"is_deleted": False, "last_check": None},
    ),
    "members": (
        {"person_id": ONE, "role": "viewer"},
        lambda s: s.accounts.members.find(ONE),
        {"role": Role.VIEWER, "last_seen_at": None},
    ),
    "invitations": (
        {
            "kind": "invitation",
            "email": None,
            "role": "owner",
            "sha256": b"1",
            "created_by": OPERATOR_THEN,
            "expires_at": now() + timedelta(days=1),
        },
        lambda s: s.access.invitations.find(ONE),
        {"created_by": OPERATOR, "without_totp": False},
    ),
    "event_configs": (
        {"name": "A", "pbk": "p", **MONEY, "active": True, "version": 1},
        lambda s: s.conversions.event_configs.by_postback_key("p"),
        {"payout_type": PayoutType.CPA, "archived": False, "parameter_aliases": {}},
    ),
}
"""What is stored, how it is found, and what is found."""


async def test_what_a_document_lacks_is_as_if_it_had_never_been_set(services: Services) -> None:
    for collection, (row, find, expected) in SHOWN.items():
        await services.stores.mongodb[collection].insert_one({**OWNED, **row})
        found = await find(services)
        assert {name: getattr(found, name) for name in expected} == expected
    assert await services.links.domains.by_name("go.example.com") is not None


async def test_an_account_without_rules_has_none_switched_on(services: Services) -> None:
    row = {"_id": ACCOUNT, "name": "A", "created_at": AT, **UNKNOWN}
    await services.stores.mongodb["accounts"].insert_one(row)
    assert await cached_rules(services, ACCOUNT) == NO_RULES
    assert await services.conversions.account_rules.find(ACCOUNT) == NO_RULES


async def test_a_webhook_of_no_kind_asks_for_conversions_and_its_delivery_is_one(
    services: Services,
) -> None:
    text = template_text(DEFAULT)
    row = {**OWNED, "name": "A", "target_url": "https://8.8.8.8/", "method": "POST"}
    row |= {"payload_template": text, "active": True, "secret": "s"}
    due = {**OWNED, "webhook_id": ONE, "status": "due", "due_at": AT}
    await services.stores.mongodb["webhooks"].insert_one(row)
    await services.stores.mongodb["deliveries"].insert_one(due)
    webhook = await services.webhooks.webhooks.find(ONE)
    assert webhook is not None
    assert (webhook.events, webhook.failing_since) == ((Kind.CONVERSION,), None)
    [claimed] = await services.webhooks.deliveries.claim({ONE: 5}, AT)
    assert (claimed.kind, claimed.attempts, claimed.due_at) == (Kind.CONVERSION, [], AT + LEASE)


async def test_a_pending_event_is_settled_when_its_click_arrives_and_keeps_unknown_fields(
    services: Services,
) -> None:
    click = make_click(ACCOUNT)
    made: Any = services.clicks.enrichment.document(click)
    await services.stores.mongodb["events"].insert_one({**EVENT, "click_id": made["_id"]})
    await scene.applied(services, [click])
    [event] = await scene.stored_events(services)
    assert (event["status"], event["country"]) == ("attributed", made["country"])
    assert event["added_later"] == UNKNOWN["added_later"]


async def test_an_event_of_a_stored_click_without_source_fields_has_none(
    services: Services,
) -> None:
    made: Any = services.clicks.enrichment.document(make_click(ACCOUNT, query="utm_source=news"))
    before = {name: made[name] for name in made if name not in FIELDS}
    assert len(before) == len(made) - 2
    await services.stores.mongodb["clicks"].insert_one(before)
    await scene.applied(services, [make_conversion(1, made["_id"])])
    [event] = await scene.stored_events(services)
    assert event["status"] == "attributed"
    assert not set(FIELDS) & event.keys()


async def test_a_rollup_is_reported_without_the_fields_it_lacks(services: Services) -> None:
    day = AT.date().isoformat()
    rollup_id = {"account_id": ACCOUNT, "of": "account", "day": day, "link_id": None, "slot": 0}
    row = {"_id": rollup_id, "total": {"clicks": 3}, **UNKNOWN, "note": "x"}
    await services.stores.mongodb["rollups"].insert_one(row)
    assert stored_sums(row) == {"total.clicks": 3}
    one_day = date.fromisoformat(day)
    query = ReportQuery(account_id=ACCOUNT, first=one_day, last=one_day, group_by="day")
    totals = (await services.reports.reports.run(query)).totals
    assert (totals.clicks, totals.unique_clicks) == (3, 0)


@pytest.mark.parametrize(
    ("stored", "days", "counts"),
    [
        ({}, "UTC", "UTC"),
        ({"time_zone_change": {"zone": "Asia/Tokyo", "is_counting": True}}, "UTC", "UTC"),
        (
            {
                "time_zone": "Asia/Tokyo",
                "time_zones_before": [{"zone": "UTC", "until": "2026-01-01"}],
                "time_zones_obsolete": ["UTC"],
            },
            "Asia/Tokyo",
            "Asia/Tokyo",
        ),
    ],
)
async def test_an_account_counts_on_in_the_zone_that_it_had(
    services: Services, stored: dict[str, Any], days: str, counts: str
) -> None:
    row = {"_id": ACCOUNT, "name": "A", "created_at": AT, **stored, **UNKNOWN}
    await services.stores.mongodb["accounts"].insert_one(row)
    _, changed = await services.accounts.time_zones.request(ACCOUNT, "Europe/Berlin")
    for calendar in (await services.accounts.time_zones.find(ACCOUNT), changed):
        assert (calendar.zone_at(now()), calendar.zone) == (days, counts)
    found = await services.stores.mongodb["accounts"].find_one({"_id": ACCOUNT})
    assert found is not None
    assert found["added_later"] == UNKNOWN["added_later"]
