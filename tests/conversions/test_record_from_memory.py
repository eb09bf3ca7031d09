"""Recording for a waiter: what needs no task comes to the same as what does."""

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import create_click, create_event_config, make_click, make_conversion
from tracker.conversions.event_config import PayoutType
from tracker.conversions.waiters import Recorded
from tracker.errors import BadRequest, NotFound, TrackerError, Unavailable
from tracker.ids import new_id
from tracker.service.services import Services

Waiter = asyncio.Future[Recorded]


def waiter() -> Waiter:
    return asyncio.get_running_loop().create_future()


async def ready(services: Services, *keys: str) -> None:
    """Memory knows those postback keys, and has event ids."""
    await services.event_ids.start()
    for key in keys:
        await services.event_configs.by_postback_key(key)


def taken(services: Services, told: Waiter, **fields: Any) -> bool:
    return services.recorder.record_from_memory(told, make_conversion(**fields))


def told_by_both(row: dict[str, Any]) -> dict[str, Any]:
    """What is the same of two events of one conversion."""
    return {name: row[name] for name in row.keys() - {"_id", "at", "tell_at"}}


@pytest.mark.parametrize("click", ["stored", "unknown", "none"])
@pytest.mark.parametrize("by_key", [True, False])
async def test_it_records_what_record_does(services: Services, click: str, by_key: bool) -> None:
    config = await create_event_config(services, payout_type=PayoutType.REV_SHARE, payout="12.5")
    await ready(services, config.pbk)
    stored = await create_click(services, config.account_id)
    fields: dict[str, Any] = {
        "value": Decimal("19.90"),
        "metadata": '{"a":1}',
        "click_id": {"stored": stored, "unknown": new_id()}.get(click),
        "pbk": config.pbk if by_key or click == "none" else None,
    }
    told = waiter()
    assert taken(services, told, **fields)
    answers = [await told, await services.recorder.record(make_conversion(**fields))]
    assert [answer.click_found for answer in answers] == [click == "stored"] * 2
    await scene.drained(services)
    rows = await scene.stored_events(services)
    assert [row["_id"] for row in rows] == [answer.event_id for answer in answers]
    assert told_by_both(rows[0]) == told_by_both(rows[1])


async def test_what_has_to_be_awaited_is_left_to_record(services: Services) -> None:
    config = await create_event_config(services)
    fields = {"pbk": config.pbk, "click_id": new_id()}
    await ready(services)
    assert not taken(services, waiter(), **fields)
    await ready(services, config.pbk)
    assert not taken(services, waiter(), **fields, transaction_id="t")
    services.event_ids._blocks.clear()
    assert not taken(services, waiter(), **fields)
    await services.recorder.close()
    assert await services.redis.xlen("journal") == 0


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [({"pbk": "unknown"}, NotFound, r"^pbk: "), ({}, BadRequest, r"^value: required")],
    ids=["unknown key", "share of nothing"],
)
async def test_what_memory_shows_to_break_a_rule_is_refused_at_once(
    services: Services, fields: dict[str, Any], error: type[TrackerError], message: str
) -> None:
    share = await create_event_config(services, payout_type=PayoutType.REV_SHARE)
    await ready(services, share.pbk, "unknown")
    with pytest.raises(error, match=message):
        taken(services, waiter(), **{"pbk": share.pbk, "click_id": new_id(), **fields})
    await services.recorder.close()
    assert await services.redis.xlen("journal") == 0


async def test_of_a_group_a_foreign_click_is_refused_and_the_others_are_recorded(
    services: Services,
) -> None:
    config = await create_event_config(services)
    await ready(services, config.pbk)
    owners = [config.account_id, new_id(), config.account_id]
    waiters = [waiter() for _ in owners]
    for told, owner_id in zip(waiters, owners, strict=True):
        click_id = await create_click(services, owner_id)
        assert taken(services, told, pbk=config.pbk, click_id=click_id)
    outcomes = await asyncio.gather(*waiters, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Recorded, BadRequest, Recorded]
    assert await scene.drained(services) > 0
    assert len(await scene.stored_events(services)) == 2


async def test_one_whose_sender_is_gone_is_recorded_all_the_same(services: Services) -> None:
    click_id = await create_click(services, new_id())
    await ready(services)
    told = waiter()
    assert taken(services, told, click_id=click_id)
    told.cancel()
    await services.recorder.close()
    await services.journal.append(make_click())  # and so what was appended before
    await scene.drained(services)
    assert len(await scene.stored_events(services)) == 1


async def test_with_mongodb_away_it_is_pending(services: Services) -> None:
    click_id = await create_click(services, new_id())
    await ready(services)
    services.look_ups.mongodb.failed()
    told = waiter()
    assert taken(services, told, click_id=click_id)
    assert not (await told).click_found


@pytest.mark.parametrize("queue", ["look-ups", "appends"])
async def test_with_too_many_waiting_it_is_refused(
    services: Services, monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    await ready(services)
    batch = services.look_ups.owners if queue == "look-ups" else services.journal._batch
    monkeypatch.setattr(batch, "_waiting_items", 0)
    told = waiter()
    with pytest.raises(Unavailable):
        assert taken(services, told, click_id=new_id())
        await told
    await services.recorder.close()
    assert await services.redis.xlen("journal") == 0
