"""Statuses, currencies and times of conversions over HTTP: what is answered and journaled."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.conversions.api.reporting import EVERY_WAY, Send, by_query
from tests.conversions.scene import drained, stored_events
from tests.factories import create_click, create_event_config
from tests.web.records import journaled_events
from tests.web.world import World
from tracker.clock import iso, moment, now
from tracker.conversions.conversion import Report
from tracker.conversions.corrections.status import OnRepeat, Status, click_key
from tracker.conversions.event_config import PayoutType
from tracker.ids import new_id

CONFIGS = "/api/event-configs"


async def reports(world: World) -> list[Report | None]:
    return [one.report for one in await journaled_events(world.services)]


@EVERY_WAY
async def test_a_rejected_conversion_is_recorded_and_needs_no_value(
    world: World, send: Send
) -> None:
    config = await create_event_config(world.services, world.account.id, PayoutType.REV_SHARE)
    sent = {"pbk": config.pbk, "status": " Fraud", "transaction_id": "T-1"}
    answer = (await send(world.client, sent)).json()
    assert answer.keys() == {"success", "eventId", "clickStatus", "clickNamed"}
    [event] = await journaled_events(world.services)
    assert (event.id, event.value, event.payout) == (answer["eventId"], None, None)
    assert event.report == Report(reported="rejected", on_repeat="update")


async def test_a_share_of_an_approved_conversion_needs_a_value_unless_it_is_a_repeat(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id, PayoutType.REV_SHARE)
    sent = {"pbk": config.pbk, "status": "approved", "txid": "T"}
    for one in (sent, {"pbk": config.pbk}, {"pbk": config.pbk, "status": "rebill"}):
        assert (await by_query(world.client, one)).error.startswith("value: required")
    assert await journaled_events(world.services) == []
    first = await by_query(world.client, {**sent, "status": "pending"})
    approved = await by_query(world.client, sent)
    assert approved.json() == {**first.json(), "updated": True}


async def test_a_refund_below_0_refunds_what_was_told_before(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    sent = {"pbk": config.pbk, "txid": "T"}
    await by_query(world.client, {**sent, "status": "approved", "value": 9})
    refund = await by_query(world.client, {**sent, "status": "chargeback", "value": -9})
    assert refund.json()["warnings"] == ["value: ignored, because nothing below 0 can be refunded"]
    await drained(world.services)
    [event] = await stored_events(world.services)
    assert (event["reported"], str(event["value"])) == ("refunded", "9")


async def test_the_reports_of_a_click_have_the_answer_of_the_first_and_are_all_in_the_journal(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    click_id = new_id()
    sent = {"pbk": config.pbk, "click_id": str(click_id)}
    first = (await by_query(world.client, {**sent, "status": "pending"})).json()
    for status in ("approved", "trash"):
        answer = await by_query(world.client, {**sent, "status": status, "value": 3})
        assert answer.json() == {**first, "updated": True}
    own = [(await by_query(world.client, {**sent, "value": 1})).json() for _ in range(2)]
    assert len({first["eventId"], *(one["eventId"] for one in own)}) == 3
    events = await journaled_events(world.services)
    assert len({one.id for one in events}) == 5
    assert [one.transaction_id for one in events] == [click_key(click_id)] * 3 + [None] * 2
    assert [one.report and one.report.reported for one in events] == [
        *("pending", "approved", "rejected"),
        *(None, None),
    ]


async def test_a_crowd_of_one_conversion_has_one_first_and_is_all_in_the_journal(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    sent = {"pbk": config.pbk, "status": "approved", "txid": "T"}
    answers = await asyncio.gather(*(by_query(world.client, sent) for _ in range(20)))
    bodies = [one.json() for one in answers]
    assert len({one["eventId"] for one in bodies}) == 1
    assert sum("updated" not in one for one in bodies) == 1
    assert len(await journaled_events(world.services)) == 20


@pytest.mark.parametrize(
    ("on_repeat", "status", "answered", "journaled"),
    [
        (OnRepeat.FIRST, "approved", "duplicate", 1),
        (OnRepeat.FIRST, None, "duplicate", 1),
        (OnRepeat.UPDATE, None, "updated", 2),
        (OnRepeat.COUNT, "approved", None, 2),
        (OnRepeat.COUNT, None, None, 2),
        (None, "rebill", None, 2),
        (None, None, "duplicate", 1),
    ],
)
async def test_a_repeat_does_what_its_configuration_says(
    world: World,
    on_repeat: OnRepeat | None,
    status: str | None,
    answered: str | None,
    journaled: int,
) -> None:
    config = await create_event_config(world.services, world.account.id, on_repeat=on_repeat)
    sent: dict[str, Any] = {"pbk": config.pbk, "txid": "T"} | ({"status": status} if status else {})
    first, second = [(await by_query(world.client, sent)).json() for _ in range(2)]
    same = answered is not None
    assert (first["eventId"] == second["eventId"]) == same
    assert second.keys() - first.keys() == ({answered} if same else set())
    events = await journaled_events(world.services)
    assert len(events) == journaled
    scopes = {one.transaction_scope for one in events}
    assert len(scopes) == (1 if same else 2)


async def test_the_fast_path_reads_a_status_and_an_alias_may_be_called_so(world: World) -> None:
    aliases = {"status": "transaction_id"}
    config = await create_event_config(world.services, world.account.id)
    aliased = await create_event_config(world.services, world.account.id, parameter_aliases=aliases)
    for pbk in (config.pbk, aliased.pbk):
        reader, writer = await asyncio.open_connection("127.0.0.1", world.client.port)
        target = f"/api/event?pbk={pbk}&status=rejected"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: a.example\r\n\r\n".encode())
        assert b" 200 " in await reader.readline()
        assert b"\r\nX-Event-Id: " in await reader.readuntil(b"\r\n\r\n")
        writer.close()
    one, other = await journaled_events(world.services)
    assert (one.transaction_id, other.transaction_id) == (None, "rejected")
    assert one.report == Report(reported="rejected", on_repeat="update", has_fixed_payout=True)
    assert other.report is None


async def test_a_currency_is_ignored_with_a_warning_until_the_account_has_one(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    sent = {"pbk": config.pbk, "currency": "usd", "value": 2}
    for currency in ("usd", "usdt"):
        ignored = (await by_query(world.client, {**sent, "currency": currency})).json()
        assert ignored["warnings"] == ["currency: ignored, because the account has none"]
    refused = await world.api.patch(f"{CONFIGS}/{config.id}", currency="EUR")
    assert refused.error == "currency: the account has none yet; set that first"
    account = {"accountId": str(world.account.id)}
    set_to = await world.api.patch("/api/account", **account, currency="eur")
    assert set_to.json()["currency"] == "EUR"
    for currency in ("usd", "EUR"):
        assert (
            "warnings" not in (await by_query(world.client, {**sent, "currency": currency})).json()
        )
    none = await by_query(world.client, {**sent, "currency": "usdt"})
    assert none.error == "currency: must be a currency of ISO 4217 such as EUR"
    changed = await world.api.patch(f"{CONFIGS}/{config.id}", currency="gbp")
    assert changed.json()["currency"] == "GBP"
    await by_query(world.client, {"pbk": config.pbk})
    found = [one and one.currency for one in await reports(world)]
    assert found == [None, None, "USD", None, "GBP"]
    listed = (await world.api.get(f"/api/audit?accountId={world.account.id}")).json()["rows"]
    assert listed[1]["changes"]["currency"] == {"before": None, "after": "EUR"}


async def test_an_accounts_currency_stays_once_a_conversion_has_money_in_it(world: World) -> None:
    account = {"accountId": str(world.account.id)}
    for currency in ("EUR", "USD", "EUR"):
        assert (await world.api.patch("/api/account", **account, currency=currency)).status == 200
    events = world.services.stores.mongodb["events"]
    row = {"account_id": world.account.id, "status": "attributed", "value": None, "at": now()}
    await events.insert_one({"_id": 1, **row})
    assert (await world.api.patch("/api/account", **account, currency="USD")).status == 200
    await events.insert_one({"_id": 2, **row, "payout": 1})
    kept = await world.api.patch("/api/account", **account, currency="EUR")
    assert kept.error == "currency: cannot be changed, because conversions have money in it"
    for wrong in ("EURO", "XXX", ""):
        broken = await world.api.patch("/api/account", **account, currency=wrong)
        assert broken.error == "currency: must be a currency of ISO 4217 such as EUR"


async def test_a_late_report_has_its_own_time_and_the_limits_of_its_configuration(
    world: World,
) -> None:
    config = await create_event_config(
        world.services, world.account.id, window_days=2, min_seconds=5
    )
    click_id = await create_click(world.services, world.account.id)
    at = now() - timedelta(days=1)
    sent = {"pbk": config.pbk, "click_id": str(click_id), "occurred_at": iso(at)}
    assert (await by_query(world.client, sent)).status == 200
    [event] = await journaled_events(world.services)
    assert event.report and event.report.occurred_at is not None
    assert moment(event.report.occurred_at) == at
    assert (event.report.min_ms, event.report.max_ms) == (5_000, 172_800_000)
    assert moment(event.at) > at


async def test_a_rejection_is_recorded_although_its_value_breaks_a_rule(world: World) -> None:
    rules = {"no_negative_values": True}
    account = {"accountId": str(world.account.id)}
    await world.api.patch("/api/account", **account, conversion_rules=rules)
    config = await create_event_config(world.services, world.account.id)
    sent = {"pbk": config.pbk, "txid": "T", "value": -5}
    for status, answered in (("approved", 400), ("rejected", 200), ("approved", 400)):
        assert (await by_query(world.client, {**sent, "status": status})).status == answered


async def test_every_field_of_reports_is_set_shown_audited_and_checked(world: World) -> None:
    new = {"accountId": str(world.account.id), "name": "Sale", "payout_type": "CPA"}
    made = (await world.api.post(CONFIGS, **new, statuses={" Hold": "pending"})).json()
    assert (made["statuses"], made["unknown_status"]) == ({"hold": "pending"}, "pending")
    path = f"{CONFIGS}/{made['id']}"
    for name, value in (
        ("statuses", {"1": "approved", "upsell": "count"}),
        ("unknown_status", "rejected"),
        *(("on_repeat", one) for one in ("count", None)),
        *(("window_days", one) for one in (400, None)),
        *(("min_seconds", one) for one in (1, None)),
    ):
        changed = await world.api.patch(path, **{name: value})
        assert changed.json() == {**made, name: value}
        made = changed.json()
        listed = await world.api.get(f"/api/audit?accountId={world.account.id}")
        assert name in listed.json()["rows"][0]["changes"]
    for fields, error in (
        ({"statuses": {"a": "sold"}}, "statuses: must be approved or count or pending or refunded"),
        ({"statuses": {"": "pending"}}, "statuses: words have 1 to 64 characters"),
        ({"unknown_status": "count"}, "unknown_status: must be approved or pending or refunded or"),
        ({"on_repeat": "add"}, "on_repeat: must be count or first or update"),
        ({"window_days": 0}, "window_days: must be "),
        ({"window_days": 401}, "window_days: must be "),
        ({"min_seconds": 86_401}, "min_seconds: must be "),
        ({"currency": "EURO"}, "currency: must be a currency of ISO 4217 such as EUR"),
    ):
        for broken in (
            await world.api.post(CONFIGS, **new, **fields),
            await world.api.patch(path, **fields),
        ):
            assert (broken.status, broken.error[: len(error)]) == (400, error)


async def test_unmapped_words_are_listed_with_their_number_until_they_have_a_meaning(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    other = await create_event_config(world.services, world.other_account.id)
    rows = [("zwart", 3, config), ("wit", 1, config), ("geel", 2, other), ("hold", 2, config)]
    events, number = world.services.stores.mongodb["events"], 0
    for word, times, one in rows:
        for _ in range(times):
            number += 1
            of = {"account_id": one.account_id, "event_config_id": one.id, "at": now()}
            await events.insert_one(
                {"_id": number, **of, "status": "no_click", "unknown_word": word}
            )
    path = f"{CONFIGS}/unknown-words?accountId={world.account.id}"
    found = (await world.api.get(path)).json()["rows"]
    assert [(one["word"], one["conversions"]) for one in found] == [
        *(("zwart", 3), ("hold", 2), ("wit", 1)),
    ]
    assert found[0]["event_config_id"] == str(config.id)
    await world.api.patch(f"{CONFIGS}/{config.id}", statuses={"hold": "pending"})
    rest = (await world.api.get(path)).json()["rows"]
    assert [one["word"] for one in rest] == ["zwart", "wit"]


async def test_a_repeat_has_the_unknown_word_that_its_status_stands_for(world: World) -> None:
    config = await create_event_config(world.services, world.account.id)
    listed = f"/api/conversions?accountId={world.account.id}&unknown_word=Zwart"
    for status, number in (("pending", 0), ("zwart", 1), ("approved", 0)):
        await by_query(world.client, {"pbk": config.pbk, "txid": "T", "status": status})
        await drained(world.services)
        assert len((await world.api.get(listed)).json()["rows"]) == number


async def test_an_older_configuration_only_warns_of_unknown_words(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    stored = world.services.stores.mongodb["event_configs"]
    await stored.update_one({"_id": config.id}, {"$unset": {"unknown_status": "", "statuses": ""}})
    await world.services.stores.redis.flushall()
    world.services.conversions.event_config_cache.forget_all()
    answer = await by_query(world.client, {"pbk": config.pbk, "status": "zwart"})
    assert answer.json()["warnings"] == ["status: zwart has no meaning yet; recorded as approved"]
    [report] = await reports(world)
    assert report and (report.reported, report.unknown_word) == (Status.APPROVED, "zwart")
