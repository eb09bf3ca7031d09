"""What the charts of conversions and of webhooks show."""

from datetime import datetime, timedelta
from typing import Any

from tests.conversions.scene import applied
from tests.factories import create_webhook, make_click, make_conversion
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.clock import now, now_ms
from tracker.ids import new_id


async def test_conversions_are_counted_by_the_time_since_their_click(world: World) -> None:
    delays = [30, 60, 61, 7200, 30 * 86_400]
    records: list[Any] = []
    for number, seconds in enumerate(delays):
        for owner, event_id in ((world.account, number + 1), (world.other_account, number + 100)):
            click = make_click(owner.id, at=now_ms() - seconds * 1000)
            event = make_conversion(
                event_id, click.id, at=click.at + seconds * 1000, account_id=owner.id.bytes
            )
            records += [click, event]
    records.append(make_conversion(50, None, at=now_ms(), account_id=world.account.id.bytes))
    await applied(world.services, records)
    found = (await world.api.get(f"/api/conversions/delays?accountId={world.account.id}")).json()
    assert (found["conversions"], found["medianSeconds"]) == (5, 61)
    assert {group["upToSeconds"]: group["conversions"] for group in found["groups"]} == {
        60: 2,
        600: 1,
        3600: 0,
        21600: 1,
        86400: 0,
        604800: 0,
        None: 1,
    }


def a_delivery(
    account: Account, webhook: Any, status: str, at: datetime, took: int, code: int | None = 200
) -> Any:
    attempts = [{"at": at, "milliseconds": one, "code": code} for one in (9999, took)]
    return {
        "_id": new_id(),
        "account_id": account.id,
        "webhook_id": webhook.id,
        "status": status,
        "created_at": at,
        "attempts": attempts if took else [],
    }


async def test_deliveries_are_counted_by_day_and_state_with_the_time_of_the_receiver(
    world: World,
) -> None:
    webhook, other = [await create_webhook(world.services, world.account.id) for _ in range(2)]
    today = now().replace(hour=12, minute=0)
    rows = [
        *(a_delivery(world.account, webhook, "delivered", today, took) for took in range(1, 101)),
        a_delivery(world.account, webhook, "failed", today - timedelta(days=2), 500),
        a_delivery(world.account, webhook, "due", today, 0),
        a_delivery(world.account, webhook, "due", today, 50, 200),  # sent again by hand
        a_delivery(world.account, webhook, "due", today, 51, 503),
        a_delivery(world.account, webhook, "due", today, 51, None),
        a_delivery(world.account, other, "failed", today, 5),
    ]
    await world.services.stores.mongodb["deliveries"].insert_many(rows)
    found = (await world.api.get(f"/api/webhooks/{webhook.id}/statistics")).json()
    assert (found["deliveries"], found["timeZone"]) == (105, "UTC")
    shown = ("delivered", "failed", "due", "retrying")
    assert [[day[name] for name in shown] for day in found["days"]] == [
        [0, 1, 0, 0],
        [0, 0, 0, 0],
        [100, 0, 4, 2],
    ]
    assert (found["medianMilliseconds"], found["p95Milliseconds"]) == (51, 96)
