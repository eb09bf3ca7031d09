"""Rollups that the parts of a request share have the sums that MongoDB makes of them."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from tests.reports.history import DAYS, FIRST, History, made
from tests.stores.mongodb.profiler import profiled
from tests.web.client import Client
from tests.web.reported import days, reported
from tracker.reports.columns import CLICK_MEASURES, EVENT_MEASURES, FURTHER_MEASURES, Columns
from tracker.reports.rollups.layout import RollupSelection, rollups_of
from tracker.reports.rollups.pipelines import RollupQuery, rollup_table
from tracker.reports.rollups.shared_rollups import SharedRollups
from tracker.service.services import Services
from tracker.visitor_dimensions import NAMES

LAST = FIRST + timedelta(DAYS - 1)


def of_history(history: History, map_: str | None, **fields: Any) -> RollupQuery:
    query = RollupQuery(
        matching=rollups_of(history.account_id, "UTC", "link"),
        selection=RollupSelection("link", map_),
        names=["link"] if map_ is None else [map_],
        first=FIRST,
        last=LAST,
        links=[own_link(history)],
    )
    return query._replace(**fields)


def own_link(history: History) -> Any:
    return next(one["link_id"] for one in history.clicks if one["account_id"] == history.account_id)


def sums(table: Columns, names: list[str], measures: tuple[str, ...]) -> dict[Any, Any]:
    """Return the sums that are not zero."""
    table = table.by(names)
    keys = zip(*(table.dimensions[name].in_rows() for name in names), strict=True)
    of_rows = zip(*(table.measures[one] for one in measures), strict=True)
    return {key: of_row for key, of_row in zip(keys, of_rows, strict=True) if any(of_row)}


async def test_their_sums_are_those_of_mongodb(services: Services) -> None:
    history, shared = await made(services, Random(5)), SharedRollups()
    reader = services.stores.mongodb.reads
    for map_ in (None, "hour", *NAMES):
        of_map = [] if map_ is None else [map_]
        for fields in (
            {},
            {"names": ["link", "domain", *of_map]},
            {"names": ["link", *of_map], "last": FIRST},
            {"names": [*of_map, "domain"], "by_day": True, "measures": CLICK_MEASURES},
            {"names": ["link", *of_map], "measures": (*EVENT_MEASURES, *FURTHER_MEASURES)},
            {"cells": None if map_ is None else ["09", "DE", "Google app", "iOS", "tv", "no.ne"]},
        ):
            query = of_history(history, map_, **fields)
            names = [*(["day"] if query.by_day else []), *query.names]
            found = await shared.table(reader, query)
            assert found is not None
            expected = await rollup_table(reader, query)
            measures = tuple(query.measures)
            assert sums(found, names, measures) == sums(expected, names, measures)
            assert query.cells or expected.rows


async def test_each_day_is_read_once(services: Services) -> None:
    history, shared = await made(services, Random(5)), SharedRollups()
    reader = services.stores.mongodb.reads
    async with profiled(services.stores.mongodb.database) as rows:
        for first, last in ((FIRST, LAST), (FIRST, FIRST), (FIRST, LAST + timedelta(1))):
            for map_ in ("hour", "country"):
                query = of_history(history, map_, first=first, last=last)
                assert await shared.table(reader, query) is not None
    assert [row["ns"].partition(".")[2] for row in rows] == ["rollups"] * 2


@pytest.mark.parametrize(
    "fields",
    [
        {"links": None},
        {"links": []},
        {"links": [None]},
        {"links": [1, 2]},
        {"last": FIRST + timedelta(7)},
        {"selection": RollupSelection("link", "event")},
        {"selection": RollupSelection("account", "domain")},
    ],
)
async def test_rollups_of_much_else_are_left_to_mongodb(
    services: Services, fields: dict[str, Any]
) -> None:
    history = await made(services, Random(5), clicks=20, events=2)
    query = of_history(history, None, **fields)
    assert await SharedRollups().table(services.stores.mongodb.reads, query) is None


async def test_an_overview_of_a_link_reads_its_rollups_once(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    own = [one for one in scene.history.clicks if one["account_id"] == scene.history.account_id]
    names = ("country", "device", "browser", "hour", "referrer")
    asked = {
        "dateRange": days(2, 3),
        "filters": {"link": [str(own[0]["link_id"])]},
        "panels": [{"groupBy": name} for name in names],
    }
    counted = await scene.ask("/api/reports/overview", **asked)
    async with profiled(services.stores.mongodb.database) as rows:
        assert await scene.ask("/api/reports/overview", **asked) == counted
    of_rollups = [row["op"] for row in rows if row["ns"].endswith(".rollups")]
    assert of_rollups == ["query"]
