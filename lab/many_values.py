"""A day whose clicks all have different campaigns, as strangers can make one, counted already."""

from datetime import UTC, date, datetime, time
from typing import Any, Final
from uuid import UUID

from tracker.ids import new_id
from tracker.reports import columns
from tracker.reports.columns import CLICK_MEASURES
from tracker.reports.joint_counts.store import JointCountStore, JointId, NewTable
from tracker.reports.rollups.rollup import Rollup
from tracker.stores.mongodb.drivers import Database

VALUES: Final = 200_000
"""Values of a day, unless a run asks for more. Twelve requests a second make a million."""

_CLICKS_PER_INSERT: Final = 10_000


async def store_day(database: Database, account_id: UUID, day: date, values: int) -> None:
    """Store such a day as the service has it after its first report."""
    rollup = Rollup()
    click = _click(account_id, day)
    for first in range(0, values, _CLICKS_PER_INSERT):
        clicks = [
            {**click, "_id": new_id(), "utm_campaign": f"campaign-{number}"}
            for number in range(first, min(first + _CLICKS_PER_INSERT, values))
        ]
        for added in clicks:
            rollup.add_click(added)
        await database["clicks"].insert_many(clicks)
    updates = list(rollup.updates(0))
    await database.command(
        "update", "rollups", updates=updates, codec_options=database.codec_options
    )
    campaigns = [f"campaign-{number}" for number in range(values)]
    measures = {name: [int(name == "clicks")] * values for name in CLICK_MEASURES}
    table = columns.of_columns({"utm_campaign": campaigns}, measures)
    one = JointId(account_id, "UTC", None, "clicks", "utm_campaign", day.isoformat())
    # Clicks, first clicks of visitors, bots, corrections.
    await JointCountStore(database).store({one: NewTable([values, 0, 0, 0], table)})


def _click(account_id: UUID, day: date) -> dict[str, Any]:
    return {
        "account_id": account_id,
        "link_id": account_id,
        "at": datetime.combine(day, time(9), UTC),
        "domain_name": "",
        "country": "DE",
        "device": "mobile",
        "browser": "Chrome",
        "os": "Android",
        "bot": None,
        "unique": False,
    }
