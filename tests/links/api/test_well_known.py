"""`/.well-known/` on custom domains: the texts as they were written, and nothing elsewhere."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from tests.links.api.domains import NAME, PATH, add, send
from tests.web.client import Response
from tests.web.world import World
from tracker.access.audit import AuditFilter
from tracker.stores.mongodb.reads import MongoReads

APPLE = "/.well-known/apple-app-site-association"
ANDROID = "/.well-known/assetlinks.json"
TEXT = ' {"applinks" : {"details": [], "é": 1.0}}\n'


async def change(world: World, domain: dict[str, Any], **texts: Any) -> Response:
    return await send(world.api, "PATCH", f"{PATH}/{domain['id']}", **texts)


async def test_a_proven_domain_serves_its_texts_as_they_were_written(world: World) -> None:
    domain = await add(world.api, world.account)

    async def answers() -> list[int]:
        return [
            (await world.client.get(path, Host=host)).status
            for host in (NAME, f"{NAME.upper()}:8080", "tracker.test", "other.example")
            for path in (APPLE, ANDROID)
        ]

    await change(world, domain, apple_app_site_association=TEXT)
    assert await answers() == [404] * 8
    await world.services.links.domains.verify(UUID(domain["id"]))
    assert await answers() == [200, 404, 200, 404] + [404] * 4
    response = await world.client.get(APPLE, Host=NAME)
    assert response.body == TEXT.encode()
    assert response.headers["Content-Type"] == "application/json"
    head = await world.client.request("HEAD", APPLE, {"Host": NAME})
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == response.headers["Content-Length"]
    await change(world, domain, apple_app_site_association=None, assetlinks="[]")
    assert await answers() == [404, 200, 404, 200] + [404] * 4
    unknown = await world.client.get("/nothing", Host="tracker.test")
    response = await world.client.get(APPLE, Host=NAME)
    assert (response.body, response.status) == (unknown.body, unknown.status)
    assert (await world.client.request("POST", ANDROID, {"Host": NAME})).status == 404


async def test_requests_of_the_same_moment_share_a_query(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = [await add(world.api, world.account, f"{name}.example") for name in "ab"]
    await change(world, added[0], assetlinks="[]")
    ids = [UUID(domain["id"]) for domain in added]
    domains, reads = world.services.links.domains, world.services.stores.mongodb.reads
    asked = []

    async def find(*query: Any, **options: Any) -> Any:
        asked.append(query)
        return await MongoReads.find(reads, *query, **options)

    monkeypatch.setattr(reads, "find", find)
    texts = await asyncio.gather(*(domains.text(one, "assetlinks") for one in ids * 20))
    assert (texts, len(asked)) == (["[]", None] * 20, 1)


async def test_a_text_that_breaks_a_rule_is_refused_with_field_and_rule(world: World) -> None:
    domain = await add(world.api, world.account)
    most = "[" + " " * (64 * 1024 - 2) + "]"
    for field, text, rule in (
        ("apple_app_site_association", "[]", "must be a JSON object"),
        ("assetlinks", "{}", "must be a JSON list"),
        ("assetlinks", "", "must be valid JSON"),
        ("assetlinks", "[NaN]", "NaN is not a JSON number"),
        ("assetlinks", "[" * 33 + "]" * 33, "at most 32 levels deep"),
        ("assetlinks", most + " ", "at most 65,536 bytes"),
        ("assetlinks", f'["{"é" * 33_000}"]', "at most 65,536 bytes"),
    ):
        response = await change(world, domain, **{field: text})
        assert (response.status, response.error.partition(" (")[0]) == (400, f"{field}: {rule}")
    assert (await change(world, domain, assetlinks=most)).status == 200
    texts = (await world.api.get(f"{PATH}/{domain['id']}")).json()
    assert (texts["assetlinks"], texts["apple_app_site_association"]) == (most, None)


async def test_a_list_tells_whether_there_are_texts_and_has_none(world: World) -> None:
    added = [await add(world.api, world.account, f"{name}.example") for name in "abc"]
    text = '{"a": "' + "\u00e9" * 30_000 + '"}'
    changed = await change(world, added[1], apple_app_site_association=text)
    await change(world, added[2], apple_app_site_association=text)
    await change(world, added[2], apple_app_site_association=None, assetlinks="[]")
    response = await world.api.get(f"{PATH}?accountId={world.account.id}")
    names = ("has_apple_app_site_association", "has_assetlinks")
    shown = [[row[name] for name in names] for row in response.json()["rows"]]
    assert shown == [[False, True], [True, False], [False, False]]
    assert [changed.json()[name] for name in names] == [True, False]
    assert len(changed.body) < len(response.body) < 10_000
    [listed], _ = await world.services.links.domains.page(world.account.id, 2, 1)
    assert listed.apple_app_site_association == "{"


async def test_the_audit_log_says_that_a_text_changed_and_has_none(world: World) -> None:
    domain = await add(world.api, world.account)
    for text in (TEXT, TEXT, "{}", None):
        await change(world, domain, apple_app_site_association=text)
    changed = AuditFilter(action="domain.changed")
    log = world.services.access.audit.page(world.account.id, 1, 9, changed)
    pairs = [
        (change.before, change.after)
        for entry in reversed((await log)[0])
        for change in entry.changes.values()
    ]
    [(none, first), (first_again, second), (second_again, gone)] = pairs
    assert (none, first_again, second_again, gone) == (None, first, second, None)
    assert first.startswith("text ")
    assert len(first) == len(second) == len("text ") + 8
    assert first != second
