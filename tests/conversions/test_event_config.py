"""What a postback key stands for, and what a conversion pays."""

import re
from decimal import Decimal
from typing import Any

import pytest
from bson import Decimal128

from tests.conversions import scene
from tracker.conversions.event_config import PayoutType
from tracker.ids import new_id
from tracker.services import Services


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
    config = await scene.config(services, payout_type=payout_type, payout=payout)
    assert config.payout_of(None if value is None else Decimal(value)) == Decimal(paid)


async def test_a_payout_is_one_that_mongodb_can_hold_exactly(services: Services) -> None:
    config = await scene.config(
        services, payout_type=PayoutType.REV_SHARE, payout="33.333333333333333333"
    )
    for value in ("123456789012345.123456789012345", "1e-30", "-1E+15", "0E-30"):
        paid = config.payout_of(Decimal(value))
        assert Decimal128(paid).to_decimal() == paid


async def test_a_new_configuration_has_a_key_that_nobody_guesses(services: Services) -> None:
    configs = [await scene.config(services) for _ in range(5)]
    assert len({config.pbk for config in configs}) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22,}", config.pbk) for config in configs)


async def test_money_is_stored_as_decimal128(services: Services) -> None:
    config = await scene.config(services, payout="12.3400")
    row: Any = await services.database["event_configs"].find_one({"_id": config.id})
    assert row["payout"] == Decimal128("12.3400")
    assert "id" not in row


async def test_a_configuration_is_found_by_its_key_on_every_process(services: Services) -> None:
    config = await scene.config(services, payout="12.3400")
    async with scene.process(services.settings) as other:
        assert await other.event_configs.by_postback_key(config.pbk) == config
        await services.redis.flushall()
        other.pbk_cache.forget_all()
        assert await other.event_configs.by_postback_key(config.pbk) == config
        other.pbk_cache.forget_all()
        assert await other.event_configs.by_postback_key(config.pbk) == config


async def test_a_key_that_was_asked_for_too_early_is_found_once_it_exists(
    services: Services,
) -> None:
    assert await services.event_configs.by_postback_key("early") is None
    config = await scene.config(services)
    assert await services.event_configs.by_postback_key(config.pbk) == config


@pytest.mark.parametrize("pbk", ["unknown", "", "event_config:x", "ü", "$ne", "a" * 128])
async def test_an_unknown_key_stands_for_nothing(services: Services, pbk: str) -> None:
    await scene.config(services)
    assert await services.event_configs.by_postback_key(pbk) is None


async def test_an_inactive_configuration_stands_for_nothing(services: Services) -> None:
    config = await scene.config(services)
    await services.database["event_configs"].update_one({}, {"$set": {"active": False}})
    await services.redis.flushall()
    services.pbk_cache.forget_all()
    assert await services.event_configs.by_postback_key(config.pbk) is None
    (listed,) = await services.event_configs.list(config.account_id)
    assert not listed.active


async def test_an_account_lists_its_own_configurations_newest_first(services: Services) -> None:
    account_id = new_id()
    first = await scene.config(services, account_id)
    await scene.config(services)
    second = await scene.config(services, account_id, PayoutType.REV_SHARE, "7.5")
    assert await services.event_configs.list(account_id) == [second, first]
