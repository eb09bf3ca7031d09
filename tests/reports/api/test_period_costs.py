"""Costs of periods in the answers of reports: rows, totals, series and panels."""

from typing import Any

from tests.conversions.scene import applied
from tests.factories import AT_MS, create_cost, create_link, make_click
from tests.web.world import World
from tracker.clock import day_of, moment

DAY = day_of(moment(AT_MS))


async def scene(world: World) -> None:
    """Store three clicks of `spring`, one of them a bot's, and costs of their day."""
    link = await create_link(world.services, world.account.id)
    agents: tuple[dict[str, Any], ...] = ({}, {}, {"user_agent": "curl/8"})
    given: dict[str, Any] = {"link_id": link.id.bytes, "query": "utm_campaign=spring"}
    await applied(
        world.services, [make_click(world.account.id, **given, **agent) for agent in agents]
    )
    costs = (("spring", 10, None), ("nobody", 5, None), ("spring", 7, "USD"))
    for number, (value, amount, currency) in enumerate(costs):
        period = {"first": DAY, "last": DAY if number < 2 else f"{DAY[:4]}-12-31"}
        await create_cost(
            world.services,
            world.account.id,
            **period,
            value=value,
            amount=amount * 10**9,
            currency=currency,
        )


async def ask(world: World, path: str = "/api/reports", **fields: Any) -> Any:
    days = {"from": DAY, "to": DAY}
    body = {"accountId": str(world.account.id), "dateRange": days, **fields}
    return (await world.api.post(path, **body)).json()


async def test_rows_have_their_part_and_totals_also_what_met_no_click(world: World) -> None:
    await scene(world)
    for group_by in ("utm_campaign", "link", "day", "month", "country", "hour"):
        found = await ask(world, groupBy=group_by, interval="day")
        [row], totals = found["rows"], found["totals"]
        assert (row["cost"], row["profit"], row["roi"], row["cpc"]) == (10, -10, -1, 5), group_by
        assert (totals["cost"], totals["unspreadCost"]) == (15, 5)
        assert totals["otherCosts"] == [{"currency": "USD", "cost": 7}]
        assert not {"unspreadCost", "otherCosts"} & row.keys()
        assert found["series"][0]["cost"] == 10


async def test_filters_and_bots_have_their_share_without_what_is_unspread(world: World) -> None:
    await scene(world)
    bots = (await ask(world, groupBy="day", bots="only"))["totals"]
    assert bots["cost"] == 3.333333334
    assert "unspreadCost" not in bots
    spring = await ask(world, groupBy="day", filters={"utm_campaign": "spring"})
    assert spring["totals"]["cost"] == 10
    summer = await ask(world, groupBy="day", filters={"utm_campaign": "summer"})
    assert summer["totals"]["cost"] is None
    nobody = await ask(world, groupBy="day", filters={"utm_campaign": "nobody"})
    assert (nobody["totals"]["cost"], nobody["totals"]["unspreadCost"]) == (5, 5)


async def test_an_answer_without_the_column_of_cost_tells_none(world: World) -> None:
    await scene(world)
    totals = (await ask(world, groupBy="day", columns=["clicks", "payout"]))["totals"]
    assert totals == {"clicks": 2, "payout": 0}


async def test_an_overview_has_costs_in_totals_series_and_panels(world: World) -> None:
    await scene(world)
    panels = [{"groupBy": "utm_campaign"}, {"groupBy": "link"}]
    found = await ask(world, "/api/reports/overview", panels=panels, interval="day")
    assert found["totals"]["cost"] == 15
    assert [one["rows"][0]["cost"] for one in found["panels"].values()] == [10, 10]
