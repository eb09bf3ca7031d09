"""Cross tables of shares: what readers see, and what they unfold."""

from typing import Any

from tests.conversions.scene import applied
from tests.factories import create_link, make_click
from tests.sharing.api.shares import create, opened, share
from tests.web.each import each_case
from tests.web.world import World
from tracker.clock import now_ms

COUNTRIES = {"groupBy": ["country", "device"], "columns": ["clicks", "profit"], "sort": "-profit"}


async def test_readers_unfold_a_table_which_is_no_opening(world: World) -> None:
    tag = await world.services.links.tags.create(world.account.id, "Spring")
    link = await create_link(world.services, world.account.id, "a", tags=[tag.id])
    of: dict[str, Any] = {"link_id": link.id.bytes, "at": now_ms(), "cost": "2"}
    await applied(world.services, [make_click(world.account.id, **of) for _ in range(3)])
    tables = [COUNTRIES, {"groupBy": ["tag", "country"], "having": {"clicks": {"min": 4}}}]
    report = {"lastDays": 7, "panels": [{"groupBy": "os"}], "tables": tables}
    _, token = await share(world.api, world.account, report=report)
    answer = (await opened(world.client, token)).json()
    countries, tags = answer["tables"]
    [country] = countries["rows"]
    assert countries["totals"] == {"clicks": 3}
    assert (tags["rows"], tags["totalRows"]) == ([], 0)
    unfolded = (await opened(world.client, token, table=0, parents=[country["key"]])).json()
    assert unfolded["panels"] == {}
    [table] = unfolded["tables"]
    assert table["parents"] == [country["key"]]
    assert [row["clicks"] for row in table["rows"]] == [3]
    assert table["totals"] == {"clicks": 3}
    assert "tables" not in (await opened(world.client, token, measure="clicks")).json()
    await world.services.sharing.share_opens.store()
    listed = await world.api.get(f"/api/shares?accountId={world.account.id}")
    assert listed.json()["rows"][0]["opens"] == 1
    for asked, error in (
        ({"table": 2}, "table: the share has 2"),
        ({"table": 0, "parents": ["DE", "x"]}, "parents: at most 1, one less than"),
        ({"parents": ["DE"]}, "parents: only with table"),
        ({"table": 1, "parents": ["x"]}, "parents: must be a UUID"),
    ):
        response = await opened(world.client, token, **asked)
        assert (response.status, response.error[: len(error)]) == (400, error)


@each_case(
    "table, more, error",
    [
        ({"groupBy": ["os", "os"]}, {}, "report.tables[0].groupBy[1]: os is a level already"),
        ({"groupBy": ["link", "os"]}, {}, "report.tables: link only with show_link_names"),
        ({"groupBy": ["os", "parameter:x"]}, {}, "tables[0].groupBy[1]: "),
        ({"groupBy": ["os", "day"], "sort": "change.clicks"}, {}, "needs compare"),
        ({"groupBy": ["os", "hour"]}, {"compare": "previous_period"}, "hours are not compared"),
    ],
)
async def test_a_table_that_cannot_be_shown_is_refused(
    world: World, table: dict[str, Any], more: dict[str, Any], error: str
) -> None:
    report = {"lastDays": 7, "tables": [table], **more}
    response = await create(world.api, world.account, report=report)
    assert response.status == 400
    assert error in response.error
