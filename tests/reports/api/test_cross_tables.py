"""Cross tables: `groupBy` with several dimensions, each a level of rows below those before."""

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
    filtered = await scene.report(
        **asked | {"groupBy": "device"}, filters={"country": "DE"}, sort="key"
    )
    assert {**filtered, "groupBy": LEVELS} == devices
    for device in devices["rows"]:
        tags = await scene.report(**asked, parents=["DE", device["key"]], sort="-change.clicks")
        assert tags["totals"] == {name: device[name] for name in tags["totals"]}
        assert {row["name"] for row in tags["rows"]} <= {"a", "b", "c"}


@each_case(
    "fields, error",
    [
        ({"groupBy": ["os"]}, "groupBy: must be"),
        ({"groupBy": ["os", "os"]}, "groupBy[1]: os is a level already"),
        ({"groupBy": ["os", "page"]}, "groupBy[1]: must be bot or"),
        ({"groupBy": ["os", "parameter:x"]}, "groupBy[1]: "),
        ({"groupBy": ["os", "tag", "day", "bot"]}, "groupBy: must be"),
        ({"groupBy": ["os", "day"], "interval": "day"}, "interval: not with several dimensions"),
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
