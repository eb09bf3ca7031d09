"""Recording from memory, for a waiter, comes to the same as recording by the coroutine."""

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
    """Have memory know those postback keys, and some event ids."""
    await services.event_ids.start()
    for key in keys:
        await services.event_configs.by_postback_key(key)


def taken(services: Services, result: Waiter, **fields: Any) -> bool:
    return services.recorder.record_from_memory(result, make_conversion(**fields))


def without_id_and_times(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that two events of one conversion share."""
    return {name: row[name] for name in row.keys() - {"_id", "at", "tell_at"}}


@pytest.mark.parametrize("click", ["stored", "unknown", "none"])
@pytest.mark.parametrize("by_key", [True, False])
async def test_a_conversion_is_recorded_as_by_the_coroutine(
    services: Services, click: str, by_key: bool
) -> None:
    config = await create_event_config(services, payout_type=PayoutType.REV_SHARE, payout="12.5")
    await ready(services, config.pbk)
    stored = await create_click(services, config.account_id)
    fields: dict[str, Any] = {
        "value": Decimal("19.90"),
        "metadata": '{"a":1}',
        "click_id": {"stored": stored, "unknown": new_id()}.get(click),
        "pbk": config.pbk if by_key or click == "none" else None,
    }
    result = waiter()
    assert taken(services, result, **fields)
    answers = [await result, await services.recorder.record(make_conversion(**fields))]
    assert [answer.click_found for answer in answers] == [click == "stored"] * 2
    await scene.drained(services)
    rows = await scene.stored_events(services)
    assert [row["_id"] for row in rows] == [answer.event_id for answer in answers]
    assert without_id_and_times(rows[0]) == without_id_and_times(rows[1])


async def test_a_conversion_that_has_to_wait_is_left_to_the_coroutine(services: Services) -> None:
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
async def test_a_conversion_that_breaks_a_rule_known_in_memory_is_refused_at_once(
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
    for result, owner_id in zip(waiters, owners, strict=True):
        click_id = await create_click(services, owner_id)
        assert taken(services, result, pbk=config.pbk, click_id=click_id)
    outcomes = await asyncio.gather(*waiters, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Recorded, BadRequest, Recorded]
    assert await scene.drained(services) > 0
    assert len(await scene.stored_events(services)) == 2


async def test_a_conversion_whose_sender_has_disconnected_is_still_recorded(
    services: Services,
) -> None:
    click_id = await create_click(services, new_id())
    await ready(services)
    result = waiter()
    assert taken(services, result, click_id=click_id)
    result.cancel()
    await services.recorder.close()
    await services.journal.append(make_click())  # and so what was appended before
    await scene.drained(services)
    assert len(await scene.stored_events(services)) == 1


async def test_while_mongodb_is_unavailable_a_conversion_is_pending(services: Services) -> None:
    click_id = await create_click(services, new_id())
    await ready(services)
    services.look_ups.mongodb.record_failure()
    result = waiter()
    assert taken(services, result, click_id=click_id)
    assert not (await result).click_found


@pytest.mark.parametrize("queue", ["look-ups", "appends"])
async def test_a_conversion_is_refused_while_too_many_wait(
    services: Services, monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    await ready(services)
    batch = services.look_ups.owners if queue == "look-ups" else services.journal._batches[0]
    monkeypatch.setattr(batch, "_waiting_items", 0)
    result = waiter()
    with pytest.raises(Unavailable):
        assert taken(services, result, click_id=new_id())
        await result
    await services.recorder.close()
    assert await services.redis.xlen("journal") == 0
