"""The cut-over check: what is asked, what is compared, and what DNS says."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.dns.dns_server import DnsServer
from tests.imports.lines import a_link, act, done, rows, uploaded, work
from tests.web.each import each_case
from tests.web.world import World
from tracker.imports import rows as import_rows
from tracker.imports.cut_over import Answer, answer_of_source
from tracker.imports.item import SourcePassword
from tracker.links.domain import Domain

NAME, HERE = "go.example.com", "here.example.com"
AT = datetime(2026, 3, 1, tzinfo=UTC)
LATER, EARLIER = AT + timedelta(days=1), AT - timedelta(days=1)
TO = Answer(302, "https://example.com/one")
OVER = Answer(302, "https://example.com/over")


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        ({}, TO),
        ({"archived": True}, TO),
        ({"starts_at": EARLIER, "expires_at": LATER, "max_clicks": 3, "clicks": 2}, TO),
        ({"destination_url": "https://example.com/ä?click_id=1"}, "https://example.com/%C3%A4"),
        ({"destination_url": "https://example.com/{x}"}, "https://example.com/{x}"),
        ({"active": False, "expires_at": EARLIER, "expired_url": OVER.location}, Answer(404)),
        ({"expires_at": AT}, Answer(404)),
        ({"expires_at": AT, "expired_url": OVER.location}, OVER),
        ({"starts_at": LATER}, Answer(404)),
        ({"max_clicks": 3, "clicks": 3}, Answer(404)),
        ({"password": SourcePassword("unknown")}, Answer(401)),
        ({"password": SourcePassword("unknown"), "expires_at": AT}, Answer(404)),
    ],
)
def test_a_source_answers_by_its_own_data(fields: dict[str, Any], answer: Any) -> None:
    expected = Answer(302, answer) if isinstance(answer, str) else answer
    assert answer_of_source(a_link("one", **fields), AT) == expected


async def a_domain(world: World, name: str = NAME) -> Domain:
    domain = await world.services.links.domains.create(world.account.id, name)
    return await world.services.links.domains.verify(domain.id)


async def checked(world: World, path: str) -> dict[str, Any]:
    answer = await world.api.send("POST", f"{path}/cut-over-check")
    assert (answer.status, answer.json()["state"]) == (200, "comparing")
    assert await work(world.services)
    shown: dict[str, Any] = (await world.api.get(f"{path}/cut-over-check")).json()
    return shown


async def test_every_printed_path_is_asked_and_the_differences_are_listed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_rows, "ROWS_ASKED", 2)
    domain = await a_domain(world)
    names = [{"name": "s.test", "domain_id": str(domain.id)}]
    items = [a_link(f"l{number}", row=number, domain_name="s.test") for number in range(1, 6)]
    items += [
        a_link("off", row=6, domain_name="s.test", active=False),
        a_link("old", row=7, domain_name="s.test", expires_at=AT),
        a_link("secret", row=8, domain_name="s.test", password=SourcePassword("unknown")),
        a_link("used-up", row=9, domain_name="s.test", max_clicks=3, clicks=3),
        a_link("refused", row=10, domain_name="s.test", destination_url="ftp://x"),
    ]
    path = await uploaded(world, *items, domains=names)
    await done(world, path, "check", "run")
    before = await world.stored()
    found = await checked(world, path)
    assert (found["is_complete"], found["paths"], found["same"], found["differ"]) == (True, 9, 8, 1)
    assert (await world.api.get(path)).json()["state"] == "done"
    [secret] = await rows(world, path, "&outcome=differing")
    told = f"{NAME}/secret: 401 there, 404 here (short link: not found)"
    assert secret["difference"] == told
    links = {row["slug"]: row["_id"] for row in before["links"]}
    changed = await world.api.send(
        "PATCH", f"/api/short-links/{links['l2']}", b'{"destination_url":"https://new.example/"}'
    )
    assert changed.status == 200
    found = await checked(world, path)
    assert (found["paths"], found["differ"]) == (9, 2)
    listed = await world.api.get(f"{path}/rows?outcome=differing&format=csv")
    lines = listed.body.decode().splitlines()
    assert (len(lines), "https://example.com/l2 there, https://new.example/ here" in lines[1]) == (
        3,
        True,
    )
    for name in ("clicks", "events", "rollups"):
        assert await world.services.stores.mongodb[name].count_documents({}) == 0
    assert await world.services.stores.redis.xlen("journal") == 0


async def test_a_check_that_ends_between_chunks_is_carried_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_rows, "ROWS_ASKED", 2)
    path = await uploaded(world, *(a_link(f"l{number}") for number in range(5)))
    await done(world, path, "check", "run")
    await act(world, path, "cut-over-check")
    checks = world.services.imports.worker._cut_over
    chunk, chunks = checks._chunk, 0

    async def killed_in_the_second(*arguments: Any) -> Any:
        nonlocal chunks
        chunks += 1
        if chunks == 2:
            await chunk(*arguments)
            raise RuntimeError("killed")
        return await chunk(*arguments)

    monkeypatch.setattr(checks, "_chunk", killed_in_the_second)
    with pytest.raises(RuntimeError):
        await work(world.services)
    await world.services.stores.mongodb["imports"].update_one({}, {"$set": {"leased_until": AT}})
    shown = (await world.api.get(f"{path}/cut-over-check")).json()
    assert (shown["is_complete"], shown["paths"]) == (False, 2)
    assert await work(world.services)
    shown = (await world.api.get(f"{path}/cut-over-check")).json()
    # Links of the service's own domain answer under /c/ alone.
    assert (shown["is_complete"], shown["paths"], shown["differ"]) == (True, 5, 5)


async def test_dns_says_where_each_domain_points_and_what_to_change(
    world: World, names: DnsServer
) -> None:
    addresses = {"tracker.test": "192.0.2.7", NAME: "192.0.2.1", HERE: "192.0.2.7"}
    for name, address in addresses.items():
        names.has(name, "A", address)
    there, here = await a_domain(world), await a_domain(world, HERE)
    chosen = [{"name": one.domain_name[::-1], "domain_id": str(one.id)} for one in (there, here)]
    items = [a_link(one["name"], domain_name=one["name"], path="one") for one in chosen]
    path = await uploaded(world, *items, domains=chosen)
    await done(world, path, "check", "run")
    shown = (await checked(world, path))["domains"]
    found = {one["domain_name"]: one for one in shown}
    assert (found[HERE]["points_here"], found[HERE]["to_change"]) == (True, None)
    assert not found[NAME]["points_here"]
    assert found[NAME]["to_change"].startswith(f"{NAME} CNAME a-")


@each_case("state", [("uploaded",), ("checked",)])
async def test_only_an_import_that_has_run_can_be_checked(world: World, state: str) -> None:
    path = await uploaded(world, a_link("one"))
    if state == "checked":
        await done(world, path, "check")
    answer = await act(world, path, "cut-over-check")
    assert (answer.status, answer.error) == (400, "state: compare is possible in done")
    assert (await world.api.get(f"{path}/cut-over-check")).status == 404
