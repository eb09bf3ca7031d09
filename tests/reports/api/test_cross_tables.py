"""Cross tables: `groupBy` with several dimensions, each a level of rows below those before."""

import csv
import io
import json
from typing import Any

from tests.web.client import Client
from tests.web.each import each_case
from tests.web.reported import days, reported
from tests.web.world import World
from tracker.service.services import Services

LEVELS = ["country", "device", "tag"]


async def test_a_level_has_the_rows_below_its_parents_whose_row_is_its_totals(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    asked = {
        "groupBy": LEVELS,
        "compare": "previous_period",
        "having": {"clicks": {"min": 1}},
        "columns": ["clicks", "value", "cost"],
    }
    top = await scene.report(**asked, search="germ")
    assert [(row["key"], row["name"]) for row in top["rows"]] == [("DE", "Germany")]
    assert top["groupBy"] == LEVELS
    single = await scene.report(**asked | {"groupBy": "country"}, search="germ")
    assert {**single, "groupBy": LEVELS} == top
    [parent] = top["rows"]
    devices = await scene.report(**asked, parents=["DE"], search="germ", sort="key")
    assert devices["totals"] == {name: parent[name] for name in devices["totals"]}
    assert {**single, "groupBy": ["country"]} == await scene.report(
        **asked | {"groupBy": ["country"]}, search="germ"
    )
    filtered = await scene.report(
        **asked | {"groupBy": "device"}, filters={"country": "DE"}, sort="key"
    )
    assert filtered.pop("filterNames") == {"country": {"DE": "Germany"}}
    assert {**filtered, "groupBy": LEVELS} == devices
    for device in devices["rows"]:
        tags = await scene.report(**asked, parents=["DE", device["key"]], sort="-change.clicks")
        assert tags["totals"] == {name: device[name] for name in tags["totals"]}
        assert {row["name"] for row in tags["rows"]} <= {"a", "b", "c"}


@each_case(
    "fields, error",
    [
        ({"groupBy": []}, "groupBy: must be"),
        ({"groupBy": ["os", "os"]}, "groupBy[1]: os is a level already"),
        ({"groupBy": ["os", "page"]}, "groupBy[1]: must be bot or"),
        ({"groupBy": ["os", "parameter:x"]}, "groupBy[1]: "),
        ({"groupBy": ["os", "tag", "day", "bot"]}, "groupBy: must be"),
        ({"groupBy": ["os", "day"], "interval": "day"}, "interval: not with a list in groupBy"),
        ({"groupBy": ["os", "day"], "parents": ["iOS", "x"]}, "parents: at most 1, one less than"),
        ({"groupBy": "os", "parents": ["iOS"]}, "parents: at most 0, one less than groupBy has"),
        ({"groupBy": ["os", "day"], "parents": [""]}, "parents[0]: must be"),
        ({"groupBy": ["link", "day"], "parents": ["x"]}, "parents: must be a UUID"),
        ({"groupBy": ["os", "day"], "parents": ["x"], "format": "csv"}, "parents: not with"),
    ],
)
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str
) -> None:
    body = {"accountId": str(world.account.id), "dateRange": days(0, 3), **fields}
    response = await world.api.post("/api/reports", **body)
    assert (response.status, response.error[: len(error)]) == (400, error)


async def test_a_file_has_a_column_for_the_key_and_the_name_of_each_level(
    services: Services, client: Client
) -> None:
    scene = await reported(services, client)
    asked = {
        "accountId": str(scene.history.account_id),
        "dateRange": days(0, 3),
        "groupBy": ["country", "device"],
        "columns": ["clicks"],
        "sort": "name",
        "compare": "previous_period",
    }
    response = await scene.api.post("/api/reports", **asked, format="csv")
    rows = list(csv.DictReader(io.StringIO(response.body.decode())))
    assert list(rows[0]) == [
        *("key1", "name1", "key2", "name2", "clicks", "previous.clicks", "change.clicks")
    ]
    expected = []
    for row in (await scene.report(**asked))["rows"]:
        expected.append((row["key"], row["name"], "", "", str(row["clicks"])))
        for below in (await scene.report(**asked, parents=[row["key"]]))["rows"]:
            path = (row["key"], row["name"], below["key"], below["name"])
            expected.append((*path, str(below["clicks"])))
    assert [tuple(row.values())[:5] for row in rows] == expected
    response = await scene.api.post("/api/reports/export", **asked, format="ndjson")
    first, second, *_ = map(json.loads, response.body.splitlines())
    assert (first["key"], first["key1"], first.get("key2")) == ("FR", "FR", None)
    assert (second["name"], second["name1"], second["name2"]) == ("Desktop", "France", "Desktop")
