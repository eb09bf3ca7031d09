"""`POST /api/reports/overview`: its figures are those of single reports, all of one moment."""

from typing import Any, get_args

import pytest

from tests.factories import create_link
from tests.web.client import Client
from tests.web.each import each_case
from tests.web.reported import MEASURES, Reported, days, reported
from tests.web.world import World
from tracker.ids import new_id
from tracker.reports.answers import compared, one_report
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.query import GroupBy, Report, ReportQuery
from tracker.service.services import Services
from tracker.stores.redis import keys

PATH = "/api/reports/overview"
# Twenty are the limit.
GROUPS = [group_by for group_by in get_args(GroupBy) if group_by != "utm_term"]
PANELS = [{"groupBy": group_by, "limit": 3} for group_by in GROUPS]


def as_report(panel: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the report that has the rows of a panel."""
    return {"pageSize" if name == "limit" else name: value for name, value in panel.items()}


async def check_panels(scene: Reported, found: dict[str, Any], asked: dict[str, Any]) -> None:
    """Check that each panel of an overview has the rows of a single report."""
    for panel in PANELS:
        one = await scene.report(**asked, **as_report(panel))
        assert found["panels"][panel["groupBy"]] == {
            "rows": one["rows"],
            "totalRows": one["pagination"]["totalRows"],
        }


async def test_every_part_has_the_figures_of_a_single_report(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    own = [one for one in scene.history.clicks if one["account_id"] == scene.history.account_id]
    for fields in (
        {"interval": "day"},
        {"interval": "hour", "filters": {"link": [str(own[0]["link_id"])]}},
        {"interval": "week", "filters": {"country": ["DE", "TR"], "referrer": "direct"}},
        {"interval": "hour", "bots": "include", "columns": ["clicks", "value"]},
    ):
        # All cases together ask more often than an address may in a minute.
        await services.stores.redis.delete(keys.rate_limit("ip", "127.0.0.1"))
        asked = {"dateRange": days(2, 3), "compare": "previous_period", **fields}
        found = await scene.ask(PATH, **asked, panels=PANELS)
        single = await scene.report(groupBy="os", **asked)
        totals = single["totals"]
        assert found["previous"] == totals.pop("previous")
        assert found["change"] == totals.pop("change")
        assert found["totals"] == totals
        for name in ("interval", "series", "previousSeries", "dateRange", "previousDateRange"):
            assert found[name] == single[name]
        assert found["timeZone"] == "UTC"
        del asked["interval"]
        await check_panels(scene, found, asked)


async def test_rows_of_a_panel_may_be_left_uncompared(services: Services, client: Client) -> None:
    scene = await reported(services, client)
    asked: dict[str, Any] = {"dateRange": days(2, 3), "compare": "previous_period"}
    panels = [{"groupBy": "country"}, {"groupBy": "hour_of_week", "limit": 100, "compare": False}]
    found = (await scene.ask(PATH, **asked, panels=panels))["panels"]
    compared, plain = (found[name]["rows"] for name in ("country", "hour_of_week"))
    assert all("previous" in row and "change" in row for row in compared)
    del asked["compare"]
    alone = await scene.report(**asked, groupBy="hour_of_week", pageSize=100)
    assert plain == alone["rows"]


async def test_the_values_that_it_is_filtered_by_have_names(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    link = await create_link(services, scene.history.account_id, internal_name="Spring")
    foreign = await create_link(services, new_id(), "foreign", internal_name="Of another account")
    filters = {"link": [str(link.id), str(foreign.id)], "country": ["de", "unknown"], "bot": "none"}
    found = await scene.ask(PATH, dateRange=days(2, 3), filters={**filters, "bots": "include"})
    assert found["filterNames"] == {
        "link": {str(link.id): "Spring", str(foreign.id): str(foreign.id)},
        "country": {"DE": "Germany", "unknown": "Unknown"},
        "bot": {"none": "People"},
    }
    conditions = {"country": {"is": ["DE"], "is_not": ["fr"]}, "utm_source": {"contains": ["x"]}}
    found = await scene.ask(PATH, dateRange=days(2, 3), filters=conditions)
    assert found["filterNames"] == {"country": {"DE": "Germany", "FR": "France"}}
    report = await scene.report(groupBy="os", filters=conditions)
    assert report["filterNames"] == found["filterNames"]


async def test_an_overview_needs_neither_panels_nor_other_days(world: World) -> None:
    range_ = {"from": "2026-01-01", "to": "2026-01-03"}
    answer = await world.api.post(PATH, accountId=str(world.account.id), dateRange=range_)
    nothing = dict.fromkeys(MEASURES[:7], 0)  # neither statuses nor costs
    assert answer.json() == {
        "totals": nothing,
        "interval": "day",
        "series": [{"key": f"2026-01-0{number}", **nothing} for number in (1, 2, 3)],
        "panels": {},
        "dateRange": range_,
        "timeZone": "UTC",
        "filterNames": {},
    }


async def test_all_parts_are_of_one_moment(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = await reported(services, client)
    asked = {"dateRange": days(0, 3), "compare": days(0, 1), "panels": PANELS}
    before = await scene.ask(PATH, **asked)
    found, done = one_report.found_rows, 0

    async def found_and_deleted(*args: Any) -> Any:
        nonlocal done
        rows = await found(*args)
        done += 1
        await services.stores.mongodb["rollups"].delete_many({})
        return rows

    monkeypatch.setattr(one_report, "found_rows", found_and_deleted)
    assert await scene.ask(PATH, **asked) == before
    assert done == 2 + 2 * len(PANELS)
    assert (await scene.ask(PATH, **asked))["totals"]["clicks"] == 0


async def test_an_overview_that_takes_too_long_says_which_part_to_narrow(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = await reported(services, client)

    async def asked() -> tuple[str, dict[str, str]]:
        body = {"accountId": str(scene.history.account_id), "dateRange": days(0, 3)}
        panels = [{"groupBy": "os"}, {"groupBy": "country"}]
        response = await scene.api.post(PATH, **body, panels=panels)
        assert response.status == 503
        told = ("X-Error-Code", "Retry-After", "X-Report-Progress")
        return response.error, {name: response.headers[name] for name in told}

    read = one_report.read_page

    async def read_until_country(
        run: ReportRun, name: str, query: ReportQuery, *rest: Any
    ) -> Report:
        if query.group_by == "country":
            run._until = 0.0
        return await read(run, name, query, *rest)

    monkeypatch.setattr(compared, "read_page", read_until_country)
    # Of three parts the series and the first panel are done.
    assert await asked() == (
        "panels[1]: not done after 30 seconds; 66% is counted and cached: try again, or ask for "
        "fewer days, or leave it out",
        {"X-Error-Code": "time_limit", "Retry-After": "1", "X-Report-Progress": "0.6667"},
    )


@each_case(
    "fields, error",
    [
        ({"panels": [{"groupBy": "os"}] * 27}, "panels: must be"),
        ({"panels": [{"groupBy": "city"}]}, "panels[0].groupBy: must be bot or"),
        ({"panels": [{"limit": 3}]}, "panels[0].groupBy: required"),
        ({"panels": [{"groupBy": "os", "limit": 0}]}, "panels[0].limit: must be a whole number"),
        ({"panels": [{"groupBy": "os", "limit": 251}]}, "panels[0].limit: must be a whole"),
        ({"panels": [{"groupBy": "os", "page": 2}]}, "panels[0].page: unknown field"),
        (
            {"panels": [{"groupBy": "os"}, {"groupBy": "link"}, {"groupBy": "os", "limit": 2}]},
            "panels[2].groupBy: panels[0] has it already",
        ),
        ({"groupBy": "os"}, "groupBy: unknown field"),
        ({"filters": {"domain": "https://a.example"}}, "filters.domain: must be a hostname"),
        ({"filters": {"country": "Germany"}}, "filters.country: must be two letters"),
        ({"compare": {"from": "2026-01-01", "to": "2026-03-01"}}, None),
        (
            {"interval": "hour", "compare": {"from": "2026-01-01", "to": "2026-03-01"}},
            "compare: by hour at most 31 days",
        ),
        (
            {
                "dateRange": {"from": "2026-01-01", "to": "2026-01-02"},
                "compare": {"from": "2026-01-01", "to": "2026-03-01"},
            },
            "compare: by hour at most 31 days",
        ),
        ({"bots": "only", "filters": {"bots": "include"}}, "bots: differs from filters.bots"),
    ],
)
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str | None
) -> None:
    body = {"accountId": str(world.account.id), "dateRange": days(0, 3), **fields}
    response = await world.api.post(PATH, **body)
    if error is None:
        assert response.status == 200
    else:
        assert (response.status, response.error[: len(error)]) == (400, error)
