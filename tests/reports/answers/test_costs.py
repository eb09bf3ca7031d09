"""Costs of periods in reports, compared with a share for each click one by one."""

from datetime import UTC, datetime, time, timedelta
from fractions import Fraction
from random import Random
from typing import Any
from uuid import UUID

import pytest
from bson import Decimal128

from scripts.cost_check import is_spread_exactly
from tests.conversions.scene import applied
from tests.factories import make_click
from tests.reports.answers.entered import enter, values_of
from tests.reports.history import History, days, made
from tracker.ids import new_id
from tracker.reports import arrays
from tracker.reports.answers.costs import CostParts, clicks_met, cost_parts
from tracker.reports.answers.cut_reading import CutReading
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.selection import selection_of
from tracker.reports.arrays import np
from tracker.reports.columns import Columns
from tracker.reports.costs.entries import PeriodCost
from tracker.reports.costs.spreading import spread_over_rows
from tracker.reports.query import GroupBy, ReportQuery
from tracker.service.services import Services


def clicks_of(history: History, cost: PeriodCost) -> list[dict[str, Any]]:
    """Return the clicks that a cost meets. The account counts in UTC."""
    found = []
    for click in history.clicks:
        if click["account_id"] != history.account_id or click.get("test"):
            continue
        period = click["at"].strftime("%Y-%m-%dT%H" if cost.is_hourly else "%Y-%m-%d")
        if cost.first <= period <= cost.last and cost.value in values_of(
            history, click, cost.filter
        ):
            found.append(click)
    return found


async def parts_of(services: Services, query: ReportQuery) -> CostParts:
    read = Reading if query.until is None else CutReading
    await arrays.load()
    async with services.reports.reports.begin(query.account_id) as run, run.part("report"):
        reading = read(run, query, await selection_of(run, query))
        found = await cost_parts(run, query, read, reading.names)
    assert found is not None
    return found


def naive(
    history: History, costs: list[PeriodCost], query: ReportQuery
) -> dict[tuple[str, bool], Fraction]:
    """Return the cost of each row, of all clicks and of bots', in the account's currency."""
    sums: dict[tuple[str, bool], Fraction] = {}
    for cost in costs:
        clicks = clicks_of(history, cost)
        for click in clicks if cost.currency is None else []:
            [day] = values_of(history, click, "day")
            passes = all(
                {*map(str, wanted)} & {*values_of(history, click, name)}
                for name, wanted in query.filters.items()
            ) and not any(
                {*map(str, refused)} & {*values_of(history, click, name)}
                for name, refused in query.excluded.items()
            )
            for name, texts in query.containing.items():
                [value] = values_of(history, click, name)
                passes &= value != "none" and any(text in value for text in texts)
            at = click["at"]
            if (
                f"{query.first}" <= day <= f"{query.last}"
                and passes
                and (query.until is None or at < query.until)
            ):
                for is_bot in {False, click["bot"] is not None}:
                    [key] = values_of(history, click, query.group_by)
                    part = Fraction(cost.amount, len(clicks))
                    sums[key, is_bot] = sums.get((key, is_bot), Fraction(0)) + part
    return sums


async def check(
    services: Services, history: History, costs: list[PeriodCost], query: ReportQuery
) -> None:
    found = (await parts_of(services, query)).table.by([query.group_by])
    keys = list(found.dimensions[query.group_by].in_rows())
    sums = (
        {
            (key, is_bot): part
            for is_bot, name in ((False, "cost"), (True, "bot_cost"))
            for key, part in zip(keys, found.measures[name].tolist(), strict=True)
        }
        if keys
        else {}
    )
    expected = naive(history, costs, query)
    for key in {*sums, *expected}:
        # Each cost, and each row of a cell, is rounded once.
        assert abs(sums.get(key, 0) - expected.get(key, 0)) < 1000, (query, key)


async def test_the_rows_of_every_report_have_the_shares_of_their_clicks(services: Services) -> None:
    random = Random(50)
    history = await made(services, random)
    costs = await enter(services, history, random, 60)
    for group_by in ("link", "day", "utm_campaign", "device", "referrer", "parameter_0"):
        for _ in range(6):
            first, last = sorted(random.choices(list(days()), k=2))
            click = random.choice(history.clicks)
            dimensions = ["link", "tag", "utm_source", "parameter_0"]
            names = random.sample(dimensions, random.randrange(3))
            other = random.choice(history.clicks)
            refused: dict[str, Any] = {
                name: [
                    UUID(one) if name == "tag" else one for one in values_of(history, other, name)
                ]
                for name in random.sample(dimensions, random.choice([0, 0, 1, 2]))
            }
            filters: dict[str, Any] = {
                name: [
                    UUID(one) if name in ("link", "tag") else one
                    for one in values_of(history, click, name)
                ]
                for name in names
            }
            if any(not one for one in filters.values()):
                continue
            until = datetime.combine(last, time(9, 30), UTC) if random.random() < 0.3 else None
            query = ReportQuery(
                account_id=history.account_id,
                first=first,
                last=last,
                until=until,
                group_by=group_by,
                filters=filters,
                excluded=refused,
                containing=random.choice([{}, {}, {"utm_source": ["m", "☂"]}]),
            )
            await check(services, history, costs, query)


async def test_the_parts_of_whole_periods_are_the_amounts_and_the_rest_is_unspread(
    services: Services,
) -> None:
    random = Random(51)
    history = await made(services, random)
    costs = await enter(services, history, random, 60)
    first, *_, last = days()
    met = {one.id: len(clicks_of(history, one)) for one in costs}
    async with services.reports.reports.begin(history.account_id) as run:
        assert await clicks_met(run, costs) == met
    own = [one for one in costs if one.currency is None]
    for group_by in ("link", "day", "hour", "utm_campaign", "month", "tag"):
        query = ReportQuery(
            account_id=history.account_id, first=first, last=last, group_by=group_by
        )
        found = await parts_of(services, query)
        assert found.table.total("cost") == sum(one.amount for one in own if met[one.id])
        assert found.unspread == sum(one.amount for one in own if not met[one.id]) > 0
        assert found.others == {"USD": sum(one.amount for one in costs if one.currency)}


@pytest.mark.parametrize(
    ("filters", "unspread"),
    [
        ({}, 30),
        ({"containing": {"utm_source": ["AI"]}}, 10),
        ({"not_containing": {"utm_source": ["ai"]}}, 0),
        ({"excluded": {"utm_source": ["other"]}}, 10),
        ({"excluded": {"utm_source": ["mail"]}}, 0),
        ({"filters": {"tag": [UUID(int=7)]}, "excluded": {"tag": [UUID(int=8)]}}, 20),
        ({"excluded": {"tag": [UUID(int=7)]}}, 0),
        ({"excluded": {"country": ["DE"]}}, 0),
    ],
)
async def test_a_cost_without_clicks_is_in_totals_whose_filters_it_passes(
    services: Services, filters: dict[str, Any], unspread: int
) -> None:
    account = await services.accounts.accounts.create("Acme")
    mongodb, [first, *_] = services.stores.mongodb, days()
    day = f"{first}"
    await mongodb["accounts"].update_one({"_id": account.id}, {"$set": {"has_costs": True}})
    for name, value, amount in (("utm_source", "mail", "10"), ("tag", str(UUID(int=7)), "20")):
        cost = {"account_id": account.id, "key": name, "first": day, "last": day, "filter": name}
        more = {"value": value, "amount": Decimal128(amount), "currency": None}
        await mongodb["costs"].insert_one({"_id": new_id(), **cost, **more})
    query = ReportQuery(account_id=account.id, first=first, last=first, group_by="day", **filters)
    assert (await parts_of(services, query)).unspread == unspread * 10**9


async def test_a_part_that_is_lost_is_found(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(52)
    history = await made(services, random)
    costs = await enter(services, history, random, 9)

    async def all_exact(groups: tuple[GroupBy, ...] = ("link", "day")) -> bool:
        async with services.reports.reports.begin(history.account_id) as run:
            return all([await is_spread_exactly(run, one, by) for one in costs for by in groups])

    assert await all_exact()

    def without_a_row(*given: Any) -> Columns:
        found = spread_over_rows(*given)
        return found.of_rows(np.arange(1, found.rows)) if found.rows else found

    monkeypatch.setattr("tracker.reports.answers.costs.spread_over_rows", without_a_row)
    assert not await all_exact()


async def test_hours_of_a_cost_are_those_of_clocks_which_may_show_one_twice(
    services: Services,
) -> None:
    account = await services.accounts.accounts.create("Acme")
    zone = {"time_zone": "Europe/Berlin", "has_costs": True}
    await services.stores.mongodb["accounts"].update_one({"_id": account.id}, {"$set": zone})
    night = datetime(2025, 10, 26, tzinfo=UTC)
    clicks = [
        make_click(
            account.id, at=int((night + timedelta(hours=hours, minutes=5)).timestamp()) * 1000
        )
        for hours in (-1, 0, 1, 2)
    ]
    await applied(services, clicks)
    costs = [
        PeriodCost(new_id(), f"2025-10-26T{first}", f"2025-10-26T{last}", "utm_source", "none", 100)
        for first, last in (("01", "01"), ("02", "02"), ("02", "03"), ("04", "23"))
    ]
    async with services.reports.reports.begin(account.id) as run:
        assert list((await clicks_met(run, costs)).values()) == [1, 2, 3, 0]
