"""Lists as files: CSV and NDJSON with all rows, and the requests for them."""

import csv
import io
import json
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import orjson
import pytest

from tests.factories import create_link
from tests.links.api.short_links import make_many
from tests.reports.api.traffic import DAYS, click, event
from tests.reports.history import store
from tests.web.client import Client, Response
from tests.web.each import each_case
from tests.web.reported import days, reported
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import World
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.selection import Selection
from tracker.reports.api import reports
from tracker.reports.api.figures import MEASURE_FIELDS
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.query import ReportQuery
from tracker.service.services import Services
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoint
from tracker.web.export_rows import columns_of

# Lists of one object are tested in its room.
OF_ACCOUNTS = [one for one in KEYED_ENDPOINTS if "{" not in one.path]
EXPORTING = [one for one in OF_ACCOUNTS if one.export is not None and not one.is_file]
FILES = [one for one in OF_ACCOUNTS if one.is_file]


def table(response: Response) -> list[list[str]]:
    """Return the fields of CSV, after a check of its headers."""
    assert response.status == 200
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(response.body.decode(), newline="")))


def lines(response: Response) -> list[Any]:
    """Return the values of NDJSON, after a check of its headers."""
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/x-ndjson; charset=utf-8"
    return [orjson.loads(line) for line in response.body.splitlines()]


async def ask(world: World, endpoint: Endpoint, accept: str = "", **fields: Any) -> Response:
    """Send a request for a list, with an Accept header if there is one."""
    headers: dict[str, str | bytes] = {"Authorization": f"Bearer {world.secret}"}
    if accept:
        headers["Accept"] = accept
    given = {"accountId": str(world.account.id)} | fields
    if endpoint.body is Nothing:
        query = "&".join(f"{name}={value}" for name, value in given.items())
        return await world.client.request(endpoint.method, f"{endpoint.path}?{query}", headers)
    body = orjson.dumps({**(endpoint.example or {}), "interval": None} | given)
    body = orjson.dumps({n: v for n, v in orjson.loads(body).items() if v is not None})
    return await world.client.request(endpoint.method, endpoint.path, headers, body)


@each_case("endpoint, form", product(EXPORTING, ("csv", "ndjson")))
async def test_a_list_without_rows_is_a_file_without_rows(
    world: World, endpoint: Endpoint, form: str
) -> None:
    response = await ask(world, endpoint, format=form)
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Disposition"].startswith("attachment; filename=")
    assert response.headers["Content-Disposition"].endswith(f'.{form}"')
    assert "X-RateLimit-Limit" in response.headers
    if form == "ndjson":
        assert lines(response) == []
    else:
        [header] = table(response)
        assert endpoint.export is not None
        assert set(header) <= {column.name for column in columns_of(endpoint.export.record)}


CSV, NDJSON, JSON = "text/csv", "application/x-ndjson", "application/json"
FORMS = [
    # The header, the field, and the form of a list and of its export.
    (CSV, {}, CSV, CSV),
    (NDJSON, {}, NDJSON, NDJSON),
    (f"{NDJSON}, {CSV};q=0.9", {}, NDJSON, NDJSON),
    (f"{JSON}, {CSV};q=0.9", {}, JSON, CSV),
    ("*/*", {}, JSON, CSV),
    (NDJSON, {"format": "csv"}, CSV, CSV),
    ("", {"format": "ndjson"}, NDJSON, NDJSON),
]


@each_case("endpoint, row", product([*EXPORTING, *FILES], FORMS))
async def test_the_field_or_else_the_header_chooses_the_form(
    world: World, endpoint: Endpoint, row: tuple[str, dict[str, str], str, str]
) -> None:
    accept, field, of_list, of_file = row
    response = await ask(world, endpoint, accept, **field)
    kind = of_file if endpoint.is_file else of_list
    assert (response.status, response.headers["Content-Type"]) == (200, f"{kind}; charset=utf-8")
    assert response.headers["Vary"] == "Accept"


@each_case("endpoint", [*EXPORTING, *FILES])
async def test_only_a_list_may_be_json_and_an_unknown_form_is_400(
    world: World, endpoint: Endpoint
) -> None:
    listed = await ask(world, endpoint, CSV, format="json")
    if endpoint.is_file:
        assert (listed.status, listed.error) == (400, "format: must be csv or ndjson")
    else:
        assert listed.headers["Content-Type"] == "application/json; charset=utf-8"
        refused = await ask(world, endpoint, format="xlsx")
        assert (refused.status, refused.error) == (400, "format: must be csv or json or ndjson")


def test_every_list_that_is_a_file_too_has_an_export() -> None:
    assert [f"{one.path}/export" for one in EXPORTING] == [
        one.path for one in FILES if "/export/" not in one.path
    ]


async def test_an_export_has_the_rows_of_the_list_as_a_file(world: World) -> None:
    await make_many(world.services, world.account, 30)
    query = f"accountId={world.account.id}&search=e"
    file = await world.api.get(f"/api/short-links/export?{query}")
    assert len(table(file)) > 1
    assert file.body == (await world.api.get(f"/api/short-links?{query}&format=csv")).body
    body = {"accountId": str(world.account.id), "dateRange": DAYS, "groupBy": "link"}
    file = await world.api.post("/api/reports/export", **body)
    assert file.body == (await world.api.post("/api/reports", **body, format="csv")).body


@each_case("endpoint", [*EXPORTING, *FILES])
async def test_a_file_has_no_pages_but_ignores_the_one_that_is_shown_by_default(
    world: World, endpoint: Endpoint
) -> None:
    request = endpoint.query if endpoint.body is Nothing else endpoint.body
    pages: dict[str, Any] = {"page": 1, "pageSize": 25}
    given = {name: n for name, n in pages.items() if name in request.__struct_encode_fields__}
    assert given
    [_] = table(await ask(world, endpoint, format="csv", **given))
    if "page" in given:
        response = await ask(world, endpoint, CSV, page=2)
        message = "page: only 1 with text/csv, which has all rows"
        assert (response.status, response.error) == (400, message)


@pytest.mark.parametrize("path", ["/api/clicks", "/api/conversions"])
async def test_a_feed_is_a_file_of_all_its_pages(world: World, path: str) -> None:
    link = await create_link(world.services, world.account.id, "abc")
    clicks = [click(world.account.id, link.id) for _ in range(130)]
    await store(world.services, Random(1), clicks, [event(n, of) for n, of in enumerate(clicks, 1)])
    target = f"{path}?accountId={world.account.id}&link={link.id}"
    listed = (await world.api.get(f"{target}&pageSize=100")).json()
    rest = (await world.api.get(f"{target}&pageSize=100&cursor={listed['next_cursor']}")).json()
    assert lines(await world.api.get(f"{target}&format=ndjson")) == [*listed["rows"], *rest["rows"]]
    header, *rows = table(await world.api.get(f"{target}&format=csv"))
    assert len(rows) == 130
    assert {row[header.index("link.slug")] for row in rows} == {"abc"}


async def test_a_file_has_no_cursor_and_no_series(world: World) -> None:
    listed = (await world.api.get(f"/api/clicks?accountId={world.account.id}")).json()
    query = f"accountId={world.account.id}&since={listed['since_cursor']}&format=csv"
    body = {"accountId": str(world.account.id), "dateRange": DAYS, "groupBy": "link"}
    for name, response in (
        ("since", await world.api.get(f"/api/clicks?{query}")),
        ("interval", await world.api.post("/api/reports", **body, interval="day", format="csv")),
    ):
        refused = (400, f"{name}: not with text/csv, which has all rows")
        assert (response.status, response.error) == refused


async def test_a_report_is_a_table_with_its_columns(world: World) -> None:
    link = await create_link(world.services, world.account.id, "abc", internal_name="-5")
    one = click(world.account.id, link.id)
    await store(world.services, Random(1), [one], [event(1, one, value=None)])
    body = {
        "accountId": str(world.account.id),
        "dateRange": DAYS,
        "groupBy": "link",
        "format": "csv",
    }
    header, row = table(await world.api.post("/api/reports", **body))
    assert header == ["key", "name", *MEASURE_FIELDS, "otherCurrencies"]
    assert row[:3] == [str(link.id), "-5", "1"]
    compared = {**body, "columns": ["clicks"], "compare": "previous_period"}
    header, row = table(await world.api.post("/api/reports", **compared))
    assert header == ["key", "name", "clicks", "previous.clicks", "change.clicks"]
    assert row == [str(link.id), "-5", "1", "0", ""]


@pytest.mark.parametrize("group_by", ["link", "hour", "referrer"])
async def test_a_report_is_read_once_and_sent_in_pieces(
    services: Services, client: Client, monkeypatch: pytest.MonkeyPatch, group_by: str
) -> None:
    """Read again for each piece, a report of a million rows would not end in time."""
    monkeypatch.setattr(reports, "PIECE_ROWS", 2)
    read: list[ReportQuery] = []

    def counted(run: ReportRun, query: ReportQuery, selection: Selection) -> Reading:
        read.append(query)
        return Reading(run, query, selection)

    scene = await reported(services, client)
    asked: dict[str, Any] = {"groupBy": group_by, "dateRange": days(2, 3), "sort": "name"}
    asked["columns"] = list(
        MEASURE_FIELDS
    )  # a page has no others than those of which there are any
    for compared, readings in (({}, 1), ({"compare": "previous_period"}, 2)):
        listed = (await scene.report(**asked, **compared))["rows"]
        assert len(listed) > 2
        body = {"accountId": str(scene.history.account_id), **asked, **compared}
        with monkeypatch.context() as patched:
            patched.setattr("tracker.reports.answers.one_report.Reading", counted)
            response = await scene.api.post("/api/reports", **body, format="ndjson")
        sent = [json.loads(line, parse_float=Decimal) for line in response.body.splitlines()]
        assert sent == listed
        assert len(read) == readings
        read.clear()


@pytest.mark.parametrize(("site", "status"), [("same-origin", 200), ("cross-site", 403)])
async def test_a_link_of_the_console_downloads_a_file(world: World, site: str, status: int) -> None:
    person = await world.person()
    headers: dict[str, str | bytes] = {
        "Cookie": f"session={person.secret}",
        "Sec-Fetch-Site": site,
        "Sec-Fetch-Mode": "navigate",
    }
    target = f"/api/short-links?accountId={world.account.id}&format=csv"
    response = await world.client.request("GET", target, headers)
    assert response.status == status
    assert response.headers["Cache-Control"] == "no-store"
