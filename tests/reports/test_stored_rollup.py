"""MongoDB adds up to exactly the sums, in whichever slots, whatever the values are called."""

from bson import Decimal128

from tests.ingest.ledger import counted
from tests.reports.test_rollup import CLICK, EVENT, JOINED, VALUES
from tracker.reports.rollup import Rollup, stored_sums
from tracker.service.services import Services

HOSTILE = ("", ".", "$inc", "a..b", "$", "0", "__proto__", "\u202e", "%", "_id", "a" * 300)


def mixed(batches: int) -> list[Rollup]:
    """The same each time, with values that would break a path that is not encoded."""
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


async def test_mongodb_stores_and_adds_up_exactly_the_sums(services: Services) -> None:
    """Whatever the slot, and however often a document is added to."""
    for number, rollup in enumerate(mixed(batches=4)):
        answer = await services.database.command(
            {"update": "rollups", "updates": list(rollup.updates(slot=number % 2))},
            codec_options=services.database.codec_options,
        )
        assert "writeErrors" not in answer
    rows = [row async for row in services.database["rollups"].find()]
    assert {tuple(row["_id"]) for row in rows} == {
        ("account_id", "of", "day", "link_id", "slot"),
    }
    assert {row["_id"]["slot"] for row in rows} == {0, 1}
    [together] = mixed(batches=1)
    assert await counted(services) == together.sums()


async def test_a_links_document_knows_its_domain_and_an_accounts_does_not(
    services: Services,
) -> None:
    rollup = Rollup()
    rollup.add_click(CLICK)
    rollup.add_event(JOINED)
    for _ in range(2):
        await services.database.command(
            {"update": "rollups", "updates": list(rollup.updates(3))},
            codec_options=services.database.codec_options,
        )
    rows = {row["_id"]["of"]: row async for row in services.database["rollups"].find()}
    assert rows["link"]["domain_name"] == "go.example.com"
    assert "domain_name" not in rows["account"]
    assert stored_sums(rows["link"])["total.clicks"] == 2


def test_zeros_that_are_stored_are_not_told() -> None:
    cell = {"conversions": 0, "value": Decimal128("0E-9"), "clicks": 1}
    assert stored_sums({"_id": {}, "total": cell, "country": {"DE": {"bots": 0}}}) == {
        "total.clicks": 1
    }
