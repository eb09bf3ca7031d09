"""Event configurations: found by their postback key, changed, and what a conversion pays."""

import re
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from bson import Decimal128
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import create_event_config
from tracker.conversions.event_config import (
    MAX_PAYOUT,
    PayoutType,
    checked_payout,
)
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.syntax.amounts import DECIMALS


@pytest.mark.parametrize(
    ("payout_type", "payout", "value", "paid"),
    [
        (PayoutType.CPA, "2.50", None, "2.50"),
        (PayoutType.CPL, "2.50", "100", "2.50"),
        (PayoutType.CPS, "0", "100", "0"),
        (PayoutType.CPI, "0.0001", "-1", "0.0001"),
        (PayoutType.REV_SHARE, "10", "19.99", "1.999"),
        (PayoutType.REV_SHARE, "12.5", "0.1", "0.0125"),
        (PayoutType.REV_SHARE, "100", "0", "0"),
        (PayoutType.REV_SHARE, "10", "-19.99", "-1.999"),
        (PayoutType.REV_SHARE, "0", "5", "0"),
    ],
)
async def test_a_conversion_pays_a_share_or_a_fixed_amount(
    services: Services, payout_type: PayoutType, payout: str, value: str | None, paid: str
) -> None:
    config = await create_event_config(services, payout_type=payout_type, payout=payout)
    assert config.payout_of(None if value is None else Decimal(value)) == Decimal(paid)


async def test_a_payout_is_one_that_mongodb_can_hold_exactly(services: Services) -> None:
    config = await create_event_config(
        services, payout_type=PayoutType.REV_SHARE, payout="33.333333333333333333"
    )
    for value in ("123456789012345.123456789012345", "1e-30", "-1E+15", "0E-30"):
        paid = config.payout_of(Decimal(value))
        assert Decimal128(paid).to_decimal() == paid


async def test_a_new_configuration_has_a_key_that_nobody_guesses(services: Services) -> None:
    configs = [await create_event_config(services) for _ in range(5)]
    assert len({config.pbk for config in configs}) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22,}", config.pbk) for config in configs)


async def test_an_archived_configuration_is_not_listed_but_kept_with_its_key(
    services: Services,
) -> None:
    config = await create_event_config(services)
    archived = await services.conversions.event_configs.change(config.id, {"archived": True})
    assert await services.conversions.event_configs.by_postback_key(config.pbk) is None
    assert await services.conversions.event_configs.list(config.account_id) == []
    assert await services.conversions.event_configs.page(config.account_id, 1, 25) == ([], 0)
    assert await services.conversions.event_configs.find(config.id) == archived
    assert archived.archived
    assert (archived.pbk, archived.active) == (config.pbk, True)
    await services.stores.redis.flushall()
    services.conversions.event_config_cache.forget_all()
    assert await services.conversions.event_configs.by_postback_key(config.pbk) is None


async def test_a_configuration_of_an_earlier_release_is_not_archived(services: Services) -> None:
    config = await create_event_config(services)
    await services.stores.mongodb["event_configs"].update_one({}, {"$unset": {"archived": 1}})
    assert await services.conversions.event_configs.list(config.account_id) == [config]
    assert await services.conversions.event_configs.find(config.id) == config


async def test_a_change_sets_what_is_given_and_counts_the_version_up(services: Services) -> None:
    config = await create_event_config(services)
    fields = {"payout": Decimal("7.25"), "payout_type": PayoutType.REV_SHARE, "name": "lead"}
    changed = await services.conversions.event_configs.change(config.id, fields)
    assert changed == msgspec.structs.replace(config, version=config.version + 1, **fields)
    assert await services.conversions.event_configs.by_postback_key(config.pbk) == changed
    row: Any = await services.stores.mongodb["event_configs"].find_one({"_id": config.id})
    assert row["payout"] == Decimal128("7.25")


async def test_changing_an_unknown_configuration_is_not_found(services: Services) -> None:
    with pytest.raises(NotFound, match="event config: not found"):
        await services.conversions.event_configs.change(new_id(), {"active": False})
    assert await services.conversions.event_configs.find(new_id()) is None


@pytest.mark.parametrize(
    ("value", "payout"),
    [
        (0, "0"),
        (MAX_PAYOUT, "1000000000"),
        (Decimal("1E+9"), "1000000000"),
        (Decimal("0E+400"), "0"),
        (Decimal("0E-400"), "0.000000"),
        (Decimal("-0.00"), "0.00"),
        (Decimal("2.50"), "2.50"),
        (Decimal("0.000001"), "0.000001"),
        (Decimal("1E-6"), "0.000001"),
        (Decimal(f"1.{'0' * 50}"), "1.000000"),
        (Decimal("999999999.999999"), "999999999.999999"),
    ],
)
def test_a_payout_is_kept_digit_by_digit_without_an_exponent(value: object, payout: str) -> None:
    assert str(checked_payout(value)) == payout


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("1", "must be a number"),
        (1.5, "must be a number"),
        (True, "must be a number"),
        (None, "must be a number"),
        (-1, "must be from 0 to 1000000000"),
        (Decimal("-1E-400"), "must be from 0 to 1000000000"),
        (Decimal("1000000000.000001"), "must be from 0 to 1000000000"),
        (Decimal("1E+999999"), "must be from 0 to 1000000000"),
        (10**400, "must be from 0 to 1000000000"),
        (Decimal("NaN"), "must be from 0 to 1000000000"),
        (Decimal("sNaN"), "must be from 0 to 1000000000"),
        (Decimal("Infinity"), "must be from 0 to 1000000000"),
        (Decimal("0.0000001"), "at most 6 decimals"),
        (Decimal("1E-999999"), "at most 6 decimals"),
        (Decimal(f"0.{'1' * 40}"), "at most 6 decimals"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_invalid_payout_is_refused(value: object, rule: str) -> None:
    with pytest.raises(BadRequest) as refused:
        checked_payout(value)
    assert refused.value.message == f"payout: {rule}"


@given(st.integers() | st.decimals())
def test_any_number_is_a_payout_that_mongodb_holds_exactly_or_refused(
    value: int | Decimal,
) -> None:
    try:
        payout = checked_payout(value)
    except BadRequest:
        return
    assert payout == value
    assert 0 <= payout <= MAX_PAYOUT
    assert -DECIMALS <= int(payout.as_tuple().exponent) <= 0
    assert Decimal128(payout).to_decimal() == payout
