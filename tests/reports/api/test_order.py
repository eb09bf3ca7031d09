"""`sort` and `search` of reports and overviews: rows in their order, and those with a text."""

from decimal import Decimal
from typing import Any, get_args

import pytest

from tests.web.client import Client
from tests.web.each import each_case
from tests.web.reported import MEASURES, days, reported
from tests.web.world import World
from tracker.reports.answers import one_report
from tracker.reports.api.schema import Sort
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.query import ReportQuery
from tracker.service.services import Services

SORTS = get_args(get_args(Sort)[0])


def test_every_measure_key_and_name_sorts_in_both_directions() -> None:
    names = (*MEASURES, "key", "name", *(f"change.{name}" for name in MEASURES))
    assert set(SORTS) == {*names, *(f"-{name}" for name in names)}


async def test_rows_are_sorted_by_any_measure_key_or_name(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    for group_by in ("link", "day"):
        found = await scene.report(groupBy=group_by)
        for sort in (one for one in SORTS if "change." not in one):
            name, descending = sort.lstrip("-"), sort.startswith("-")
            rows = sorted(found["rows"], key=lambda row: str(row["key"]))
            # Names are sorted without regard to case.
            rows.sort(
                key=lambda row: row[name].lower() if name == "name" else row.get(name) or 0,
                reverse=descending,
            )
            rows.sort(key=lambda row: row.get(name) is None)  # what is not known comes last
            shown = await scene.report(groupBy=group_by, sort=sort)
            assert [row.get(name) for row in shown["rows"]] == [row.get(name) for row in rows], sort
            assert sorted(map(str, shown["rows"])) == sorted(map(str, found["rows"]))
            assert shown["totals"] == found["totals"]
    page = await scene.report(groupBy=group_by, sort=sort, page=2, pageSize=2)
    assert page["rows"] == shown["rows"][2:4]


async def test_rows_are_sorted_by_the_difference_to_other_days(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    asked = {"dateRange": days(2, 3), "compare": "previous_period"}
    for group_by in ("link", "country"):
        found = await scene.report(groupBy=group_by, columns=[*MEASURES], **asked)
        for name in MEASURES:
            change = {row["key"]: difference(row, name) for row in found["rows"]}
            for sign in ("", "-"):
                sort = f"{sign}change.{name}"
                shown = await scene.report(
                    groupBy=group_by, sort=sort, columns=[*MEASURES], **asked
                )
                order = [change[row["key"]] for row in shown["rows"]]
                known = [one for one in order if one is not None]
                assert known == sorted(known, reverse=sign == "-"), sort
                assert order[len(known) :] == [None] * (len(order) - len(known)), sort
                assert sorted(map(str, shown["rows"])) == sorted(map(str, found["rows"]))


def difference(row: dict[str, Any], name: str) -> Decimal | None:
    """Return how much more it is than before. Costs of no clicks are 0, rates of none unknown."""
    figures: list[Decimal] = []
    for of in (row, row["previous"]):
        figure, clicks = of[name], of["clicks"] + of["botClicks"]
        if name == "conversionRate" and not of["clicks"]:
            return None
        if figure is None and (clicks or name not in ("cost", "profit")):
            return None
        figures.append(Decimal(str(figure or (of["payout"] if name == "profit" else 0))))
    return figures[0] - figures[1]


async def test_an_overview_has_the_rows_that_rose_and_fell_most(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    asked = {"dateRange": days(2, 3), "compare": "previous_period", "columns": [*MEASURES]}
    for group_by in ("link", "tag", "hour_of_day"):
        for measure in ("clicks", "conversionRate", "profit", "value"):
            wanted = {"groupBy": group_by, "measure": measure, "limit": 2}
            found = await scene.ask("/api/reports/overview", **asked, movers=wanted)
            for kind, order in (("gained", "-"), ("lost", "")):
                sort = f"{order}change.{measure}"
                rows = (await scene.report(groupBy=group_by, sort=sort, **asked))["rows"]
                signed = [(difference(row, measure) or 0, row) for row in rows]
                moved = [row for by, row in signed if (by > 0 if order else by < 0)]
                assert found["movers"][kind] == moved[:2], (wanted, kind)
    refused = await scene.api.post(
        "/api/reports/overview",
        accountId=str(scene.history.account_id),
        dateRange=days(2, 3),
        movers={},
    )
    assert (refused.status, refused.error) == (400, "movers: needs compare")


async def test_movers_are_read_once_with_a_panel_of_the_same_rows(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = await reported(services, client)
    readings: list[str] = []
    read = one_report.read_counts

    async def counted(run: ReportRun, query: ReportQuery) -> one_report.Counts:
        readings.append(query.group_by)
        return await read(run, query)

    monkeypatch.setattr(one_report, "read_counts", counted)
    asked = {"dateRange": days(2, 3), "compare": "previous_period"}
    for panel, further in (
        ({}, 0),
        ({"sort": "name", "limit": 1}, 0),
        ({"compare": False}, 2),
        ({"having": {"clicks": {"min": 1}}}, 2),
        ({"search": "1"}, 2),
    ):
        of = {**asked, "panels": [{"groupBy": "country"}, {"groupBy": "link"} | panel]}
        plain = await scene.ask("/api/reports/overview", **of)
        count = len(readings)
        found = await scene.ask("/api/reports/overview", **of, movers={})
        assert len(readings) == 2 * count + further
        assert found.pop("movers")["gained"]
        assert found == plain
        readings.clear()


async def test_rows_have_figures_within_the_bounds(services: Services, client: Client) -> None:
    scene = await reported(services, client)
    asked = {"dateRange": days(2, 3), "compare": "previous_period", "columns": [*MEASURES]}
    full = await scene.report(groupBy="link", **asked)
    for name in MEASURES:
        known = {Decimal(str(row[name])) for row in full["rows"] if row[name] is not None}
        figures = sorted(one for one in known if abs(one) < 10**6)  # JSON has floats
        for least, most in ((figures[:1], []), (figures[1:2], figures[-1:]), ([], figures[:1])):
            bounds = {"min": least, "max": most}
            sent = {bound: float(limit[0]) for bound, limit in bounds.items() if limit}
            if not sent:
                continue
            found = await scene.report(groupBy="link", having={name: sent}, **asked)
            assert found["rows"] == [
                row
                for row in full["rows"]
                if row[name] is not None
                and all(row[name] >= one for one in least)
                and all(row[name] <= one for one in most)
            ], (name, sent)
            assert found["pagination"]["totalRows"] == len(found["rows"])
            assert found["totals"] == full["totals"]


async def test_a_search_finds_rows_by_a_text_in_their_name_in_any_case(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    for group_by, search, names in (
        ("link", "LINK 3", ["Link 3"]),
        ("browser", "app", ["Google app"]),
        ("country", "germ", ["Germany"]),
        ("domain", "A-B.", ["a-b.example"]),
        ("day", "-31", ["2026-01-31"]),
        ("os", "no such", []),
        ("os", ".*", []),
        ("os", "$ne", []),
    ):
        full = await scene.report(groupBy=group_by)
        found = await scene.report(groupBy=group_by, search=search)
        assert [row["name"] for row in found["rows"]] == names, search
        assert found["pagination"]["totalRows"] == len(names)
        assert found["totals"] == full["totals"]
        assert all(row in full["rows"] for row in found["rows"])


async def test_what_is_searched_is_compared_and_has_the_series_of_all(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    for group_by, search in (("country", "germ"), ("day", "02-02"), ("event", "purch")):
        asked = {
            "groupBy": group_by,
            "dateRange": days(2, 3),
            "compare": "previous_period",
            "interval": "day",
        }
        full = await scene.report(**asked)
        found = await scene.report(**asked, search=search, sort="name")
        assert len(found["rows"]) == 1
        assert all(row in full["rows"] for row in found["rows"])
        for name in ("totals", "series", "previousSeries"):
            assert found[name] == full[name]


async def test_panels_have_an_order_and_a_search_of_their_own(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    fields: dict[str, dict[str, Any]] = {
        "country": {"sort": "name", "having": {"clicks": {"min": 2}}},
        "os": {"search": "win"},
        "link": {"sort": "-change.payout"},
    }
    found = await scene.ask(
        "/api/reports/overview",
        dateRange=days(0, 3),
        compare="previous_period",
        panels=[{"groupBy": group_by, **more} for group_by, more in fields.items()],
    )
    for group_by, more in fields.items():
        single = await scene.report(
            groupBy=group_by, compare="previous_period", **more, pageSize=10
        )
        assert found["panels"][group_by] == {
            "rows": single["rows"],
            "totalRows": single["pagination"]["totalRows"],
        }


@each_case(
    "fields, error",
    [
        ({"sort": "visitors"}, "sort: must be -botClicks or"),
        ({"sort": "--clicks"}, "sort: must be"),
        ({"sort": "Clicks"}, "sort: must be"),
        ({"sort": {"clicks": 1}}, "sort: must be text"),
        ({"search": "x" * 256}, "search: must be"),
        ({"search": None}, "search: must be text"),
        ({"sort": "-change.clicks"}, "sort: -change.clicks needs compare"),
        ({"sort": "change.key"}, "sort: must be"),
        ({"having": {"visitors": {"min": 1}}}, "having.visitors: unknown field"),
        ({"having": {"clicks": {}}}, "having.clicks.min: needed, or max"),
        ({"having": {"clicks": {"min": 2, "max": 1}}}, "having.clicks.min: must not be above max"),
        ({"having": {"clicks": {"min": "1"}}}, "having.clicks.min: must be a number"),
    ],
)
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str
) -> None:
    body = {"accountId": str(world.account.id), "dateRange": days(0, 3)}
    response = await world.api.post("/api/reports", **body, groupBy="os", **fields)
    assert (response.status, response.error[: len(error)]) == (400, error)
    response = await world.api.post(
        "/api/reports/overview", **body, panels=[{"groupBy": "os", **fields}]
    )
    error = f"panels[0].{error}"
    assert (response.status, response.error[: len(error)]) == (400, error)
