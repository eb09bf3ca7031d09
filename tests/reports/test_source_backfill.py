"""Clicks and events of an earlier release get the sources that they would be stored with now."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from pymongo.errors import AutoReconnect

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_event
from tracker.clicks.click import Click
from tracker.clicks.sources import FIELDS
from tracker.clock import day_of, moment, start_of
from tracker.db.documents import run_updates
from tracker.db.transaction import run_in_transaction
from tracker.ids import new_id
from tracker.reports.query import Query
from tracker.reports.recount import CORRECTION_SLOT, Recount
from tracker.reports.rollup import CORRECTIONS
from tracker.reports.source_backfill import Range, SourceBackfill
from tracker.service.services import Services

ACCOUNT, OTHER, LINK, PLAIN_LINK = (new_id() for _ in range(4))
DAY = day_of(moment(AT_MS))
DAY_MS = 86_400_000
MODULE = SourceBackfill.__module__


def of_day(account_id: UUID = ACCOUNT, day: str = DAY) -> Range:
    return Range(account_id, start_of(day), start_of(day) + timedelta(days=1))


def visit(**fields: Any) -> Click:
    given = {"link_id": LINK.bytes, "referrer": "https://t.co/", "query": "utm_source=news"}
    return make_click(ACCOUNT, **given | fields)


def without_source(**fields: Any) -> Click:
    """Return a click that has no source, though it may look like it."""
    return visit(**{"referrer": "not a URL", "query": "utm_source=&utm_id=1"} | fields)


async def stored(services: Services, clicks: Sequence[Click], late_ms: int = 0) -> None:
    """Store clicks and an event of each, as an earlier release did: without sources."""
    events = [
        make_event(number, one.id, at=one.at + late_ms) for number, one in enumerate(clicks, 1)
    ]
    await scene.applied(services, [*clicks, *events])
    for name in ("clicks", "events"):
        unset = {"$unset": dict.fromkeys(FIELDS, "")}
        await services.database[name].update_many({}, unset)


async def backfilled(services: Services, of: Range | None = None) -> int:
    return await SourceBackfill(services.database).run(of or of_day())


async def sources(services: Services, collection: str) -> list[dict[str, str]]:
    """Return the sources of each document, oldest first."""
    rows = services.database[collection].find({}).sort([("at", 1), ("_id", 1)])
    return [{name: row[name] for name in FIELDS if name in row} async for row in rows]


async def corrections(services: Services) -> dict[tuple[str, UUID | None], int]:
    """Return how often each rollup was corrected."""
    found = {}
    async for row in services.database["rollups"].find({"_id.slot": CORRECTION_SLOT}):
        of, link_id = row["_id"]["of"], row["_id"]["link_id"]
        assert (row["_id"]["account_id"], row["_id"]["day"]) == (ACCOUNT, DAY)
        assert row["total"].keys() == {CORRECTIONS}
        found[of, link_id] = row["total"][CORRECTIONS]
    return found


async def test_a_click_and_its_event_get_the_sources_that_the_drain_would_store(
    services: Services,
) -> None:
    click = visit(query="utm_term=a+b&utm_source=news")
    await stored(services, [click])
    assert await backfilled(services) == 2
    made: Any = services.enrichment.document(click)
    expected = {"referrer_host": "t.co", "utm_source": "news", "utm_term": "a b"}
    assert {name: made[name] for name in FIELDS if name in made} == expected
    assert await sources(services, "clicks") == await sources(services, "events") == [expected]


async def test_a_second_run_changes_nothing(services: Services) -> None:
    await stored(services, [visit(), visit(query=""), visit(referrer=""), without_source()])
    assert await backfilled(services) == 6
    before = await scene.dump(services)
    assert await backfilled(services) == 0
    assert await scene.dump(services) == before


async def test_what_has_no_source_is_never_written(services: Services) -> None:
    await stored(services, [without_source(), visit(referrer="", query="a=1")])
    before = await scene.dump(services)
    assert await backfilled(services) == 0
    assert await scene.dump(services) == before


async def test_the_rollups_of_the_link_and_the_account_are_marked_and_their_sums_stay(
    services: Services,
) -> None:
    plain = without_source(link_id=PLAIN_LINK.bytes)
    await stored(services, [visit(), plain])
    await backfilled(services)
    assert await corrections(services) == {("account", None): 2, ("link", LINK): 2}
    recount = Recount(services.database, services.reader)
    assert await recount.correct(ACCOUNT, DAY) == 0
    rows = await services.database["rollups"].distinct("domain_name", {"_id.of": "link"})
    assert rows == ["go.example.com"]


async def test_the_marks_are_in_the_calendars_of_the_account(services: Services) -> None:
    """The day in Berlin begins an hour before that in UTC."""
    row = {"_id": ACCOUNT, "name": "A", "created_at": moment(AT_MS), "time_zone": "Europe/Berlin"}
    await services.database["accounts"].insert_one(row)
    late = start_of(DAY) + timedelta(hours=23, minutes=30)
    await stored(services, [visit(at=int(late.timestamp() * 1000))])
    assert await backfilled(services) == 2
    marked = services.database["rollups"].find({f"total.{CORRECTIONS}": 2})
    found = {(row["_id"]["of"], row["_id"]["day"]) async for row in marked}
    day = (late + timedelta(days=1)).date().isoformat()
    assert found == {("account Europe/Berlin", day), ("link Europe/Berlin", day)}


async def test_documents_and_marks_change_together_or_not_at_all(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stored(services, [visit()])
    before = await scene.dump(services)

    async def interrupted(database: Any, collection: str, *arguments: Any) -> int:
        if collection == "rollups":
            raise AutoReconnect
        return await run_updates(database, collection, *arguments)

    monkeypatch.setattr(f"{MODULE}.run_updates", interrupted)
    with pytest.raises(AutoReconnect):
        await backfilled(services)
    assert await scene.dump(services) == before


async def test_an_interrupted_run_goes_on_where_it_ended(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{MODULE}._DOCUMENTS_PER_TRANSACTION", 2)
    await stored(services, [visit(at=AT_MS + number) for number in range(5)])
    left = [2]

    async def interrupted(*arguments: Any) -> Any:
        if not left[0]:
            raise AutoReconnect
        left[0] -= 1
        return await run_in_transaction(*arguments)

    monkeypatch.setattr(f"{MODULE}.run_in_transaction", interrupted)
    with pytest.raises(AutoReconnect):
        await backfilled(services)
    assert [len(one) for one in await sources(services, "clicks")] == [2, 2, 2, 2, 0]
    monkeypatch.setattr(f"{MODULE}.run_in_transaction", run_in_transaction)
    assert await backfilled(services) == 1 + 5
    assert [len(one) for one in await sources(services, "events")] == [2] * 5


async def test_other_days_and_accounts_stay_as_they_are(services: Services) -> None:
    await stored(services, [visit()])
    before = await scene.dump(services)
    for of in (of_day(OTHER), of_day(day="2020-01-01")):
        assert await backfilled(services, of) == 0
    assert await scene.dump(services) == before


async def test_an_event_gets_the_sources_of_a_click_of_an_earlier_day(services: Services) -> None:
    await stored(services, [visit(at=AT_MS - DAY_MS)], late_ms=DAY_MS)
    assert await backfilled(services) == 1
    assert [len(one) for one in await sources(services, "events")] == [2]
    assert [len(one) for one in await sources(services, "clicks")] == [0]


async def test_an_event_whose_click_is_deleted_keeps_what_it_has(services: Services) -> None:
    await stored(services, [visit()])
    await services.database["events"].update_one({}, {"$set": {"utm_term": "kept"}})
    await services.database["clicks"].delete_many({})
    assert await backfilled(services) == 0
    assert await sources(services, "events") == [{"utm_term": "kept"}]


async def test_an_event_loses_what_its_click_does_not_have(services: Services) -> None:
    await stored(services, [visit(referrer="")])
    await services.database["events"].update_one({}, {"$set": {"utm_term": "x"}})
    await backfilled(services)
    assert await sources(services, "events") == [{"utm_source": "news"}]


async def test_an_event_that_took_nothing_over_gets_nothing(services: Services) -> None:
    click = visit()
    await scene.applied(services, [click])
    foreign = make_event(1, click.id, account_id=OTHER.bytes)
    pending = make_event(2, new_id().bytes, account_id=ACCOUNT.bytes)
    await scene.applied(services, [foreign, pending, make_event(3, account_id=ACCOUNT.bytes)])
    assert await backfilled(services) == await backfilled(services, of_day(OTHER)) == 0
    assert await sources(services, "events") == [{}, {}, {}]


async def reported(
    services: Services, by: str, **filters: list[UUID]
) -> dict[str, tuple[int, int]]:
    """Return clicks and conversions of the day by the keys of a report."""
    one = date.fromisoformat(DAY)
    query = Query(account_id=ACCOUNT, first=one, last=one, group_by=by, filters=filters)  # type: ignore[arg-type]
    rows = (await services.reports.run(query)).rows
    return {row.key: (row.measures.clicks, row.measures.conversions) for row in rows}


@pytest.mark.parametrize("filters", [{}, {"link": [LINK]}])
async def test_reports_that_were_read_before_show_the_sources_afterwards(
    services: Services, filters: dict[str, list[UUID]]
) -> None:
    await stored(services, [visit(), visit(referrer="")])
    assert await reported(services, "referrer", **filters) == {"direct": (2, 2)}
    assert await reported(services, "utm_source", **filters) == {"none": (2, 2)}
    await backfilled(services)
    assert await reported(services, "referrer", **filters) == {"direct": (1, 1), "t.co": (1, 1)}
    assert await reported(services, "utm_source", **filters) == {"news": (2, 2)}
