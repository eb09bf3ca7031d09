"""MongoDB adds up exactly the sums, of any drain number and for any values."""

from bson import Decimal128

from tests.ingest.ledger import counted
from tests.reports.rollups.examples import CLICK, EVENT, JOINED, VALUES
from tracker.reports.rollups.rollup import Rollup
from tracker.service.services import Services

HOSTILE = ("", ".", "$inc", "a..b", "$", "0", "__proto__", "\u202e", "%", "_id", "a" * 300)


def mixed(batches: int) -> list[Rollup]:
    """Return the same rollups each time, with values that would break an unencoded path."""
    rollups = [Rollup() for _ in range(batches)]
    for number in range(60):
        rollup = rollups[number % batches]
        values = {name: HOSTILE[(number + at) % len(HOSTILE)] for at, name in enumerate(VALUES)}
        bot = "crawler" if number % 5 == 0 else None
        where = {"bot": bot, "domain_name": HOSTILE[number % 3], **values}
        rollup.add_click(CLICK | where | {"unique": number % 2 == 0})
        money = {"value": Decimal128(f"1E-{number % 12}"), "payout": Decimal128("-999999999999999")}
        rollup.add_event(JOINED | where | money)
        rollup.add_event(EVENT | {"status": "pending"} | money, sign=1 if number % 3 else -1)
    return rollups


async def test_mongodb_adds_up_exactly_the_sums_in_any_slot(services: Services) -> None:
    for number, rollup in enumerate(mixed(batches=4)):
        answer = await services.stores.mongodb.database.command(
            {"update": "rollups", "updates": list(rollup.updates(number % 2))},
            codec_options=services.stores.mongodb.database.codec_options,
        )
        assert "writeErrors" not in answer
    rows = [row async for row in services.stores.mongodb["rollups"].find()]
    assert {tuple(row["_id"]) for row in rows} == {
        ("account_id", "of", "day", "link_id", "slot"),
    }
    assert {row["_id"]["slot"] for row in rows} == {0, 1}
    [together] = mixed(batches=1)
    assert await counted(services) == together.sums()
