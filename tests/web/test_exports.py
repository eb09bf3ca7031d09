"""Lists as files: CSV and NDJSON with all rows, and the requests for them."""

import csv
import io
import json
from decimal import Decimal
from random import Random
from typing import Any

import orjson
import pytest

from tests.factories import create_link
from tests.links.api.short_links import make_many
from tests.reports.api.traffic import DAYS, click, event
from tests.reports.history import store
from tests.web.client import Client, Response
from tests.web.reported import days, reported
from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.reports.answers.reading import Reading
from tracker.reports.answers.selection import Selection
from tracker.reports.api import reports
from tracker.reports.joint_counts.report_run import ReportRun
from tracker.reports.query import ReportQuery
from tracker.service.services import Services
from tracker.web.call import Nothing
from tracker.web.endpoint import Endpoint
from tracker.web.export_rows import columns_of

EXPORTING = [one for one in KEYED_ENDPOINTS if one.export is not None and not one.is_file]
FILES = [one for one in KEYED_ENDPOINTS if one.is_file]
BY_PATH = pytest.mark.parametrize("endpoint", EXPORTING, ids=lambda one: one.path)
BY_ANY_PATH = pytest.mark.parametrize("endpoint", [*EXPORTING, *FILES], ids=lambda one: one.path)
MEASURES = ["clicks", "uniqueClicks", "botClicks", "conversions", "conversionRate"]


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


async def ask(
    client: Client,
    secret: str,
    endpoint: Endpoint,
    account: Account,
    accept: str = "",
    **fields: Any,
) -> Response:
    """Send a request for a list, with an Accept header if there is one."""
    headers: dict[str, str | bytes] = {"Authorization": f"Bearer {secret}"}
    if accept:
        headers["Accept"] = accept
    given = {"accountId": str(account.id)} | fields
    if endpoint.body is Nothing:
        query = "&".join(f"{name}={value}" for name, value in given.items())
        return await client.request(endpoint.method, f"{endpoint.path}?{query}", headers)
    body = orjson.dumps({**(endpoint.example or {}), "interval": None} | given)
    body = orjson.dumps({n: v for n, v in orjson.loads(body).items() if v is not None})
    return await client.request(endpoint.method, endpoint.path, headers, body)


@BY_PATH
@pytest.mark.parametrize("form", ["csv", "ndjson"])
async def test_a_list_without_rows_is_a_file_without_rows(
    world: World, endpoint: Endpoint, form: str
) -> None:
    response = await ask(world.client, world.secret, endpoint, world.account, format=form)
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


@BY_PATH
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/csv", "text/csv; charset=utf-8"),
        ("application/x-ndjson", "application/x-ndjson; charset=utf-8"),
        ("application/x-ndjson, text/csv;q=0.9", "application/x-ndjson; charset=utf-8"),
        ("application/json, text/csv;q=0.9", "application/json; charset=utf-8"),
        ("*/*", "application/json; charset=utf-8"),
    ],
)
async def test_accept_chooses_the_form(
    world: World, endpoint: Endpoint, accept: str, kind: str
) -> None:
    response = await ask(world.client, world.secret, endpoint, world.account, accept)
    assert response.headers["Content-Type"] == kind
    assert response.headers["Vary"] == "Accept"


@pytest.mark.parametrize("endpoint", FILES, ids=lambda one: one.path)
@pytest.mark.parametrize(
    ("accept", "given", "kind"),
    [
        ("application/json", {}, "text/csv"),
        ("*/*", {}, "text/csv"),
        ("application/x-ndjson", {}, "application/x-ndjson"),
        ("application/x-ndjson", {"format": "csv"}, "text/csv"),
        ("", {"format": "ndjson"}, "application/x-ndjson"),
    ],
)
async def test_an_export_is_always_a_file(
    world: World,
    endpoint: Endpoint,
    accept: str,
    given: dict[str, Any],
    kind: str,
) -> None:
    response = await ask(world.client, world.secret, endpoint, world.account, accept, **given)
    assert (response.status, response.headers["Content-Type"]) == (200, f"{kind}; charset=utf-8")
    refused = await ask(world.client, world.secret, endpoint, world.account, accept, format="json")
    assert (refused.status, refused.error) == (400, "format: must be csv or ndjson")


def test_every_list_that_is_a_file_too_has_an_export() -> None:
    assert [f"{one.path}/export" for one in EXPORTING] == [one.path for one in FILES]


async def test_an_export_has_the_rows_of_the_list_as_a_file(world: World) -> None:
    await make_many(world.services, world.account, 30)
    query = f"accountId={world.account.id}&search=1"
    file = await world.api.get(f"/api/short-links/export?{query}")
    assert len(table(file)) > 1
    assert file.body == (await world.api.get(f"/api/short-links?{query}&format=csv")).body
    body = {"accountId": str(world.account.id), "dateRange": DAYS, "groupBy": "link"}
    file = await world.api.post("/api/reports/export", **body)
    assert file.body == (await world.api.post("/api/reports", **body, format="csv")).body


@BY_PATH
async def test_the_field_decides_before_the_header(world: World, endpoint: Endpoint) -> None:
    response = await ask(
        world.client, world.secret, endpoint, world.account, "text/csv", format="json"
    )
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"
    response = await ask(world.client, world.secret, endpoint, world.account, format="xlsx")
    assert (response.status, response.error) == (400, "format: must be csv or json or ndjson")


@BY_ANY_PATH
async def test_a_file_has_no_pages(world: World, endpoint: Endpoint) -> None:
    request = endpoint.query if endpoint.body is Nothing else endpoint.body
    if "page" not in request.__struct_encode_fields__:
        return
    response = await ask(world.client, world.secret, endpoint, world.account, "text/csv", page=2)
    message = "page: only 1 with text/csv, which has all rows"
    assert (response.status, response.error) == (400, message)


@BY_ANY_PATH
async def test_a_file_ignores_the_page_that_is_shown_by_default(
    world: World, endpoint: Endpoint
) -> None:
    request = endpoint.query if endpoint.body is Nothing else endpoint.body
    pages: dict[str, Any] = {"page": 1, "pageSize": 25}
    given = {name: n for name, n in pages.items() if name in request.__struct_encode_fields__}
    assert given
    response = await ask(world.client, world.secret, endpoint, world.account, format="csv", **given)
    [_] = table(response)


async def test_links_are_all_there_in_each_order(world: World) -> None:
    newest = await make_many(world.services, world.account, 250)
    [links] = [one for one in EXPORTING if one.path == "/api/short-links"]
    for sort, expected in {
        "newest": newest,
        "oldest": newest[::-1],
        "slug": newest[::-1],
        "name": newest[::-1],
    }.items():
        response = await ask(
            world.client, world.secret, links, world.account, format="csv", sort=sort
        )
        header, *rows = table(response)
        assert [row[header.index("slug")] for row in rows] == expected


async def test_a_row_of_ndjson_is_that_of_the_list(world: World) -> None:
    await create_link(world.services, world.account.id, "b")
    await create_link(world.services, world.account.id, "a", internal_name="Größe")
    target = f"/api/short-links?accountId={world.account.id}&search=e"
    listed = (await world.api.get(target)).json()["rows"]
    assert lines(await world.api.get(f"{target}&format=ndjson")) == listed


async def test_cells_are_as_in_json_but_safe(world: World) -> None:
    tag = await world.services.links.tags.create(world.account.id, "=SUM(A1)")
    link = await create_link(
        world.services, world.account.id, "abc", tags=[tag.id], internal_name='=1+1,\r\n"two"'
    )
    response = await world.api.get(f"/api/short-links?accountId={world.account.id}&format=csv")
    header, row = table(response)
    cells = dict(zip(header, row, strict=True))
    assert cells["internal_name"] == '\'=1+1,\r\n"two"'
    assert cells["id"] == str(link.id)
    assert orjson.loads(cells["tags"]) == [{"id": str(tag.id), "name": "=SUM(A1)"}]
    assert (cells["active"], cells["domain_id"]) == ("true", "")
    assert response.body.count(b"\r\n") == 3


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
    assert header == ["key", "name", *MEASURES, "value", "payout"]
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
    asked = {"groupBy": group_by, "dateRange": days(2, 3), "sort": "name"}
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
