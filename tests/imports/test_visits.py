"""Imported visits: counted once as clicks of their days, and taken out again exactly."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any, get_args
from uuid import UUID

import pytest
from msgspec.structs import replace

from tests.conversions import scene
from tests.factories import CHROME, create_link, make_click, make_conversion
from tests.ingest import ledger
from tests.ingest.dying import Died, Steps, dying_mongodb
from tracker.calendar import calendar_of
from tracker.clock import now
from tracker.feeds.arrivals import TRANSACTION_NUMBERS
from tracker.ids import new_id
from tracker.imports import visits
from tracker.imports.item import SourceVisit
from tracker.imports.store import Import
from tracker.imports.visits import ImportedVisits
from tracker.ingest.planning.write_set import WriteConflict
from tracker.links.link import Link
from tracker.reports.query import GroupBy, Report, ReportQuery
from tracker.reports.repair.joint_check import JointCheck
from tracker.service.services import Services
from tracker.stores.mongodb import retention
from tracker.stores.mongodb.transaction import MongoSession

BERLIN = "Europe/Berlin"
FIRST, LAST = date(2026, 3, 27), date(2026, 3, 31)
NIGHT = datetime(2026, 3, 28, 23, 30, tzinfo=UTC)
"""The 29th in Berlin, whose clocks skip an hour on that day."""
AGENTS = (CHROME, "curl/8.0", "")
Pairs = Sequence[tuple[Link, SourceVisit]]


class Scene:
    """An account in Berlin with two links, and a process that imports visits of them."""

    def __init__(self, services: Services, links: Sequence[Link]) -> None:
        self.services, self.links = services, links
        self.account_id = links[0].account_id
        self.origin = Import(
            id=new_id(),
            account_id=self.account_id,
            created_at=now(),
            source="yourls",
            instance="ex.test",
        )
        self.visits = process_of(services)

    async def store(self, pairs: Pairs) -> Mapping[str, int]:
        await self.visits.store(self.origin, pairs, self.count_step)
        await self.check()
        return self.counts

    async def undo(self) -> int:
        removed = await self.visits.undo(self.origin, self.count_step)
        await self.check()
        return removed

    async def count_step(self, session: MongoSession, counts: Mapping[str, int]) -> None:
        """What a job does: it keeps its position in the same transaction."""
        self.counts = counts
        steps = {"$inc": {"steps": 1}}
        imports = self.services.stores.mongodb["imports"]
        await imports.update_one({"_id": "a"}, steps, upsert=True, session=session)

    async def steps(self) -> int:
        row = await self.services.stores.mongodb["imports"].find_one({"_id": "a"})
        return row["steps"] if row else 0

    async def check(self) -> None:
        """Rollups and cached counts equal the stored documents."""
        await ledger.check(self.services)
        mongodb = self.services.stores.mongodb
        joint = JointCheck(mongodb.database, self.account_id, calendar_of(BERLIN))
        async with mongodb.reads.at_one_snapshot() as snapshot:
            for number in range((LAST - FIRST).days + 1):
                day = FIRST + timedelta(number)
                assert await joint.wrong(day.isoformat(), snapshot) == []

    async def reports(self) -> list[Report]:
        """Return reports by every dimension, of the account and of a link."""
        return [
            await self.report(group_by, **filters)
            for group_by in get_args(GroupBy)
            for filters in ({}, {"filters": {"link": [self.links[0].id]}}, {"bots": "include"})
        ]

    async def report(self, group_by: str = "day", **fields: Any) -> Report:
        query = ReportQuery(
            account_id=self.account_id, first=FIRST, last=LAST, group_by=group_by, page_size=100,
        )  # fmt: skip
        return await self.services.reports.reports.run(replace(query, **fields))


def process_of(services: Services) -> ImportedVisits:
    stores = services.stores
    return ImportedVisits(
        stores.mongodb,
        stores.redis,
        services.clicks.enrichment,
        services.webhooks.queue,
        services.journal.journal,
    )


def counts(new: int = 0, known: int = 0, outside: int = 0) -> Mapping[str, int]:
    return {"visits": new, "visits_known": known, "visits_outside": outside}


def make_visit(at: datetime = NIGHT, number: int = 0, **fields: Any) -> SourceVisit:
    given: dict[str, Any] = {"link_id": "1", "user_agent": CHROME, "country": "DE"}
    return SourceVisit(at=at, number=number, **(given | fields))


async def scene_of(services: Services, **fields: Any) -> Scene:
    account = await services.accounts.accounts.create("Acme")
    zone = {"$set": {"time_zone": BERLIN}}
    await services.stores.mongodb["accounts"].update_one({"_id": account.id}, zone)
    links = [await create_link(services, account.id, slug, **fields) for slug in ("a", "b")]
    return Scene(services, links)


async def add_clicks(of: Scene, random: Random) -> None:
    """Store clicks of visitors, and conversions of some."""
    clicks = [
        make_click(
            of.account_id,
            link_id=random.choice(of.links).id.bytes,
            domain_name="",
            at=int(random_time(random).timestamp() * 1000),
            user_agent=random.choice(AGENTS),
        )
        for _ in range(40)
    ]
    events = [
        make_conversion(random.getrandbits(40), click.id, value="1", at=click.at)
        for click in clicks[:9]
    ]
    await scene.applied(of.services, [*clicks, *events])


def random_time(random: Random) -> datetime:
    return datetime(2026, 3, 27, tzinfo=UTC) + timedelta(seconds=random.randrange(4 * 86_400))


def some_visits(of: Scene, random: Random, number: int) -> list[tuple[Link, SourceVisit]]:
    return [
        (
            random.choice(of.links),
            make_visit(
                random_time(random),
                at,
                referrer=random.choice(("", "t.co", "https://news.example/a")),
                user_agent=random.choice(AGENTS),
                country=random.choice(("DE", "fr", "")),
                is_bot=random.random() < 0.2,
            ),
        )
        for at in range(number)
    ]


async def test_an_import_counts_once_and_its_undo_leaves_every_report_as_it_was(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "VISITS_PER_CHUNK", 25)
    random, of = Random(49), await scene_of(services)
    await add_clicks(of, random)
    before = await of.reports()
    pairs = some_visits(of, random, 60)
    for start in range(0, 60, 20):
        assert await of.store(pairs[start : start + 20]) == counts(new=20)
        await of.reports()
    after = await of.reports()
    totals = (await of.report(bots="include")).totals
    assert (totals.clicks, totals.unique_clicks) == (100, before[0].totals.unique_clicks)
    await add_clicks(of, random)
    with_more = await of.reports()
    assert await of.store(pairs) == counts(known=60)
    assert await of.reports() == with_more
    assert [await of.undo() for _ in range(4)] == [25, 25, 10, 0]
    assert of.counts == {"visits_removed": 10}
    undone = await of.reports()
    assert [one.totals for one in undone] != [one.totals for one in after]
    assert (await of.report(bots="include")).totals.clicks == 80
    assert await of.steps() == 7


async def test_reports_after_an_undo_equal_those_before_the_import(services: Services) -> None:
    random, of = Random(50), await scene_of(services)
    await add_clicks(of, random)
    before = await of.reports()
    await of.store(some_visits(of, random, 60))
    assert await of.reports() != before
    await of.undo()
    assert await of.reports() == before


async def test_a_visit_is_a_click_of_its_day_hour_and_visitor(services: Services) -> None:
    of = await scene_of(services)
    [link, _] = of.links
    visit = make_visit(referrer="Tücher.example", country="de")
    await of.store([(link, visit), (link, make_visit(number=1, user_agent="", is_bot=True))])
    [row] = [one for one in (await of.report(bots="include")).rows if one.measures.clicks]
    assert (row.key, row.measures.clicks, row.measures.bot_clicks) == ("2026-03-29", 2, 1)
    assert row.measures.unique_clicks == 0
    clicks = services.stores.mongodb["clicks"].find({}, {"_id": 0, "stored_at": 0})
    person, bot = await clicks.sort("bot", 1).to_list(None)
    assert person == {
        "account_id": of.account_id,
        "link_id": link.id,
        "at": NIGHT,
        "domain_name": "",
        "bot": None,
        "unique": False,
        "referrer": "https://TÃ¼cher.example",
        "referrer_host": "xn--tcher-kva.example",
        "user_agent": CHROME,
        "query": "",
        "country": "DE",
        "device": "desktop",
        "browser": "Chrome",
        "os": "Windows",
        "import_id": of.origin.id,
    }
    assert (bot["bot"], bot["device"]) == ("crawler", "unknown")


async def test_a_source_that_tells_no_user_agents_has_people(services: Services) -> None:
    of = await scene_of(services)
    await of.store([(of.links[0], make_visit(user_agent=""))])
    assert (await of.report()).totals.clicks == 1


async def test_visits_of_one_second_differ_by_number_link_and_instance(services: Services) -> None:
    of = await scene_of(services)
    link = of.links[0]
    visit = make_visit()
    same_second = replace(visit, at=NIGHT + timedelta(milliseconds=999))
    different = [
        replace(visit, number=1),
        replace(visit, link_id="2"),
        replace(visit, at=NIGHT + timedelta(seconds=1)),
    ]
    found = await of.store([(link, one) for one in (visit, same_second, *different)])
    assert found == counts(new=4)
    of.origin = replace(of.origin, id=new_id(), instance="other.test")
    assert await of.store([(link, visit)]) == counts(new=1)
    assert await of.undo() == 1
    assert (await of.report()).totals.clicks == 4


async def test_visits_of_days_that_retention_has_reached_are_left_out(services: Services) -> None:
    of = await scene_of(services)
    database = services.stores.mongodb.database
    await retention.set_click_retention(database, 30)
    at = now() - timedelta(days=2)
    found = await of.store(
        [
            (of.links[0], make_visit(one))
            for one in (at, at - timedelta(days=29), now() + timedelta(hours=1))
        ]
    )
    assert found == counts(new=1, outside=2)
    assert await database["clicks"].count_documents({"stored_at": {"$gt": at}}) == 1
    await retention.set_click_retention(database, 0)


async def test_visits_are_taken_out_of_the_clicks_before_the_import(services: Services) -> None:
    of = await scene_of(services, opening_clicks=3)
    first, second = of.links
    pairs = [(first, make_visit(number=one)) for one in range(2)]
    pairs += [(second, make_visit(number=one, link_id="2")) for one in range(4)]
    for _ in range(2):
        await of.store(pairs)
        found = await services.links.links.find_all([first.id, second.id])
        assert [found[one.id].opening_clicks for one in of.links] == [1, 0]
    rows = services.stores.mongodb["links"].find({"opening_clicks": {"$exists": True}})
    assert len(await rows.to_list(None)) == 1


async def test_a_repeated_import_brings_the_totals_without_the_visits_that_are_stored(
    services: Services,
) -> None:
    of = await scene_of(services, opening_clicks=3)
    first, second = of.links
    await of.store([(first, make_visit(number=one)) for one in range(2)])
    await of.visits.set_openings({first.id: 7, second.id: 0})
    found = await services.links.links.find_all([first.id, second.id])
    assert [found[one.id].opening_clicks for one in of.links] == [5, 0]
    assert found[first.id].version == first.version


async def test_feeds_by_storing_order_live_pages_and_webhooks_hear_of_no_import(
    services: Services,
) -> None:
    of = await scene_of(services)
    await of.store([(of.links[0], make_visit())])
    for name in ("arrivals", TRANSACTION_NUMBERS, "deliveries"):
        assert await services.stores.mongodb[name].count_documents({}) == 0


async def test_a_conversion_keeps_what_it_has_of_a_visit_that_is_undone(services: Services) -> None:
    of = await scene_of(services)
    await of.store([(of.links[0], make_visit())])
    click = await services.stores.mongodb["clicks"].find_one({})
    assert click is not None
    click_id: UUID = click["_id"]
    at = int(NIGHT.timestamp() * 1000)
    await scene.applied(services, [make_conversion(1, click_id.bytes, value="2", at=at)])
    await of.undo()
    totals = (await of.report(filters={"link": [of.links[0].id]})).totals
    assert (totals.clicks, totals.conversions) == (0, 1)


async def test_a_process_that_dies_at_any_step_leaves_all_of_a_chunk_or_nothing(
    services: Services,
) -> None:
    random, of = Random(51), await scene_of(services, opening_clicks=9)
    await add_clicks(of, random)
    pairs = some_visits(of, random, 12)
    clicks = services.stores.mongodb["clicks"]
    for step in range(30):
        of.visits = dying_process(services, step)
        try:
            await of.store(pairs)
        except Died:
            await of.check()
            stored = await clicks.count_documents({"import_id": of.origin.id})
            assert stored == await of.steps() == 0
        else:
            break
    assert step > 4
    for step in range(30):
        of.visits = dying_process(services, step)
        try:
            await of.undo()
        except Died:
            await of.check()
            assert await clicks.count_documents({"import_id": of.origin.id}) == 12
            assert await of.steps() == 1
        else:
            break
    assert await of.steps() == 2


def dying_process(services: Services, at: int) -> ImportedVisits:
    """Return a process that dies at the write of that number."""
    dying = process_of(services)
    mongodb = dying_mongodb(services.stores.mongodb, Steps(at))
    dying._mongodb, dying._writer._database = mongodb, mongodb.database
    return dying


async def test_of_two_processes_with_one_chunk_one_stores_it(services: Services) -> None:
    of = await scene_of(services)
    pairs = some_visits(of, Random(52), 12)
    find = of.visits._clicks.find
    other = process_of(services)

    async def find_before_the_other_stores(ids: Any, fields: Any) -> Any:
        found = await find(ids, fields)
        await other.store(of.origin, pairs, of.count_step)
        return found

    of.visits._clicks.find = find_before_the_other_stores  # type: ignore
    with pytest.raises(WriteConflict):
        await of.store(pairs)
    of.visits._clicks.find = find  # type: ignore[method-assign]
    assert await of.store(pairs) == counts(known=12)
    assert await of.steps() == 2
