"""How events lie in MongoDB, and that a second copy changes nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from bson import Decimal128
from pytest import approx

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_conversion
from tracker.clock import now
from tracker.conversions.document import EventIdTaken
from tracker.ids import new_id
from tracker.service.services import Services

SCOPE = new_id()


async def test_every_field_has_its_type(services: Services) -> None:
    account, config, click = new_id(), new_id(), new_id()
    full = make_conversion(
        12,
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
        "_id": 12,
        "at": datetime.fromtimestamp((AT_MS + 12) / 1000, UTC),
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


async def test_unknown_fields_are_null_and_a_missing_transaction_id_is_left_out(
    services: Services,
) -> None:
    await scene.applied(services, [make_conversion(1), make_conversion(2)])
    rows = await scene.stored_events(services)
    assert [row["_id"] for row in rows] == [1, 2]
    assert all(row["status"] == "no_click" for row in rows)
    assert all("transaction_id" not in row for row in rows)
    assert all(row[name] is None for row in rows for name in ("value", "payout", "metadata"))


@pytest.mark.parametrize("text", ["1E-30", "0E-30", "123456789012345.123456789012345", "-0.10"])
async def test_a_decimal_is_stored_exactly(services: Services, text: str) -> None:
    await scene.applied(services, [make_conversion(1, value=text)])
    (row,) = await scene.stored_events(services)
    assert row["value"] == Decimal128(text)


async def test_an_id_up_to_two_to_the_53rd_is_stored(services: Services) -> None:
    await scene.applied(services, [make_conversion(2**53 - 1)])
    assert [row["_id"] for row in await scene.stored_events(services)] == [2**53 - 1]


async def test_inserting_again_changes_nothing(services: Services) -> None:
    event = make_conversion(1, new_id().bytes, transaction_id="t", transaction_scope=SCOPE.bytes)
    await scene.applied(services, [event])
    before = await scene.dump(services)
    await scene.applied(services, [event, event])
    assert await scene.dump(services) == before


async def test_a_repeated_transaction_id_is_left_out_and_the_rest_of_the_batch_is_stored(
    services: Services,
) -> None:
    one: dict[str, Any] = {"transaction_id": "t", "transaction_scope": SCOPE.bytes}
    await scene.applied(services, [make_conversion(1, **one)])
    await scene.applied(
        services, [make_conversion(2), make_conversion(3, **one), make_conversion(4)]
    )
    assert [row["_id"] for row in await scene.stored_events(services)] == [1, 2, 4]


async def test_only_events_that_wait_for_the_given_clicks_are_found(services: Services) -> None:
    mine, others, seen = new_id(), new_id(), new_id()
    foreign = {"account_id": new_id().bytes}
    await scene.applied(
        services,
        [
            make_conversion(1, mine.bytes),
            make_conversion(2, others.bytes),
            make_conversion(4),
            make_click(click_id=seen),
            make_conversion(3, seen.bytes, **foreign),
        ],
    )
    assert [
        row["_id"] for row in await services.conversions.store.pending([mine.bytes, seen.bytes])
    ] == [1]
    assert await services.conversions.store.pending([]) == []


async def test_another_event_with_a_stored_id_is_never_taken_for_a_redelivery(
    services: Services,
) -> None:
    first = make_conversion(7)
    await scene.applied(services, [first])
    await scene.applied(services, [first])
    with pytest.raises(EventIdTaken):
        await scene.applied(services, [msgspec.structs.replace(first, value="2")])
