"""Options of shares: other days, all rows, files, and the head of the page."""

import contextlib
import csv
import io
import struct
import zlib
from base64 import b64decode, b64encode
from datetime import timedelta
from typing import Any

import orjson
import pytest

from tests.conversions.scene import applied
from tests.factories import create_link, create_share, make_click
from tests.sharing.api.shares import FROM_PAGE, create, opened, share
from tests.web.client import Client, Response
from tests.web.each import each_case
from tests.web.world import World
from tracker.clock import now, now_ms
from tracker.sharing.logo import MAX_BYTES

DAY_MS = 24 * 3600 * 1000
YESTERDAY = (now() - timedelta(days=1)).date().isoformat()
BY_LINK = {
    "period": "today",
    "compare": "previous_period",
    "measure": "clicks",
    "panels": [{"groupBy": "link", "limit": 2}, {"groupBy": "country"}],
}
ALL: dict[str, Any] = {"choose_days": True, "all_rows": True, "download": True}


async def thirty_links(world: World) -> list[str]:
    """Store 30 links: the n-th has n clicks today, the last one yesterday; return their ids."""
    links, clicks = [], []
    for number in range(30):
        link = await create_link(
            world.services, world.account.id, f"s{number}", internal_name=f"Secret {number:02}"
        )
        links.append(str(link.id))
        at = now_ms() - (DAY_MS if number == 29 else 0)
        clicks += [
            make_click(world.account.id, link_id=link.id.bytes, at=at, edge_country="DE", cost="2")
            for _ in range(number + 1)
        ]
    await applied(world.services, clicks)
    return links


async def details(client: Client, token: str, **fields: Any) -> Response:
    body = orjson.dumps({"token": token, "groupBy": "link", **fields})
    return await client.post("/api/shared/details", body, **FROM_PAGE)


async def exported(client: Client, token: str, **fields: Any) -> Response:
    body = orjson.dumps({"token": token, "groupBy": "link", **fields})
    return await client.post("/api/shared/details/export", body, **FROM_PAGE)


def table_of(response: Response) -> list[dict[str, str]]:
    assert response.status == 200, response.body
    return list(csv.DictReader(io.StringIO(response.body.decode())))


def png(width: int, height: int) -> bytes:
    """Return a whole PNG, with no pixels."""

    def chunk(kind: bytes, of: bytes) -> bytes:
        return struct.pack(">I", len(of)) + kind + of + struct.pack(">I", zlib.crc32(kind + of))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IEND", b"")


def svg(inside: str = "") -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{inside}</svg>'.encode()


async def test_all_rows_have_the_numbers_of_the_report_and_hide_what_it_hides(world: World) -> None:
    links = await thirty_links(world)
    _, token = await share(world.api, world.account, report=BY_LINK, **ALL)
    pages = [await details(world.client, token, page=page) for page in (1, 2)]
    rows = [row for page in pages for row in page.json()["rows"]]
    assert [row["name"] for row in rows] == [f"Link {number}" for number in range(1, 31)]
    assert [row["clicks"] for row in rows] == [*range(29, 0, -1), 0]
    assert rows[-1]["previous"]["clicks"] == 30
    assert pages[0].json()["pagination"]["totalRows"] == 30
    least = (await details(world.client, token, sort="clicks")).json()["rows"][:2]
    assert [row["name"] for row in least] == ["Link 30", "Link 29"]
    told = table_of(await exported(world.client, token, sort="-conversions"))
    assert {row["name"] for row in told} == {f"Link {number}" for number in range(1, 31)}
    assert "previous.clicks" in told[0]
    for response in (*pages, await exported(world.client, token)):
        assert b"Secret" not in response.body
        assert b"cost" not in response.body
        assert not any(link.encode() in response.body for link in links)
    await world.services.sharing.share_opens.store()
    stored = await world.services.stores.mongodb["shares"].find_one({})
    assert stored is not None
    assert (stored["opens"], stored["last_opened_at"] is None) == (0, False)


async def test_no_row_of_the_compared_days_tells_the_name_of_its_link(world: World) -> None:
    links = await thirty_links(world)
    _, token = await share(
        world.api, world.account, report=BY_LINK | {"panels": [{"groupBy": "link", "limit": 50}]}
    )
    for measure in ({}, {"measure": "conversions"}):
        response = await opened(world.client, token, **measure)
        names = {row["name"] for row in response.json()["panels"]["link"]["rows"]}
        assert names == {f"Link {number}" for number in range(1, 31)}
        assert not any(link.encode() in response.body for link in links)


@each_case(
    "sort, hidden",
    [
        *((sort, name) for name in ("cost", "profit", "cpa") for sort in (name, f"-{name}")),
        ("name", "name"),
        ("-key", "key"),
    ],
)
async def test_an_order_by_what_is_hidden_is_refused(world: World, sort: str, hidden: str) -> None:
    _, token = await share(world.api, world.account, report=BY_LINK, **ALL)
    for ask in (details, exported):
        response = await ask(world.client, token, sort=sort)
        assert (response.status, response.error) == (
            400,
            f"sort: this share does not show {hidden}",
        )
    report = BY_LINK | {"costs": True}
    _, token = await share(world.api, world.account, report=report, show_link_names=True, **ALL)
    assert (await details(world.client, token, sort=sort)).status == 200


async def test_readers_do_only_what_the_share_lets_them(world: World) -> None:
    await thirty_links(world)
    day = {"dateRange": {"from": YESTERDAY, "to": YESTERDAY}}
    _, token = await share(world.api, world.account, report=BY_LINK)
    for ask, fields, status, error in (
        (opened, day, 400, "dateRange: this share has fixed days"),
        (details, {}, 403, "all_rows: this share does not have it"),
        (exported, {}, 403, "download: this share does not have it"),
    ):
        response = await ask(world.client, token, **fields)
        assert (response.status, response.error) == (status, error)
    answer = (await opened(world.client, token)).json()
    assert [answer[name] for name in ("chooseDays", "allRows", "download")] == [False] * 3
    # A file without all rows has those of the report.
    _, token = await share(world.api, world.account, report=BY_LINK, download=True)
    for page in (1, 2):
        told = table_of(await exported(world.client, token, page=page))
        assert [row["name"] for row in told] == ["Link 1", "Link 2"]
    _, token = await share(world.api, world.account, report=BY_LINK, **ALL)
    assert (await details(world.client, token, groupBy="device")).error == (
        "groupBy: this share has no such panel"
    )
    assert b"search" in (await details(world.client, token, search="Secret 01")).body
    assert (await details(world.client, "x" * 43)).status == 404
    _, token = await share(world.api, world.account, report=BY_LINK, **ALL, password="p" * 12)
    for ask in (details, exported):
        assert (await ask(world.client, token)).status == 401
        assert (await ask(world.client, token, password="p" * 12)).status == 200


async def test_other_days_have_the_same_filters_and_are_no_opening(world: World) -> None:
    await thirty_links(world)
    report = BY_LINK | {"filters": {"country": ["FR"]}, "interval": "hour"}
    _, without = await share(world.api, world.account, report=report, **ALL)
    _, token = await share(world.api, world.account, report=BY_LINK | {"interval": "hour"}, **ALL)
    day = {"dateRange": {"from": YESTERDAY, "to": YESTERDAY}}
    answer = (await opened(world.client, token, **day)).json()
    assert (answer["totals"]["clicks"], answer["dateRange"]) == (30, day["dateRange"])
    assert [row["name"] for row in answer["panels"]["link"]["rows"]] == ["Link 1"]
    assert (await details(world.client, token, **day)).json()["totals"]["clicks"] == 30
    assert len(table_of(await exported(world.client, token, **day))) == 1
    assert (await opened(world.client, without, **day)).json()["totals"]["clicks"] == 0
    for days, error in (
        ({"from": "2024-01-01", "to": "2026-01-01"}, "at most 731 days"),
        ({"from": "0001-01-01", "to": "0001-01-02"}, "compare: there are no days before"),
    ):
        for ask in (opened, details, exported):
            response = await ask(world.client, token, dateRange=days)
            assert (response.status, error in response.error) == (400, True), response.body
    # Steps of an hour are those of the share's own days.
    month = {"from": "2026-01-01", "to": "2026-02-28"}
    assert (await opened(world.client, token, dateRange=month)).json()["interval"] == "day"
    await world.services.sharing.share_opens.store()
    assert await world.services.stores.mongodb["shares"].count_documents({"opens": 0}) == 2


async def test_details_and_files_count_among_the_reports_that_are_read_at_once(
    world: World,
) -> None:
    _, token = await share(world.api, world.account, report=BY_LINK, **ALL)
    limiter = world.services.sharing.shared_limiter
    with contextlib.ExitStack() as busy:
        for _ in range(4):
            busy.enter_context(limiter.acquire(world.account.id))
        for ask in (details, exported):
            assert (await ask(world.client, token)).status == 429


async def test_a_logo_and_a_title_are_shown_and_lists_have_no_logo(world: World) -> None:
    for logo, kind in ((png(200, 50), "png"), (svg("<path d='M0 0h9'/>"), "svg+xml")):
        made = await create(
            world.api, world.account, logo=b64encode(logo).decode(), title=" For Acme ", **ALL
        )
        assert (made.status, b"base64" in made.body) == (200, False), made.body
        token = made.json()["url"].partition("#")[2]
        answer = (await opened(world.client, token)).json()
        assert answer["title"] == "For Acme"
        beginning, _, sent = answer["logo"].partition(",")
        assert beginning == f"data:image/{kind};base64"
        assert b64decode(sent) == logo or b"<path" in b64decode(sent)
        assert "logo" not in (await opened(world.client, token, measure="value")).json()
    await share(world.api, world.account)
    rows = (await world.api.get(f"/api/shares?accountId={world.account.id}")).json()["rows"]
    assert [row["has_logo"] for row in rows] == [False, True, True]
    assert "logo" not in rows[1]
    logged = (await world.api.get(f"/api/audit?accountId={world.account.id}")).json()["rows"]
    assert [sorted(row["changes"].keys() & ALL.keys()) for row in logged] == [
        [],
        sorted(ALL),
        sorted(ALL),
    ]


HOSTILE_SVG = (
    "<script>alert(1)</script>",
    "<style>@import url(https://x.invalid/a.css); a{background:url(//x.invalid/b)}</style>",
    '<image href="https://x.invalid/a.png" onload="alert(1)"/>',
    '<use href="https://x.invalid/a.svg#b"/>',
    '<a href="javascript:alert(1)">a</a><set attributeName="href" to="javascript:alert(1)"/>',
    '<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml" src="//x"/></foreignObject>',
    '<rect style="fill:url(https://x.invalid/c)" onclick="alert(1)"/>',
)


@pytest.mark.parametrize("inside", HOSTILE_SVG)
async def test_nothing_runs_or_loads_in_a_logo(world: World, inside: str) -> None:
    logo = b64encode(svg(inside)).decode()
    _, token = await share(world.api, world.account, logo=logo)
    shown = b64decode((await opened(world.client, token)).json()["logo"].partition(",")[2])
    for part in (
        b"<script",
        b" on",
        b'href="http',
        b'href="java',
        b"iframe",
        b"url(http",
        b"url(//",
    ):
        assert part not in shown


@each_case(
    "logo, error",
    [
        (b"GIF89a", "logo: must be a PNG or SVG file"),
        (b"<html></html>", "logo: must be a PNG or SVG file"),
        (
            b"<!DOCTYPE svg [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]>" + svg("&c;")[:-6],
            "logo: must be",
        ),
        (png(200, 50)[:-4], "logo: must be a whole PNG file"),
        (png(200, 50)[:16], "logo: must be a whole PNG file"),
        (png(0, 50), "logo: must be a whole PNG file"),
        (png(2001, 50), "logo: at most 2000 pixels wide and high"),
        (svg('<use href="#a"/>' * 17), "16 of them use"),
        (svg("<g>" * 3000 + "</g>" * 3000), "logo: at most 4000 tags"),
        (
            svg("<g>" * 1900 + "</g>" * 1900),
            "16 of them use, and 102400 bytes once cleaned",
        ),
        (b"a" * (MAX_BYTES + 1), "logo: must be base64 of at most 102400 bytes"),
    ],
)
async def test_a_logo_that_is_none_is_refused(world: World, logo: bytes, error: str) -> None:
    response = await create(world.api, world.account, logo=b64encode(logo).decode())
    assert (response.status, error in response.error) == (400, True), response.error


@each_case(
    "fields, error",
    [
        ({"logo": "%%%"}, "logo: must be base64"),
        ({"title": "x" * 201}, "title: 1 to 200 characters"),
        ({"title": "a\nb"}, "title: 1 to 200 characters, no control characters"),
        ({"choose_days": "yes"}, "choose_days: must be true or false"),
    ],
)
async def test_a_broken_rule_of_an_option_is_named(
    world: World, fields: dict[str, Any], error: str
) -> None:
    response = await create(world.api, world.account, **fields)
    assert (response.status, error in response.error) == (400, True), response.error


async def test_details_and_files_of_a_limited_member_s_share_have_their_links_alone(
    world: World,
) -> None:
    await thirty_links(world)
    tag = await world.services.links.tags.create(world.account.id, "Theirs")
    own = await create_link(
        world.services, world.account.id, "own", internal_name="Own", tags=[tag.id]
    )
    click = make_click(world.account.id, link_id=own.id.bytes, at=now_ms())
    await applied(world.services, [click])
    _, token = await create_share(
        *(world.services, world.account.id, "Theirs"),
        report=orjson.dumps(BY_LINK).decode(),
        **ALL,
        tags=[tag.id],
    )
    answer = (await details(world.client, token)).json()
    assert ([row["name"] for row in answer["rows"]], answer["totals"]["clicks"]) == (["Link 1"], 1)
    assert [row["name"] for row in table_of(await exported(world.client, token))] == ["Link 1"]
