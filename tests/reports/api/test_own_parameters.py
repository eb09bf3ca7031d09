"""Reports by the sender's own parameters, as the API names them."""

import csv
import io
from random import Random
from typing import Any

from tests.factories import create_link
from tests.reports.api.traffic import DAYS, click, event
from tests.reports.history import store
from tests.web.client import Response
from tests.web.each import each_case
from tests.web.world import World

ROWS = {"a": (2, 1), "b=c": (1, 0), "none": (2, 0), "unknown": (0, 1)}
"""Clicks and conversions by `sub1`."""


async def told(world: World) -> None:
    """Store clicks of an account whose parameters are `sub1` and `zone`, before it `gone`."""
    accounts = world.services.accounts.accounts
    await accounts.set_parameters(world.account.id, ["sub1", "gone"])
    await accounts.set_parameters(world.account.id, ["sub1", "zone"])
    link = await create_link(world.services, world.account.id)
    values: list[dict[str, str]] = [
        {"parameter_0": "sub1=a", "parameter_2": "zone=7"},
        {"parameter_0": "sub1=a"},
        {"parameter_0": "sub1=b=c", "parameter_2": "zone=7"},
        {"parameter_0": "before=a", "parameter_1": "gone=x"},
        {},
    ]
    clicks = [click(world.account.id, link.id, **one) for one in values]
    events = [event(1, clicks[0]), event(2, {"account_id": world.account.id})]
    await store(world.services, Random(0), clicks, events)


async def post(world: World, path: str = "", **fields: Any) -> Response:
    body = {"accountId": str(world.account.id), "dateRange": DAYS, **fields}
    return await world.api.post(f"/api/reports{path}", **body)


def counts(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    return {row["key"]: (row["clicks"], row["conversions"]) for row in rows}


async def test_a_report_is_by_an_own_parameter_and_filtered_by_others(world: World) -> None:
    await told(world)
    answer = (await post(world, groupBy="parameter:sub1")).json()
    assert answer["groupBy"] == "parameter:sub1"
    assert counts(answer["rows"]) == ROWS
    assert (answer["totals"]["clicks"], answer["totals"]["conversions"]) == (5, 2)
    for filters, rows in (
        ({"parameter:zone": "7"}, {"a": (1, 1), "b=c": (1, 0)}),
        ({"parameter:zone": ["none"]}, {"a": (1, 0), "none": (2, 0)}),
        ({"parameter:sub1": ["a", "none"]}, {"a": (2, 1), "none": (2, 0)}),
        ({"parameter:sub1": "unknown"}, {"unknown": (0, 1)}),
        ({"parameter:sub1": "a", "parameter:zone": "7", "country": "DE"}, {"a": (1, 1)}),
        ({"parameter:sub1": "x"}, {}),
        ({"parameter:sub1": {"contains": ["=C"]}}, {"b=c": (1, 0)}),
        (
            {"parameter:sub1": {"is_not": ["a"], "contains_not": ["="]}},
            {"none": (2, 0), "unknown": (0, 1)},
        ),
    ):
        found = await post(world, groupBy="parameter:sub1", filters=filters)
        assert counts(found.json()["rows"]) == rows, filters
    by_link = await post(world, groupBy="link", filters={"parameter:sub1": "a"})
    assert [row["clicks"] for row in by_link.json()["rows"]] == [2]


async def test_an_overview_a_file_and_values_know_own_parameters(world: World) -> None:
    await told(world)
    panels = [{"groupBy": "parameter:sub1"}, {"groupBy": "parameter:zone"}, {"groupBy": "link"}]
    overview = await post(world, "/overview", panels=panels, filters={"parameter:zone": ["7"]})
    found = overview.json()
    assert counts(found["panels"]["parameter:sub1"]["rows"]) == {"a": (1, 1), "b=c": (1, 0)}
    assert counts(found["panels"]["parameter:zone"]["rows"]) == {"7": (2, 1)}
    assert found["filterNames"] == {"parameter:zone": {"7": "7"}}
    text = await post(world, "/export", groupBy="parameter:sub1")
    rows = csv.DictReader(io.StringIO(text.body.decode()))
    assert {row["key"]: (int(row["clicks"]), int(row["conversions"])) for row in rows} == ROWS
    values = await world.api.get(
        f"/api/reports/values?accountId={world.account.id}&dimension=parameter%3Asub1"
        f"&from={DAYS['from']}&to={DAYS['to']}&search=B"
    )
    assert [(row["key"], row["clicks"]) for row in values.json()["rows"]] == [("b=c", 1)]


@each_case(
    "path, fields, error",
    [
        ("", {"groupBy": "parameter:gone"}, "groupBy: the account has no parameter gone"),
        ("", {"groupBy": "parameter:"}, "groupBy: must be bot or"),
        ("", {"groupBy": "parameter:a b"}, "groupBy: must be bot or"),
        ("", {"groupBy": "parameter_0"}, "groupBy: must be bot or"),
        (
            "",
            {"groupBy": "day", "filters": {"parameter:gone": "x"}},
            "filters.parameter:gone: the account has no parameter gone",
        ),
        (
            "/overview",
            {"panels": [{"groupBy": "link"}, {"groupBy": "parameter:gone"}]},
            "panels[1].groupBy: the account has no parameter gone",
        ),
        ("/overview", {"panels": [{"groupBy": "parameter_0"}]}, "panels[0].groupBy: must be"),
        ("/export", {"groupBy": "parameter:gone"}, "groupBy: the account has no parameter gone"),
        *(
            ("", {"groupBy": "day", "filters": {"parameter:sub1": wrong}}, rule)
            for wrong in list[Any]((7, None, ["a", 7], ["a"] * 101, "a" * 257, {"$ne": "a"}, [{}]))
            for rule in ["filters.parameter:sub1: must be text of at most 256 characters"]
        ),
        *(
            ("", {"groupBy": "day", "filters": {name: "a"}}, f"filters.{name}: unknown field")
            for name in ("parameter:", "parameter", "parameter_0", "parameter:$where", "tag:a")
        ),
        ("", {"groupBy": "day", "filters": {"parameter:": [["sub1", "a"]]}}, "filters.parameter:"),
        ("", {"groupBy": "day", "parameter:sub1": "a"}, "parameter:sub1: unknown field"),
    ],
)
async def test_a_parameter_that_is_none_of_the_account_is_named(
    world: World, path: str, fields: dict[str, Any], error: str
) -> None:
    await world.services.accounts.accounts.set_parameters(world.account.id, ["sub1"])
    answer = await post(world, path, **fields)
    assert (answer.status, answer.error[: len(error)]) == (400, error)


async def test_names_of_other_accounts_mean_nothing(world: World) -> None:
    other = await world.services.accounts.accounts.create("Other")
    await world.services.accounts.accounts.set_parameters(other.id, ["sub1"])
    answer = await post(world, groupBy="parameter:sub1")
    assert answer.status == 400
    values = await world.api.get(
        f"/api/reports/values?accountId={world.account.id}&dimension=parameter:sub1"
    )
    assert values.error == "dimension: the account has no parameter sub1"
