"""Rules of an account against forged conversions: refused with nothing recorded, or not counted."""

import asyncio
from collections import Counter
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.conversions.rules import account_with, cached_rules, report, statuses
from tests.factories import (
    create_click,
    create_event_config,
    create_webhook,
    make_click,
    make_conversion,
)
from tests.ingest import ledger
from tracker.conversions.rules import ConversionRules, Rule
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id
from tracker.metrics import CONVERSIONS_REFUSED
from tracker.service.services import Services


@pytest.mark.parametrize(
    ("rules", "has_pbk", "value", "broken"),
    [
        ({}, False, "-1000", None),
        ({}, False, "1e15", None),
        ({"require_pbk": True}, True, None, None),
        ({"require_pbk": True}, False, None, Rule.REQUIRE_PBK),
        ({"no_negative_values": True}, True, "0", None),
        ({"no_negative_values": True}, True, "-0.0", None),
        ({"no_negative_values": True}, True, None, None),
        ({"no_negative_values": True}, True, "-0.01", Rule.NO_NEGATIVE_VALUES),
        ({"max_value": Decimal(100)}, True, "100.00", None),
        ({"max_value": Decimal(100)}, True, "100.01", Rule.MAX_VALUE),
        ({"max_value": Decimal(0)}, True, "-5", None),
        ({"require_pbk": True, "max_value": Decimal(1)}, False, "2", Rule.REQUIRE_PBK),
    ],
)
def test_a_conversion_breaks_a_rule_or_not(
    rules: dict[str, Any], has_pbk: bool, value: str | None, broken: Rule | None
) -> None:
    number = None if value is None else Decimal(value)
    assert ConversionRules(**rules).broken_by(has_pbk, number) is broken


@pytest.mark.parametrize("memory", ["cold", "warm"])
@pytest.mark.parametrize(
    ("rules", "fields", "message"),
    [
        ({"require_pbk": True}, {"click_id": "stored"}, "pbk: required"),
        ({"no_negative_values": True}, {"click_id": "stored", "value": "-1"}, "value: the account"),
        ({"no_negative_values": True}, {"pbk": "own", "value": "-1"}, "value: the account"),
        ({"max_value": Decimal(10)}, {"pbk": "own", "value": "10.5"}, "value: at most 10"),
        ({"max_value": Decimal(10)}, {"click_id": "stored", "value": "11"}, "value: at most 10"),
    ],
)
async def test_a_conversion_that_breaks_a_rule_is_refused_by_field_and_not_recorded(
    services: Services, memory: str, rules: Any, fields: dict[str, Any], message: str
) -> None:
    account = await account_with(services, **rules)
    config = await create_event_config(services, account.id)
    click_id = await create_click(services, account.id)
    if memory == "warm":
        await cached_rules(services, account.id)
    known = {"own": config.pbk, "stored": click_id}
    sent: dict[str, Any] = {name: known.get(value, value) for name, value in fields.items()}
    if "value" in sent:
        sent["value"] = Decimal(sent["value"])
    rule = next(iter(rules))
    before = CONVERSIONS_REFUSED.labels(rule)._value.get()
    with pytest.raises(BadRequest) as refused:
        await report(services, **sent)
    assert refused.value.message.startswith(message)
    assert CONVERSIONS_REFUSED.labels(rule)._value.get() == before + 1
    assert await scene.drained(services) == 0


async def test_without_rules_every_conversion_is_recorded(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    click_id = await create_click(services, account.id)
    for value in ("-1000", "1e15"):
        assert (await report(services, click_id=click_id, value=Decimal(value))).click_found
    await scene.drained(services)
    assert await statuses(services) == [("attributed", None)] * 2


@pytest.mark.parametrize("by_key", [True, False])
async def test_the_conversions_of_a_click_and_configuration_are_limited(
    services: Services, by_key: bool
) -> None:
    account = await account_with(services, max_per_click=2)
    config = await create_event_config(services, account.id)
    click_id = await create_click(services, account.id)
    fields: dict[str, Any] = {"click_id": click_id, "pbk": config.pbk if by_key else None}
    before = CONVERSIONS_REFUSED.labels("max_per_click")._value.get()
    answers = await asyncio.gather(*(report(services, **fields) for _ in range(20)))
    assert len({answer.event_id for answer in answers}) == 20
    await scene.drained(services)
    await report(services, **fields)
    # Others have a bound of their own.
    other = await create_event_config(services, account.id)
    await report(services, click_id=click_id, pbk=other.pbk)
    await report(services, **{**fields, "click_id": await create_click(services, account.id)})
    await scene.drained(services)
    assert Counter(await statuses(services)) == {
        ("attributed", None): 4,
        ("refused", "max_per_click"): 19,
    }
    assert CONVERSIONS_REFUSED.labels("max_per_click")._value.get() == before + 19
    assert (await ledger.totals(services))["conversions"] == 4


async def test_a_repeated_transaction_id_gives_the_first_event_even_at_the_limit(
    services: Services,
) -> None:
    account = await account_with(services, max_per_click=1)
    click_id = await create_click(services, account.id)
    fields: dict[str, Any] = {"click_id": click_id, "transaction_id": "t"}
    first = await report(services, **fields)
    assert await report(services, **fields) == scene.repeated(first)
    await scene.drained(services)
    assert await report(services, **fields) == scene.repeated(first)
    await report(services, click_id=click_id, transaction_id="u")
    await scene.drained(services)
    assert await statuses(services) == [("attributed", None), ("refused", "max_per_click")]


@pytest.mark.parametrize("drained", [False, True])
@pytest.mark.parametrize(
    "rules", [{"require_pbk": True}, {"no_negative_values": True}, {"max_value": Decimal(-5)}]
)
async def test_a_repeated_transaction_id_gives_the_first_event_whatever_rule_was_added(
    services: Services, rules: Any, drained: bool
) -> None:
    account = await services.accounts.accounts.create("Acme")
    click_id = await create_click(services, account.id)
    fields: dict[str, Any] = {"click_id": click_id, "value": Decimal(-1)}
    first = await report(services, **fields, transaction_id="t")
    if drained:
        await scene.drained(services)
    await services.conversions.account_rules.change(account.id, rules)
    repeated = await report(services, **fields, transaction_id="t")
    assert repeated == scene.repeated(first)
    with pytest.raises(BadRequest):
        await report(services, **fields, transaction_id="u")
    await scene.drained(services)
    assert await statuses(services) == [("attributed", None)]


async def test_a_conversion_that_was_not_recorded_does_not_count_towards_the_cap(
    services: Services,
) -> None:
    account = await account_with(services, max_per_click=2)
    click_id = await create_click(services, account.id)
    fields: dict[str, Any] = {"click_id": click_id, "transaction_id": "t"}
    answers = await asyncio.gather(*(report(services, **fields) for _ in range(2)))
    assert len({answer.event_id for answer in answers}) == 1
    await report(services, click_id=click_id)
    await scene.drained(services)
    assert len(await statuses(services)) == 2


async def early(services: Services, account_id: UUID, **fields: Any) -> UUID:
    """Reported before their click is stored, without postback key: nobody knows whose it is."""
    click = make_click(account_id)
    click_id = UUID(bytes=click.id)
    for value in fields.pop("values"):
        await report(services, click_id=click_id, value=value, **fields)
    await scene.drained(services)
    assert {status for status, _ in await statuses(services)} == {"pending"}
    await scene.applied(services, [click])
    return click_id


@pytest.mark.parametrize(
    ("rules", "values", "expected"),
    [
        ({"require_pbk": True}, [1], [("refused", "require_pbk")]),
        ({"no_negative_values": True}, [-1, 1], [("refused", "no_negative_values"), None]),
        ({"max_value": Decimal(10)}, [11, 9], [("refused", "max_value"), None]),
        ({"max_per_click": 2}, [1, 2, 3, 4], [None, None, *[("refused", "max_per_click")] * 2]),
        ({}, [-(10**9), 10**15], [None, None]),
    ],
)
async def test_an_event_that_breaks_a_rule_when_its_click_arrives_is_only_kept(
    services: Services, rules: Any, values: list[int], expected: list[Any]
) -> None:
    account = await services.accounts.accounts.create("Acme")
    await create_webhook(services, account.id)
    if rules:
        await services.conversions.account_rules.change(account.id, rules)
    await early(services, account.id, values=[Decimal(value) for value in values])
    assert await statuses(services) == [one or ("attributed", None) for one in expected]
    assert (await ledger.totals(services))["conversions"] == expected.count(None)
    assert len(await ledger.notified(services)) == expected.count(None)
    await ledger.check(services)


async def test_only_events_that_obey_the_rules_count_when_their_click_is_in_the_batch(
    services: Services,
) -> None:
    account = await account_with(services, no_negative_values=True, max_per_click=1)
    click = make_click(account.id)
    click_id = UUID(bytes=click.id)
    await services.journal.journal.append(click)
    for value in (-5, 7, 8):
        await report(services, click_id=click_id, value=Decimal(value))
    await scene.drained(services)
    assert await statuses(services) == [
        ("refused", "no_negative_values"),
        ("attributed", None),
        ("refused", "max_per_click"),
    ]
    await ledger.check(services)


async def test_conversions_answered_before_a_rule_was_switched_on_count(services: Services) -> None:
    account = await services.accounts.accounts.create("Acme")
    click_id = await create_click(services, account.id)
    await report(services, click_id=click_id, value=Decimal(-1))
    await services.conversions.account_rules.change(account.id, {"no_negative_values": True})
    await scene.drained(services)
    assert await statuses(services) == [("attributed", None)]


async def test_rules_are_changed_one_by_one(services: Services) -> None:
    account = await account_with(services, require_pbk=True, max_value=Decimal("1.5"))
    await services.conversions.account_rules.change(
        account.id, {"max_value": None, "max_per_click": 3}
    )
    expected = ConversionRules(require_pbk=True, max_per_click=3)
    assert await services.conversions.account_rules.find(account.id) == expected
    assert await cached_rules(services, account.id) == expected
    with pytest.raises(NotFound):
        await services.conversions.account_rules.change(new_id(), {"require_pbk": True})
    assert await cached_rules(services, new_id()) == ConversionRules()


async def test_without_both_stores_the_drain_checks_the_rules(services: Services) -> None:
    account = await account_with(services, no_negative_values=True)
    event = make_conversion(1, None, account_id=account.id.bytes, value="-1")
    await scene.applied(services, [event])
    assert await statuses(services) == [("refused", "no_negative_values")]
