"""Shlink's API on loopback: read with a key, checked, imported, imported again, and undone."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from tests.factories import CHROME
from tests.imports.lines import PATH, done, outcomes
from tests.ingest import ledger
from tests.links.names import on_domains
from tests.rooms import replace_parts
from tests.waiting import eventually
from tests.web.world import World
from tracker.imports.source_api import SourceApis
from tracker.service.services import Services

KEY = "a-key-of-shlink"


def link(code: str, domain: str | None = None, **changes: Any) -> dict[str, Any]:
    return {
        "shortCode": code,
        "shortUrl": f"https://{domain or 'default.test'}/{code}",
        "longUrl": f"https://ex.test/{code}",
        "dateCreated": "2025-05-01T08:00:00+02:00",
        "tags": ["a", "b"],
        "meta": {"validSince": None, "validUntil": "2031-12-31T00:00:00+01:00", "maxVisits": 100},
        "domain": domain,
        "title": "A title",
        "crawlable": False,
        "forwardQuery": False,
        "visitsSummary": {"total": 0},
        "hasRedirectRules": False,
    } | changes


LINKS = (
    link("abc12", visitsSummary={"total": 3}),
    link("a/b", "go.ex.test", hasRedirectRules=True),
    link("mail", longUrl="mailto:a@ex.test"),
)
RULE = {"longUrl": "https://ex.test/i", "priority": 1, "conditions": [
    {"type": "geolocation-city-name", "matchKey": None, "matchValue": "Berlin"},
]}  # fmt: skip
# The third is older than what Shlink keeps: it stays in the total.
VISITS = [
    {"referer": "https://t.test/", "date": f"2026-03-0{day}T10:00:00+02:00", "userAgent": CHROME}
    | {"visitLocation": {"countryCode": "DE"}, "potentialBot": False}
    for day in (2, 1)
]


class Shlink(RequestHandler):
    """A Shlink with a link a page. It limits the first request of each page."""

    limited: set[str]
    asked: list[str]

    def prepare(self) -> None:
        uri = self.request.uri or ""
        self.asked.append(uri)
        if self.request.headers.get("X-Api-Key") != KEY:
            self.set_status(401)
            self.finish()
        elif uri not in self.limited:
            self.limited.add(uri)
            self.set_status(429)
            self.set_header("Retry-After", "0")
            self.finish()

    def get(self) -> None:
        path = self.request.path.removeprefix("/rest/v3/")
        page = int(self.get_query_argument("page", "1"))
        pagination = {"currentPage": page, "pagesCount": len(LINKS)}
        if path == "short-urls":
            self.finish({"shortUrls": {"data": [LINKS[page - 1]], "pagination": pagination}})
        elif path == "short-urls/a%2Fb/redirect-rules":
            assert self.get_query_argument("domain") == "go.ex.test"
            self.finish({"defaultLongUrl": "https://ex.test/a/b", "redirectRules": [RULE]})
        else:
            assert path == "short-urls/abc12/visits" and self.get_query_argument("endDate")
            self.finish({"visits": {"data": VISITS, "pagination": {"pagesCount": 1}}})


class Moved(RequestHandler):
    def get(self) -> None:
        self.redirect("/rest/v3/short-urls")


@pytest.fixture
def address(services: Services) -> Iterator[str]:
    """Yield the address of a Shlink on loopback, which this service may ask."""
    Shlink.limited, Shlink.asked = set(), []
    sock, port = bind_unused_port()
    server = HTTPServer(Application([("/rest/v3/.*", Shlink), ("/old/.*", Moved)]))
    server.add_socket(sock)
    open_to_all = services.webhooks._replace(allows_private=True)
    replace_parts(services, "imports", apis=SourceApis(open_to_all))
    yield f"http://127.0.0.1:{port}"
    server.stop()


async def read(world: World, url: str, key: str = KEY) -> tuple[str, dict[str, Any]]:
    """Create an import of the API; return its path and how it is once it is read."""
    sent = {"source": "shlink", "api": {"url": url, "key": key}}
    created = await world.api.post(PATH, accountId=str(world.account.id), **sent)
    assert created.status == 200, created.body
    path = f"{PATH}/{created.json()['id']}"

    async def is_read() -> bool:
        return bool((await world.api.get(path)).json()["state"] != "reading")

    await eventually(is_read)
    shown: dict[str, Any] = (await world.api.get(path)).json()
    return path, shown


async def clicks(world: World) -> int:
    await ledger.check(world.services)
    return (await ledger.totals(world.services))["clicks"]


async def test_an_api_of_shlink_is_imported_once_and_undone(world: World, address: str) -> None:
    await on_domains.proven(world.services, world.account.id, "go.ex.test")
    path, shown = await read(world, address)
    assert (shown["state"], shown["instance"]) == ("uploaded", address.removeprefix("http://"))
    # Each was asked again after a 429, and nothing else was asked.
    assert len(Shlink.asked) == 2 * len(set(Shlink.asked)) == 2 * (3 + 1 + 1)
    checked = await done(world, path, "check")
    assert checked["counts"] == {"create": 1, "lossy": 1, "refused": 1, "visits": 2}
    assert await outcomes(world, path) == [
        ("abc12", "create", ""),
        ("a/b", "lossy", "redirectRules"),
        ("", "refused", "longUrl"),
    ]
    ran = await done(world, path, "run")
    assert (ran["state"], ran["counts"]["visits"]) == ("done", 2)
    stored = await world.stored()
    assert KEY not in str(stored)
    tags = {row["_id"]: row["name"] for row in stored["tags"]}
    plain, of_domain = sorted(stored["links"], key=lambda row: row["destination_url"], reverse=True)
    common = {
        "internal_name": "A title",
        "created_at": datetime(2025, 5, 1, 6, tzinfo=UTC),
        "expires_at": datetime(2031, 12, 30, 23, tzinfo=UTC),
        "max_clicks": 100,
        "pass_query": False,
        "active": True,
    }
    for row in (plain, of_domain):
        assert {name: row[name] for name in common} == common
        assert sorted(tags[one] for one in row["tags"]) == ["a", "b"]
    assert (plain["slug"], plain["destination_url"]) == ("abc12", "https://ex.test/abc12")
    assert (of_domain["paths"], of_domain["domain_name"]) == (["a/b"], "go.ex.test")
    assert (plain["opening_clicks"], await clicks(world)) == (1, 2)

    again, _ = await read(world, address)
    ran = await done(world, again, "check", "run")
    assert ran["counts"] == {"same": 2, "refused": 1, "visits_known": 2}
    assert (await world.stored())["links"] == stored["links"] and await clicks(world) == 2
    for one in (again, path):
        assert (await done(world, one, "undo"))["state"] == "undone"
    stored = await world.stored()
    for name in ("links", "tags", "imported_links", "job_files", "clicks"):
        assert stored[name] == [], name


async def test_a_wrong_key_and_a_redirect_fail_the_import_and_are_not_followed(
    world: World, address: str
) -> None:
    _, shown = await read(world, address, "wrong")
    at = f"api: {address}/rest/v3/short-urls"
    assert (shown["state"], shown["error"]) == ("failed", f"{at} answered 401")
    assert len(Shlink.asked) == 1
    _, shown = await read(world, f"{address}/old")
    at = f"api: {address}/old/rest/v3/short-urls"
    assert (shown["state"], shown["error"]) == ("failed", f"{at} answered 302")
    assert len(Shlink.asked) == 1
    assert (await world.stored())["job_files"] == []
