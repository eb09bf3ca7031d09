"""Webhooks are told of alerts and summaries once, with the figures of the report."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import AsyncMock
from uuid import UUID

import pytest

from tests.conversions.scene import applied
from tests.factories import create_link, create_rule, create_webhook, make_click
from tests.web.document import assert_payload_described
from tests.webhooks.receiver import answer
from tests.webhooks.sending.scene import listening, sending, stored
from tracker.accounts.accounts import Account
from tracker.alerts import reading, telling
from tracker.alerts.rules import LEASE, Rule
from tracker.clock import iso, now
from tracker.journal.backlog import BacklogSize
from tracker.service.services import Services

HOUR = now().replace(minute=0, second=0, microsecond=0)
AT = HOUR + timedelta(minutes=7)
MONDAY = datetime(2026, 3, 2, 7, tzinfo=UTC)
"""8:00 in Berlin."""


async def clicked(services: Services, account_id: UUID, at: datetime, number: int = 1) -> None:
    ms = int(at.timestamp() * 1000)
    await applied(services, [make_click(account_id, at=ms) for _ in range(number)])


async def told(services: Services) -> list[dict[str, Any]]:
    rows = sorted(await stored(services), key=lambda row: row["created_at"])
    for row in rows:
        assert_payload_described(row)
    return [json.loads(row["payload"])["data"] for row in rows]


async def look(services: Services, rule: Rule, at: datetime, kind: str = "alerts") -> Rule:
    """Look at a rule as if it was due at a moment; return it as it is stored then."""
    rows = services.stores.mongodb[kind]
    await rows.update_one({"_id": rule.id}, {"$set": {"due_at": at}})
    assert await services.alerts.telling.tell_next(at)
    found = await getattr(services.alerts, kind).find(rule.id)
    assert isinstance(found, Rule)
    return found


@pytest.mark.parametrize(
    ("condition", "limit", "clicks", "week_before", "is_told"),
    [
        ("below", 3, 2, 0, True),
        ("below", 2, 2, 0, False),
        ("above", 1, 2, 0, True),
        ("above", 2, 2, 0, False),
        ("halved", None, 1, 3, True),
        ("halved", None, 2, 4, False),
        ("halved", None, 0, 0, False),
    ],
)
async def test_an_alert_tells_its_webhook_if_its_condition_is_met(
    services: Services,
    account: Account,
    condition: str,
    limit: float | None,
    clicks: int,
    week_before: int,
    is_told: bool,
) -> None:
    webhook = await create_webhook(services, account.id)
    rule = await create_rule(
        services,
        *("alerts", account.id, webhook.id),
        hours=2,
        condition=condition,
        threshold=limit,
    )
    await clicked(services, account.id, HOUR - timedelta(minutes=90), clicks)
    await clicked(services, account.id, HOUR - timedelta(days=7, minutes=90), week_before)
    # Neither the present hour nor those before are within.
    for at in (HOUR + timedelta(minutes=1), HOUR - timedelta(hours=3)):
        await clicked(services, account.id, at, 9)
    after = await look(services, rule, AT)
    assert (after.value, after.until, after.problem) == (clicks, HOUR, None)
    assert HOUR + timedelta(hours=1, minutes=5) <= after.due_at <= HOUR + timedelta(minutes=70)
    messages = await told(services)
    assert [one["value"] for one in messages] == [clicks] * is_told
    assert after.told_until == (HOUR if is_told else None)
    if is_told and limit is not None:
        assert messages[0]["text"] == (
            f"A rule: clicks {clicks} within 2 hours up to {HOUR:%Y-%m-%d %H:%M}, "
            f"{condition} {limit}"
        )


async def test_nothing_is_halved_where_the_week_before_had_nothing_or_a_loss(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = await create_webhook(services, account.id)
    rule = await create_rule(
        services,
        *("alerts", account.id, webhook.id),
        measure="profit",
        condition="halved",
        threshold=None,
    )
    for value, before in ((-1, 0), (-6, -10), (-1, None), (None, 4), (4, 10)):
        monkeypatch.setattr(reading, "_sums", AsyncMock(return_value=[value, before]))
        await look(services, rule, AT)
    assert [(one["value"], one["limit"]) for one in await told(services)] == [(4, 5)]


async def test_an_alert_pauses_after_a_message_and_filters_its_clicks(
    services: Services, account: Account
) -> None:
    webhook = await create_webhook(services, account.id)
    rule = await create_rule(
        services,
        *("alerts", account.id, webhook.id),
        pauseHours=3,
        filters={"country": ["FR"]},
        threshold=1,
    )
    await clicked(services, account.id, HOUR - timedelta(minutes=5))
    for hours in range(7):
        assert (await look(services, rule, AT + timedelta(hours=hours))).value == 0
    told_until = [iso(HOUR + timedelta(hours=hours)) for hours in (0, 3, 6)]
    assert [one["until"] for one in await told(services)] == told_until


async def test_one_of_many_drains_tells_and_a_dead_one_has_told_once_or_not_at_all(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = await create_webhook(services, account.id)
    rule = await create_rule(services, "alerts", account.id, webhook.id)
    await services.stores.mongodb["alerts"].update_one({}, {"$set": {"due_at": AT}})
    found = await asyncio.gather(*(services.alerts.telling.tell_next(AT) for _ in range(4)))
    assert sum(found) == 1
    assert len(await told(services)) == 1

    class Killed(BaseException):
        pass

    async def die(*_: object) -> None:
        raise Killed

    later = AT + timedelta(days=2)
    with monkeypatch.context() as patched:
        patched.setattr(services.webhooks.queue, "add", die)  # once all is committed
        with pytest.raises(Killed):
            await look(services, rule, later)
    assert len(await told(services)) == 2
    with monkeypatch.context() as patched:
        patched.setattr("tracker.alerts.rules.insert_deliveries", die)  # before that
        with pytest.raises(Killed):
            await look(services, rule, later + timedelta(days=2))
    assert not await services.alerts.telling.tell_next(later + timedelta(days=2))
    assert len(await told(services)) == 2
    # Its lease ends, and a slow holder of before can conclude nothing more.
    again = later + timedelta(days=2) + LEASE
    stale = await services.alerts.alerts.find(rule.id)
    assert stale is not None
    assert await services.alerts.telling.tell_next(again)
    assert not await services.alerts.alerts.conclude(stale, {"until": again}, {"text": "twice"})
    assert len(await told(services)) == 3


async def test_what_cannot_be_told_is_said_in_the_record(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = await create_webhook(services, account.id)
    link = await create_link(services, account.id, "a")
    filters = {"link": [str(link.id)]}
    rule = await create_rule(services, "alerts", account.id, webhook.id, filters=filters)
    links, webhooks = (services.stores.mongodb[name] for name in ("links", "webhooks"))

    async def slow(*_: object) -> None:
        await asyncio.Event().wait()

    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    assert (await look(services, rule, AT)).problem is None
    kinds = services.alerts.telling._kinds
    for read, problem in (
        (slow, "its report takes too long"),
        (broken, "the service could not read its report"),
    ):
        monkeypatch.setattr(telling, "READ_SECONDS", 0.01)
        patched: Any = ((kinds[0][0], read), kinds[1])
        monkeypatch.setattr(services.alerts.telling, "_kinds", patched)
        after = await look(services, rule, AT)
        assert (after.problem, after.due_at) == (problem, AT + timedelta(hours=6))
    monkeypatch.undo()
    for rows, key, change, problem in (
        (links, link.id, {"archived": True}, "the links of its filter are archived or deleted"),
        (webhooks, webhook.id, {"active": False}, "its webhook is inactive"),
        (webhooks, webhook.id, None, "its webhook is deleted"),
    ):
        if change is None:
            await rows.delete_one({"_id": key})
        else:
            await rows.update_one({"_id": key}, {"$set": change})
        assert (await look(services, rule, AT)).problem == problem
    assert len(await told(services)) == 1


async def test_an_alert_waits_while_clicks_of_its_hours_are_not_stored(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = await create_webhook(services, account.id)
    spool = services.journal.journal.spool
    late = " (without clicks that are not stored yet)"
    for after, journal, overflow, is_spooled, text in (
        (7, 8, 0, False, None),
        (50, 51, 0, False, None),
        (7, 6, 6, False, ""),
        (7, 0, 8, False, None),
        (7, 0, 0, True, None),
        (21, 0, 22, False, late),  # the flood of one account delays others so long at most
        (21, 0, 0, True, late),
    ):
        sizes = [BacklogSize(1, one * 60_000) for one in (journal, overflow)]
        measured = AsyncMock(return_value=sizes)
        monkeypatch.setattr(services.journal.backlog, "measure_each", measured)
        monkeypatch.setattr(spool, "is_empty", AsyncMock(return_value=not is_spooled))
        rule = await create_rule(services, "alerts", account.id, webhook.id)
        at = HOUR + timedelta(minutes=after)
        seen = await look(services, rule, at)
        await services.alerts.alerts.delete(rule.id)
        texts = [one["text"] for one in await told(services) if one["id"] == str(rule.id)]
        if text is None:
            assert (seen.value, seen.due_at, texts) == (None, at + timedelta(minutes=1), [])
        else:
            assert [one.partition("below 10")[2] for one in texts] == [text]


async def test_a_summary_is_told_each_monday_or_first_and_after_a_pause_only_the_last(
    services: Services, account: Account
) -> None:
    await services.stores.mongodb["accounts"].update_one(
        {"_id": account.id}, {"$set": {"time_zone": "Europe/Berlin"}}
    )
    webhook = await create_webhook(services, account.id)
    for number, days in ((5, 1), (2, 8)):
        await clicked(services, account.id, MONDAY - timedelta(days=days), number)
    week = await create_rule(
        services,
        *("summaries", account.id, webhook.id),
        groupBy="country",
        until=MONDAY - timedelta(days=1),
    )
    early = await look(services, week, MONDAY - timedelta(minutes=1), "summaries")
    assert (early.due_at, early.told_until) == (MONDAY, None)
    for _ in range(2):
        after = await look(services, week, MONDAY, "summaries")
        assert (after.due_at, after.until) == (MONDAY + timedelta(days=7), MONDAY)
    [first] = await told(services)
    assert (first["from"], first["to"]) == ("2026-02-23", "2026-03-01")
    assert first["text"].splitlines() == [
        "A rule: 2026-02-23 to 2026-03-01",
        "clicks: 5 (before: 2)",
        "conversions: 0 (before: 0)",
        "value: 0 (before: 0)",
        "payout: 0 (before: 0)",
        "First by country: United States 5",
    ]
    # Down for three weeks: one summary, late. The clocks have changed meanwhile.
    late = MONDAY + timedelta(days=28, hours=9)
    after = await look(services, week, late, "summaries")
    assert after.due_at == MONDAY + timedelta(days=35, hours=-1)
    assert [one["to"] for one in await told(services)] == ["2026-03-01", "2026-03-29"]
    month = await create_rule(
        services, "summaries", account.id, webhook.id, every="month", until=MONDAY
    )
    after = await look(services, month, datetime(2026, 4, 1, 6, tzinfo=UTC), "summaries")
    assert after.due_at == datetime(2026, 5, 1, 6, tzinfo=UTC)
    assert ("2026-03-01", "2026-03-31") in {
        (one["from"], one["to"]) for one in await told(services)
    }


async def test_a_chat_gets_an_alert_in_its_own_form(services: Services, account: Account) -> None:
    async with listening(services, account.id) as (receiver, webhook), sending(services) as sender:
        template = {"content": "{event_name}", "username": "Tracker"}
        fields = {"preset": "discord", "payload_template": template}
        await services.webhooks.webhooks.change(webhook.id, fields)
        rule = await create_rule(services, "alerts", account.id, webhook.id)
        await look(services, rule, AT - timedelta(hours=1))
        for code in (500, 200):
            receiver.behaviour = answer(code)
            await services.webhooks.deliveries.send_now(webhook.id, account.id, now())
            await sender.burst()
    bodies = [json.loads(one.body) for one in receiver.received]
    assert bodies[0] == bodies[1]
    assert bodies[0]["username"] == "Tracker"
    assert bodies[0]["content"].startswith("A rule: clicks 0 within 1 hours")
    [row] = await stored(services)
    assert (row["kind"], row["status"]) == ("alert.fired", "delivered")
