"""What the drain does with reports of conversions that are known, and with corrections."""

from typing import Any
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.conversions.rules import account_with
from tests.factories import AT_MS, create_webhook, make_click, make_conversion
from tests.ingest import ledger
from tracker.accounts.accounts import Account
from tracker.conversions.conversion import Conversion, Correction, Report
from tracker.conversions.corrections.changes import MAX_CHANGES
from tracker.conversions.restating import NO_CURRENCY, TOO_MANY
from tracker.feeds.arrivals import conversion_entries
from tracker.ids import new_id
from tracker.metrics import CORRECTIONS_DROPPED
from tracker.reports.columns import FURTHER
from tracker.reports.repair.day_count import count_day
from tracker.service.services import Services

pytestmark = pytest.mark.redis

CONFIG = new_id().bytes


def sent(account: Account, number: int, status: str | None = None, **fields: Any) -> Conversion:
    """Return a report of the transaction `t`, which restates if it has a status."""
    own = {name: fields.pop(name) for name in ("currency", "notify") if name in fields}
    report = Report(reported=status, on_repeat="update", **own) if status else None
    given: dict[str, Any] = {"transaction_id": "t", "checked": True, "metadata": "{}", "value": "5"}
    ids = {"event_config_id": CONFIG, "transaction_scope": CONFIG, "account_id": account.id.bytes}
    return make_conversion(number, **(given | ids | fields), report=report)


def correction(account: Account, event_id: int, stated: str, **fields: Any) -> Correction:
    given: dict[str, Any] = {"id": new_id().bytes, "at": AT_MS + 10_000, "actor": "person:1"}
    ids = {"account_id": account.id.bytes, "event_id": event_id}
    return Correction(**(given | ids | {"reason": "mistake", "stated": stated} | fields))


async def totals_of(services: Services) -> dict[str, int]:
    found = await ledger.totals(services)
    return {name: number for name, number in found.items() if name != FURTHER}


async def only_event(services: Services) -> dict[str, Any]:
    [event] = await scene.stored_events(services)
    return event


async def test_a_change_of_a_claimed_conversion_waits_for_its_record(
    services: Services, account: Account
) -> None:
    first, second = sent(account, 1, "pending"), sent(account, 2, "rejected")
    await services.conversions.store.claim(first, [UUID(bytes=CONFIG)])
    await scene.applied(services, [second])
    assert (await only_event(services))["status"] == "claimed"
    assert await totals_of(services) == {}
    await scene.applied(services, [first])
    assert (await only_event(services))["reported"] == "rejected"
    assert await totals_of(services) == {"rejected_conversions": 1}


async def test_a_correction_of_no_stored_conversion_is_counted_and_blocks_nothing(
    services: Services, account: Account, other_account: Account
) -> None:
    before = CORRECTIONS_DROPPED._value.get()
    await scene.applied(services, [sent(account, 1)])
    missing = correction(account, 9, '{"reported": "rejected"}')
    foreign = correction(other_account, 1, '{"reported": "rejected"}')
    await scene.applied(services, [missing, foreign, sent(account, 2, transaction_id="u")])
    assert CORRECTIONS_DROPPED._value.get() - before == 2
    assert (await ledger.totals(services))["conversions"] == 2


async def test_a_correction_that_changes_nothing_stores_nothing(
    services: Services, account: Account
) -> None:
    await scene.applied(services, [sent(account, 1), sent(account, 2, transaction_id="u")])
    before = await scene.dump(services)
    again = correction(account, 1, '{"reported": "rejected"}')
    await scene.applied(services, [again])
    once = await scene.dump(services)
    assert once["events"] != before["events"]
    await scene.applied(services, [again])
    assert await scene.dump(services) == once


@pytest.mark.parametrize(
    ("home", "currency", "stored", "totals"),
    [
        (None, "USD", None, {"conversions": 1, "value": 5 * 10**9}),
        ("EUR", "EUR", None, {"conversions": 1, "value": 5 * 10**9}),
        ("EUR", "USD", "USD", {"conversions": 1, "other_conversions": 1, "other_value": 5 * 10**9}),
    ],
)
async def test_money_of_another_currency_counts_apart(
    services: Services,
    account: Account,
    home: str | None,
    currency: str,
    stored: str | None,
    totals: dict[str, int],
) -> None:
    if home:
        await services.conversions.account_rules.set_currency(account.id, home)
    await scene.applied(services, [sent(account, 1, "approved", currency=currency)])
    event = await only_event(services)
    assert event.get("currency") == stored
    assert (NO_CURRENCY in event.get("warnings", ())) == (home is None)
    assert await totals_of(services) == totals
    await ledger.check(services)


async def test_a_rejected_conversion_still_uses_up_the_cap_of_its_click(services: Services) -> None:
    account, click_id = await account_with(services, max_per_click=1), new_id().bytes
    await scene.applied(services, [sent(account, 1, click_id=click_id)])
    await scene.applied(services, [sent(account, 2, "rejected", click_id=click_id)])
    await scene.applied(services, [sent(account, 3, click_id=click_id, transaction_id="u")])
    assert [one["status"] for one in await scene.stored_events(services)] == ["pending", "refused"]
    assert await totals_of(services) == {"rejected_conversions": 1}


async def test_a_click_is_taken_over_only_if_its_cap_has_room(services: Services) -> None:
    """In one batch with the conversion that uses it up; otherwise the batch would never fit."""
    account, click_id = await account_with(services, max_per_click=1), new_id().bytes
    await scene.applied(services, [sent(account, 1, "approved")])
    other = sent(account, 2, click_id=click_id, transaction_id="u")
    await scene.applied(services, [other, sent(account, 3, "approved", click_id=click_id)])
    assert [one["status"] for one in await scene.stored_events(services)] == ["no_click", "pending"]
    await ledger.check(services)


async def test_a_refund_told_as_a_negative_amount_breaks_no_rule_of_values(
    services: Services,
) -> None:
    account = await account_with(services, no_negative_values=True)
    await scene.applied(services, [sent(account, 1)])
    await scene.applied(services, [sent(account, 2, "refunded", value="-5", checked=False)])
    assert (await only_event(services))["reported"] == "refunded"


async def test_changes_beyond_the_most_are_told_by_a_warning(
    services: Services, account: Account
) -> None:
    values = [sent(account, one, "approved", value=str(one)) for one in range(1, MAX_CHANGES + 5)]
    await scene.applied(services, values[:100])
    await scene.applied(services, values[100:])
    event = await only_event(services)
    assert len(event["changes"]) == MAX_CHANGES
    assert str(event["value"]) == str(MAX_CHANGES)
    assert event["warnings"] == [TOO_MANY]


async def test_the_click_of_a_later_report_is_taken_over_once(
    services: Services, account: Account
) -> None:
    """The report that came first named no click. Webhooks are told of its conversion once."""
    await create_webhook(services, account.id)
    click = make_click(account.id)
    await scene.applied(services, [sent(account, 1, "approved")])
    await scene.applied(services, [sent(account, 2, "approved", click_id=click.id)])
    assert (await only_event(services))["status"] == "pending"
    await scene.applied(services, [click])
    assert (await only_event(services))["status"] == "attributed"
    assert len(await ledger.notified(services)) == 1
    await ledger.check(services)


async def test_a_restated_conversion_arrives_again_in_feeds_and_a_recount_agrees(
    services: Services, account: Account
) -> None:
    await scene.applied(services, [sent(account, 1, "pending")])
    await scene.applied(services, [sent(account, 2, "approved")])
    rows = await services.stores.mongodb["arrivals"].find().sort("_id", 1).to_list(None)
    entries = [conversion_entries(row["entries"]) for row in rows]
    assert entries == [[(1, "no_click")]] * 2
    assert [row.get("repeated", 0) for row in rows] == [0, 1]
    day = (await only_event(services))["at"].date().isoformat()
    reader = services.stores.mongodb.reads
    assert (await count_day(reader, account.id, day)).differences() == {}
