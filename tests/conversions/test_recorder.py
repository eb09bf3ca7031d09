"""A conversion is refused with nothing recorded, or durable before it is answered."""

import asyncio
from decimal import Decimal
from typing import Any
from uuid import UUID

import msgspec
import pytest
from bson import Decimal128

from config.settings import Settings
from tests.conversions import scene
from tests.conversions.outage import without_mongodb
from tests.factories import create_click, create_event_config, make_click, make_parameters
from tests.ingest import ledger
from tests.ports import free_port
from tests.stores.counted_breaker import CountedBreaker
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.conversions.postbacks.aliases import SHARED_ID
from tracker.conversions.postbacks.parameters import ConversionParameters
from tracker.conversions.recorder import RecordedConversion
from tracker.errors import BadRequest, NotFound, TrackerError, Unavailable
from tracker.ids import new_id
from tracker.journal.appender import CLAIM_SECONDS
from tracker.service.services import Services
from tracker.stores.mongodb import drivers
from tracker.stores.redis.memory_budget import SKIPPED_FROM, OptionalWrite

pytestmark = pytest.mark.redis


async def record(services: Services, **fields: Any) -> RecordedConversion:
    return await services.conversions.recorder.record(make_parameters(**fields))


async def only_event(services: Services) -> dict[str, Any]:
    (row,) = await scene.stored_events(services)
    return row


def without_redis(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, redis_url=f"redis://127.0.0.1:{free_port()}/0")


async def test_an_event_of_a_postback_key_alone_is_pending(services: Services) -> None:
    config = await create_event_config(services)
    recorded = await record(services, pbk=config.pbk)
    assert recorded.event_id > 0
    assert not recorded.click_found
    await scene.drained(services)
    row = await only_event(services)
    assert row["_id"] == recorded.event_id
    assert (row["status"], row["account_id"]) == ("no_click", config.account_id)
    assert row["event_config_id"] == config.id
    assert row["payout"] == Decimal128("2.50")


@pytest.mark.parametrize("with_pbk", [True, False])
async def test_an_event_whose_click_is_stored_is_found(services: Services, with_pbk: bool) -> None:
    config = await create_event_config(services)
    click_id = await create_click(services, config.account_id)
    recorded = await record(services, pbk=config.pbk if with_pbk else None, click_id=click_id)
    assert recorded.click_found
    await scene.drained(services)
    row = await only_event(services)
    assert (row["status"], row["account_id"]) == ("attributed", config.account_id)


@pytest.mark.parametrize("with_pbk", [True, False])
async def test_an_event_whose_click_is_not_stored_is_pending(
    services: Services, with_pbk: bool
) -> None:
    config = await create_event_config(services)
    recorded = await record(services, pbk=config.pbk if with_pbk else None, click_id=new_id())
    assert not recorded.click_found
    await scene.drained(services)
    row = await only_event(services)
    assert row["status"] == "pending"
    assert row["account_id"] == (config.account_id if with_pbk else None)


async def test_every_parameter_is_stored(services: Services) -> None:
    config = await create_event_config(services, payout_type=PayoutType.REV_SHARE, payout="12.5")
    await record(
        services,
        pbk=config.pbk,
        value=Decimal("19.90"),
        metadata='{"$a":{"b.c":1.10}}',
        transaction_id="größe 1",
    )
    await scene.drained(services)
    row = await only_event(services)
    assert row["value"] == Decimal128("19.90")
    assert row["payout"].to_decimal() == Decimal("2.4875")
    assert row["metadata"] == '{"$a":{"b.c":1.10}}'
    assert row["transaction_id"] == "größe 1"


async def foreign_click(services: Services, config: EventConfig) -> ConversionParameters:
    click_id = await create_click(services, new_id())
    return make_parameters(pbk=config.pbk, click_id=click_id)


async def unknown_key(services: Services, config: EventConfig) -> ConversionParameters:
    click_id = await create_click(services, config.account_id)
    return make_parameters(pbk="unknown", click_id=click_id)


async def inactive_key(services: Services, config: EventConfig) -> ConversionParameters:
    await services.stores.mongodb["event_configs"].update_one({}, {"$set": {"active": False}})
    await services.stores.redis.flushall()
    return make_parameters(pbk=config.pbk, value=Decimal(1))


async def share_of_nothing(services: Services, config: EventConfig) -> ConversionParameters:
    share = await create_event_config(services, payout_type=PayoutType.REV_SHARE)
    return make_parameters(pbk=share.pbk, click_id=new_id(), transaction_id="t")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (foreign_click, BadRequest, r"^click_id: belongs to another account"),
        (unknown_key, NotFound, r"^pbk: "),
        (inactive_key, NotFound, r"^pbk: "),
        (share_of_nothing, BadRequest, r"^value: required"),
    ],
)
async def test_a_conversion_that_breaks_a_rule_is_refused_and_not_recorded(
    services: Services, make: Any, error: type[TrackerError], message: str
) -> None:
    conversion = await make(services, await create_event_config(services))
    with pytest.raises(error, match=message):
        await services.conversions.recorder.record(conversion)
    assert await services.stores.redis.xlen("journal") == 0
    assert await services.stores.redis.keys("transaction:*") == []
    assert await scene.stored_events(services) == []


async def said(services: Services, scope: str) -> dict[str, Any]:
    """A conversion whose transaction id is unique in `scope`."""
    config = await create_event_config(services)
    fields: dict[str, dict[str, Any]] = {
        "config": {"pbk": config.pbk},
        "config and click": {
            "pbk": config.pbk,
            "click_id": await create_click(services, config.account_id),
        },
        "account": {"click_id": await create_click(services, config.account_id)},
        "click": {"click_id": new_id()},
    }
    return {**fields[scope], "transaction_id": "t"}


SCOPES = ["config", "config and click", "account", "click"]


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_transaction_id_gives_the_first_event_id_for_ever(
    services: Services, scope: str
) -> None:
    fields = await said(services, scope)
    first = await record(services, **fields)
    assert not first.is_duplicate
    assert await record(services, **fields) == scene.repeated(first)
    assert await services.stores.redis.xlen("journal") == 1
    await scene.drained(services)
    assert await record(services, **fields) == scene.repeated(first)
    await services.stores.redis.flushall()
    async with scene.process(services.settings) as other:
        assert await record(other, **fields) == scene.repeated(first)
    assert await services.stores.redis.xlen("journal") == 0
    assert (await only_event(services))["_id"] == first.event_id


@pytest.mark.parametrize("scope", SCOPES)
async def test_simultaneous_senders_of_one_transaction_id_get_one_event(
    services: Services, scope: str
) -> None:
    fields = await said(services, scope)
    async with scene.process(services.settings) as other:
        answers = await asyncio.gather(
            *(record(each, **fields) for _ in range(25) for each in (services, other))
        )
    assert len({answer.event_id for answer in answers}) == 1
    assert [answer.is_duplicate for answer in answers].count(False) == 1
    await scene.drained(services)
    assert (await only_event(services))["_id"] == answers[0].event_id


@pytest.mark.parametrize(("scope", "claims", "seconds"), [("account", 2, 3600), ("click", 1, 60)])
async def test_a_claim_is_kept_for_a_week_and_when_it_is_drained_an_hour_or_nobodys_a_minute(
    services: Services, scope: str, claims: int, seconds: int
) -> None:
    fields = await said(services, scope)
    await record(services, **fields)
    names: Any = await services.stores.redis.keys("transaction:*")
    assert len(names) == claims
    lives = [await services.stores.redis.ttl(name) for name in names]
    assert all(CLAIM_SECONDS - 60 < one <= CLAIM_SECONDS for one in lives)
    await scene.drained(services)
    lives = [await services.stores.redis.ttl(name) for name in names]
    assert all(seconds - 30 < one <= seconds for one in lives)


NEAR = SKIPPED_FROM[OptionalWrite.CLAIM]


@pytest.mark.parametrize("scope", ["config", "config and click", "account"])
async def test_without_room_in_redis_a_transaction_id_gives_the_first_event_id_all_the_same(
    services: Services, scope: str
) -> None:
    services.stores.budget.used = NEAR
    fields = await said(services, scope)
    answers = await asyncio.gather(*(record(services, **fields) for _ in range(25)))
    answers.append(await record(services, **fields))
    assert len({answer.event_id for answer in answers}) == 1
    assert [answer.is_duplicate for answer in answers].count(False) == 1
    assert await services.stores.redis.keys("transaction:*") == []
    await scene.drained(services)
    assert (await record(services, **fields)).event_id == answers[0].event_id
    await scene.drained(services)
    row = await only_event(services)
    assert row["_id"] == answers[0].event_id
    assert row["status"] != "claimed"
    assert (await ledger.totals(services))["conversions"] == 1


async def test_without_room_in_redis_nobodys_transaction_id_is_counted_once(
    services: Services,
) -> None:
    """It may be answered with an id of its own, and costs MongoDB nothing before it is drained."""
    services.stores.budget.used = SKIPPED_FROM[OptionalWrite.CLAIM_WITHOUT_ACCOUNT]
    fields = await said(services, "click")
    ids = [(await record(services, **fields)).event_id for _ in range(3)]
    assert await services.stores.redis.keys("transaction:*") == []
    assert await scene.stored_events(services) == []
    await scene.drained(services)
    assert (await only_event(services))["_id"] in ids


async def test_without_room_in_redis_and_without_mongodb_an_event_is_counted_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 1.5)
    config = await create_event_config(services)
    await services.conversions.event_configs.by_postback_key(config.pbk)
    async with scene.process(without_mongodb(services.settings)) as cut_off:
        cut_off.conversions = cut_off.conversions._replace(event_ids=services.conversions.event_ids)
        cut_off.conversions.recorder._event_ids = services.conversions.event_ids
        cut_off.stores.budget.used = NEAR
        for _ in range(2):
            await record(cut_off, pbk=config.pbk, transaction_id="t")
    await scene.drained(services)
    await only_event(services)


async def landed(services: Services, account_id: UUID, click_id: UUID) -> None:
    await services.journal.journal.append(make_click(account_id, click_id))
    await scene.drained(services)


@pytest.mark.parametrize("forgotten", [True, False])
async def test_an_event_sent_again_after_its_click_landed_gives_the_first_event_id(
    services: Services, forgotten: bool
) -> None:
    account_id, click_id = new_id(), new_id()
    first = await record(services, click_id=click_id, transaction_id="t")
    await landed(services, account_id, click_id)
    if forgotten:
        await services.stores.redis.flushall()
    again = await record(services, click_id=click_id, transaction_id="t")
    assert again == scene.repeated(first)._replace(click_found=True)
    other_click = await create_click(services, account_id)
    shared = again._replace(warnings=(SHARED_ID,))
    assert await record(services, click_id=other_click, transaction_id="t") == shared
    await scene.drained(services)
    assert (await only_event(services))["status"] == "attributed"


async def test_while_mongodb_is_unavailable_an_event_is_pending_and_lands_later(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 1.5)
    config = await create_event_config(services)
    click_id = await create_click(services, config.account_id)
    await services.conversions.event_ids.start()
    async with scene.process(without_mongodb(services.settings)) as cut_off:
        await cut_off.conversions.event_ids.start()
        fields = {"pbk": config.pbk, "click_id": click_id, "transaction_id": "t"}
        breaker = cut_off.conversions.look_ups.mongodb = CountedBreaker()
        first = await record(cut_off, **fields)
        assert not first.click_found
        waited = breaker.failures
        assert await record(cut_off, **fields) == scene.repeated(first)
        for _ in range(20):
            assert not (await record(cut_off, pbk=config.pbk, click_id=click_id)).click_found
        assert (waited, breaker.failures) == (1, 1)
    await scene.drained(services)
    rows = await scene.stored_events(services)
    assert len(rows) == 21
    assert {row["status"] for row in rows} == {"attributed"}
    again = await record(services, **fields)
    assert again == scene.repeated(first)._replace(click_found=True)


async def test_a_crowd_does_not_queue_up_behind_an_absent_mongodb(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 1.5)
    config = await create_event_config(services)
    await services.conversions.event_ids.start()
    async with scene.process(without_mongodb(services.settings)) as cut_off:
        await cut_off.conversions.event_ids.start()
        breaker = cut_off.conversions.look_ups.mongodb = CountedBreaker()
        answers = await asyncio.gather(
            *(
                record(cut_off, pbk=config.pbk, click_id=new_id(), transaction_id=str(number))
                for number in range(2_000)
            )
        )
        assert breaker.failures == 1
    assert len({answer.event_id for answer in answers}) == 2_000
    await scene.drained(services)
    assert len(await scene.stored_events(services)) == 2_000


async def test_while_redis_is_unavailable_mongodb_decides_who_had_a_transaction_id_first(
    services: Services,
) -> None:
    config = await create_event_config(services)
    settings = without_redis(services.settings)
    fields = {"pbk": config.pbk, "transaction_id": "t"}
    async with scene.process(settings) as one, scene.process(settings) as other:
        answers = await asyncio.gather(
            *(record(each, **fields) for _ in range(25) for each in (one, other))
        )
    assert len({answer.event_id for answer in answers}) == 1
    assert [answer.is_duplicate for answer in answers].count(False) == 1
    await services.journal.journal.replay_once()
    await scene.drained(services)
    assert (await only_event(services))["_id"] == answers[0].event_id
    assert (await record(services, **fields)).event_id == answers[0].event_id


async def test_while_redis_is_unavailable_an_event_is_spooled_and_settled_after_its_replay(
    services: Services,
) -> None:
    click_id = await create_click(services, new_id())
    async with scene.process(without_redis(services.settings)) as cut_off:
        for transaction_id in (None, "t"):
            fields = {"click_id": click_id, "transaction_id": transaction_id}
            assert (await record(cut_off, **fields)).click_found
    await services.journal.journal.replay_once()
    await scene.drained(services)
    rows = await scene.stored_events(services)
    assert [row["status"] for row in rows] == ["attributed", "attributed"]


async def test_while_both_stores_are_unavailable_a_transaction_id_is_refused_and_counts_once_later(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell whether it came before, so the sender is asked to send it again."""
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 1.5)
    click_id = new_id()
    fields = {"click_id": click_id, "transaction_id": "t"}
    async with scene.process(without_redis(without_mongodb(services.settings))) as cut_off:
        cut_off.conversions.event_ids._blocks.append(range(1_000_000_000, 1_000_000_100))
        assert (await record(cut_off, click_id=click_id)).event_id == 1_000_000_000
        with pytest.raises(Unavailable):
            await record(cut_off, **fields)
    await services.journal.journal.replay_once()
    await scene.drained(services)
    again = await record(services, **fields)
    await scene.drained(services)
    with_transaction = [
        row for row in await scene.stored_events(services) if "transaction_id" in row
    ]
    assert [row["_id"] for row in with_transaction] == [again.event_id]


async def test_an_approval_is_not_refused_while_nobody_can_tell_what_it_approves(
    services: Services,
) -> None:
    config = await create_event_config(services, payout_type=PayoutType.REV_SHARE)
    fields = {"pbk": config.pbk, "click_id": await create_click(services, config.account_id)}
    first = await record(services, **fields, status="pending", value=Decimal(4))
    async with scene.process(without_redis(services.settings)) as cut_off:
        with pytest.raises(Unavailable):
            await record(cut_off, **fields, status="approved")
    again = await record(services, **fields, status="approved")
    assert again == first._replace(is_updated=True)


async def test_a_conversion_that_was_begun_is_recorded_before_the_recorder_is_closed(
    services: Services,
) -> None:
    click_id = await create_click(services, new_id())
    begun: asyncio.Future[RecordedConversion] = asyncio.get_running_loop().create_future()
    services.conversions.recorder.begin(make_parameters(click_id=click_id), "", begun)
    await services.conversions.recorder.close()
    assert begun.done()
    await scene.drained(services)
    assert (await only_event(services))["_id"] == begun.result().event_id


async def test_a_conversion_that_memory_can_record_is_recorded_as_any_other(
    services: Services,
) -> None:
    config = await create_event_config(services)
    await record(services, pbk=config.pbk, value=Decimal(1))
    recorder, answers = services.conversions.recorder, []
    for _ in range(3):
        begun: asyncio.Future[RecordedConversion] = asyncio.get_running_loop().create_future()
        recorder.begin(make_parameters(pbk=config.pbk, value=Decimal(2)), "", begun)
        assert not recorder._tasks
        answers.append(begun)
    ids = [(await one).event_id for one in answers]
    await scene.drained(services)
    first, *others = await scene.stored_events(services)
    assert [one["_id"] for one in others] == ids
    same = {"_id", "at", "value"}
    for one in others:
        assert {k: v for k, v in one.items() if k not in same} == {
            k: v for k, v in first.items() if k not in same
        }


@pytest.mark.parametrize("queue", ["look-ups", "appends"])
async def test_a_conversion_is_refused_while_too_many_wait(
    services: Services, monkeypatch: pytest.MonkeyPatch, queue: str
) -> None:
    batch = (
        services.conversions.look_ups.owners
        if queue == "look-ups"
        else services.journal.journal._batch
    )
    monkeypatch.setattr(batch, "_waiting_items", 0)
    with pytest.raises(Unavailable):
        await record(services, click_id=new_id())
    assert await services.stores.redis.xlen("journal") == 0
