"""How events lie in MongoDB."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from bson import Decimal128
from pytest import approx

from tests.conversions import scene
from tests.factories import AT_MS, make_conversion
from tracker.clock import now
from tracker.ids import new_id
from tracker.service.services import Services


async def test_every_field_has_its_type(services: Services) -> None:
    account, config, click = new_id(), new_id(), new_id()
    full = make_conversion(
        2**53 - 1,
        click.bytes,
        account_id=account.bytes,
        event_config_id=config.bytes,
        value="12.50",
        payout="1.2500",
        metadata='{"$a":{"b.c":1}}',
        transaction_id="t",
        transaction_scope=config.bytes,
    )
    await scene.applied(services, [full])
    (row,) = await scene.stored_events(services)
    assert row.pop("tell_at") - now() == approx(timedelta(hours=1), abs=timedelta(minutes=1))
    assert row == {
        "_id": 2**53 - 1,
        "at": datetime.fromtimestamp((AT_MS + (2**53 - 1) % 1000) / 1000, UTC),
        "account_id": account,
        "event_config_id": config,
        "click_id": click,
        "value": Decimal128("12.50"),
        "payout": Decimal128("1.2500"),
        "metadata": '{"$a":{"b.c":1}}',
        "status": "pending",
        "transaction_scope": config,
        "transaction_id": "t",
    }
    assert isinstance(row["account_id"], UUID)
    assert str(row["value"]) == "12.50"
    assert row["at"].utcoffset().total_seconds() == 0


@pytest.mark.parametrize("text", ["1E-30", "0E-30", "123456789012345.123456789012345", "-0.10"])
async def test_a_decimal_is_stored_exactly(services: Services, text: str) -> None:
    await scene.applied(services, [make_conversion(1, value=text)])
    (row,) = await scene.stored_events(services)
    assert row["value"] == Decimal128(text)
