"""Rules of an account against forged conversions: refused with nothing recorded, or not counted."""

import asyncio
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from tests.conversions import scene
from tests.conversions.rules import account_with, cached_rules, report, statuses
from tests.factories import (
    create_click,
    create_event_config,
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
