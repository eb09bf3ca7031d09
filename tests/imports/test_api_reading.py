"""APIs of sources: read with a key that nobody keeps, under the rules of webhooks' targets."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tornado.httpclient import HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application, RequestHandler

from tests.imports import lines
from tests.imports.lines import PATH, a_link, act, add_lines, done, work
from tests.rooms import replace_parts
from tests.waiting import eventually
from tests.web.world import World
from tracker.clock import now
from tracker.errors import BadRequest
from tracker.imports import source_api
from tracker.imports.item import SourceItem, SourcePassword
from tracker.imports.source_api import SourceApis, _wait_seconds
from tracker.jobs import files
from tracker.service.services import Services

KEY = "a-secret-of-the-source"
LINKS = json.dumps({"links": [{"id": "a"}, {"id": "b", "notes": "n"}]}).encode()


class Api(RequestHandler):
    """A source's API: it answers what is next in `answers`, the last one again and again."""

    answers: list[tuple[int, bytes, dict[str, str]]]
    asked: list[tuple[str, str]]

    def get(self, path: str) -> None:
        self.asked.append((self.request.uri or "", self.request.headers.get("X-Api-Key", "")))
        status, body, headers = self.answers[0]
        if len(self.answers) > 1:
            del self.answers[0]
        self.set_status(status)
        for name, value in headers.items():
            self.set_header(name, value)
        self.finish(body)


@pytest.fixture
def api(services: Services) -> Any:
    """Yield the address of a source's API on loopback, which this service may ask."""
    Api.answers, Api.asked = [(200, LINKS, {})], []
    sock, port = bind_unused_port()
    server = HTTPServer(Application([("/(.*)", Api)]))
    server.add_socket(sock)
    open_to_all = services.webhooks._replace(allows_private=True)
    replace_parts(services, "imports", apis=SourceApis(open_to_all))
    yield f"http://127.0.0.1:{port}/v1"
    server.stop()


async def begun(world: World, url: str) -> str:
    add_lines(world.services)
    sent = {"accountId": str(world.account.id), "source": "lines", "api": {"url": url, "key": KEY}}
    answer = await world.api.post(PATH, **sent)
    assert (answer.status, answer.json()["state"]) == (200, "reading")
    return f"{PATH}/{answer.json()['id']}"


async def read(world: World, url: str) -> dict[str, Any]:
    """Begin to read an API; return the import once it is read, or has failed."""
    path = await begun(world, url)
    shown: dict[str, Any] = {}

    async def is_read() -> bool:
        nonlocal shown
        shown = (await world.api.get(path)).json()
        return bool(shown["state"] != "reading")

    await eventually(is_read)
    return {**shown, "path": path}


async def test_an_api_is_read_with_a_key_that_is_nowhere_afterwards(world: World, api: str) -> None:
    found = await read(world, api)
    assert (found["state"], found["instance"]) == ("uploaded", api.split("/")[2])
    assert Api.asked == [("/v1/links?page=1", KEY)]
    ran = await done(world, found["path"], "check", "run")
    assert ran["counts"] == {"create": 2}
    assert KEY not in str(await world.stored())


async def test_a_source_that_limits_requests_is_asked_again_when_it_says(
    world: World, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = list[float]()

    def wait_seconds(answer: HTTPResponse, waits: int) -> float:
        waited.append(_wait_seconds(answer, waits))
        return 0.0

    told = ("1000000", "Wed, 21 Oct 2099 07:28:00 GMT", "Wed, 21 Oct 2015 07:28:00 GMT", "7")
    limited = [(429, b"", {"Retry-After": one}) for one in told]
    Api.answers[:0] = [*limited, (503, b"", {}), (503, b"", {"Retry-After": "soon"})]
    monkeypatch.setattr(source_api, "_wait_seconds", wait_seconds)
    http = world.services.imports.apis
    found = await (await http.open(_lines(world), api, KEY)).get("links", {})
    assert len(found["links"]) == 2
    longest = source_api.MAX_WAIT_SECONDS
    assert waited == [longest, longest, 0.0, 7.0, 16.0, 32.0]


def _lines(world: World) -> Any:
    add_lines(world.services)
    return world.services.imports.sources["lines"]


async def test_an_answer_that_cannot_be_used_fails_the_import_and_says_why(
    world: World, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_api, "MAX_WAITS", 0)
    at = f"api: {api}/links"
    for status, body, error in (
        (401, b"", f"{at} answered 401"),
        (302, b"", f"{at} answered 302"),
        (429, b"", f"{at} answered 429"),
        (200, b"<html>", f"{at} answered 200, but no JSON"),
        (200, b"{}", "api: could not be read; the operator's log says why"),
    ):
        Api.answers = [(status, body, {"Location": "http://127.0.0.1:1/"})]
        found = await read(world, api)
        assert (found["state"], found["error"]) == ("failed", error)
        checked = await act(world, found["path"], "check")
        assert (checked.status, checked.error[:18]) == (400, "file: there is non")
    assert KEY not in str(await world.stored())


async def test_no_request_leaves_for_an_address_that_is_not_public(world: World) -> None:
    add_lines(world.services)
    for url, rule in (
        ("http://127.0.0.1:9/", "must not be in a private network"),
        ("http://[::ffff:10.0.0.1]/", "must not be in a private network"),
        ("http://localhost/", "must not be in a private network"),
        ("ftp://example.com/", "must be an absolute http or https URL"),
        ("", "must be an absolute http or https URL"),
        ("http://u:p@example.com/", "no user "),
        ("http://example.com/?signature=secret", "must have neither ? nor #"),
    ):
        sent = {"source": "lines", "api": {"url": url, "key": KEY}}
        answer = await world.api.post(PATH, accountId=str(world.account.id), **sent)
        assert (answer.status, answer.error[: len(rule) + 9]) == (400, f"api.url: {rule}"), url
    assert (await world.stored())["imports"] == []


async def test_a_name_that_leads_to_a_private_address_later_is_refused_when_it_is_asked(
    world: World,
) -> None:
    found = await read(world, "http://later.example/")
    assert found["state"] == "failed"
    assert found["error"].startswith("api: http://later.example/links: dns: later.example")


async def test_a_reading_whose_process_has_ended_fails(
    world: World, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(source_api.HttpApi, "get", never)
    path = await begun(world, api)
    imports = world.services.stores.mongodb["imports"]
    await imports.update_one({}, {"$set": {"leased_until": now()}})
    assert await work(world.services)
    shown = (await world.api.get(path)).json()
    assert (shown["state"], shown["error"]) == (
        "failed",
        "api: the process that read it has ended; create the import again",
    )


async def test_passwords_in_clear_are_hashed_before_links_are_stored(
    world: World, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_api(_: Any) -> AsyncIterator[SourceItem]:
        yield a_link("a", password=SourcePassword("plain", "open sesame"))
        yield a_link("long", password=SourcePassword("plain", "open sesame" * 100))
        yield a_link("half", row=3, notes="\ud800")

    monkeypatch.setattr(lines, "LINES", lines.LINES._replace(read_api=read_api))
    found = await read(world, api)
    assert (found["state"], "open sesame" in str(await world.stored())) == ("uploaded", False)
    ran = await done(world, found["path"], "check", "run")
    assert ran["counts"] == {"create": 1, "lossy": 1, "refused": 1}
    links = {row["slug"]: row for row in (await world.stored())["links"]}
    passwords = world.services.links.passwords
    assert await passwords.verify(links["a"]["password_hash"], "open sesame")
    assert (links["long"]["active"], "password_hash" in links["long"]) == (False, False)


async def test_a_reading_that_fails_or_is_cancelled_leaves_no_pieces(
    world: World, api: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIECE_BYTES", 1)
    read_one, goes_on = asyncio.Event(), asyncio.Event()

    async def read_api(_: Any) -> AsyncIterator[SourceItem]:
        yield a_link("a")
        yield a_link("b")
        read_one.set()
        await goes_on.wait()
        raise BadRequest("api: bad")

    monkeypatch.setattr(lines, "LINES", lines.LINES._replace(read_api=read_api))
    path = await begun(world, api)
    await read_one.wait()
    assert len((await world.stored())["job_files"]) == 2
    goes_on.set()

    async def has_failed() -> bool:
        return bool((await world.api.get(path)).json()["state"] == "failed")

    await eventually(has_failed)
    assert (await world.stored())["job_files"] == []
    goes_on.clear()
    read_one.clear()
    path = await begun(world, api)
    await read_one.wait()
    await world.services.imports.reading.close()
    assert (await world.stored())["job_files"] == []
