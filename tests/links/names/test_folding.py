"""A domain begins to ignore case, and stops."""

import asyncio
from typing import Any

import pytest

from tests.factories import make_visit
from tests.links.names.on_domains import leads_to, on, proven, url_of
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.errors import BadRequest
from tracker.links.domain import Domain
from tracker.links.names import folding
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import run_in_transaction

SPELLINGS = (
    "Spring",
    "spring",
    "SPRING",
    "Summer/SALE",
    "summer/sale/",
    "%C3%89t%C3%A9",
    "\xc3\xa9t\xc3\xa9",
)


async def switched(world: World, domain: Domain, case_sensitive: bool) -> Any:
    path = f"/api/domains/{domain.id}"
    return await world.api.patch(
        path, accountId=str(world.account.id), case_sensitive=case_sensitive
    )


async def test_where_case_does_not_count_every_spelling_leads_to_the_link(world: World) -> None:
    services = world.services
    domain = await proven(services, world.account.id)
    await on(services, domain, "Spring", "Summer/Sale", "\u00c9t\u00e9")
    assert await leads_to(services, "spring") is None
    assert (await switched(world, domain, False)).json()["case_sensitive"] is False
    for path in SPELLINGS:
        assert await leads_to(services, path) == url_of("Spring"), path
    await on(services, domain, "Autumn", "Winter")
    assert (
        await leads_to(services, "autumn") == await leads_to(services, "WINTER") == url_of("Autumn")
    )
    for slug, host, query in (("sPRING", "go.example", ""), ("spring", "x.test", "d=go.example")):
        visit = make_visit(host, slug=slug, query=query, method="HEAD")
        assert (await services.clicks.redirect.answer(visit)).status == 302
    assert (await switched(world, domain, True)).json()["case_sensitive"] is True
    assert (
        await leads_to(services, "Spring")
        == await leads_to(services, "Summer/Sale")
        == url_of("Spring")
    )
    assert await leads_to(services, "spring") is None
    await on(services, domain, "spring")
    assert await leads_to(services, "spring") == url_of("spring")


async def test_names_that_only_case_tells_apart_are_listed_and_nothing_changes(
    world: World,
) -> None:
    services = world.services
    domain = await proven(services, world.account.id)
    for number in range(25):
        await on(services, domain, f"a{number}", f"P{number}")
        await on(services, domain, f"A{number}")
    await on(services, domain, "b", "p7")
    answer = await switched(world, domain, False)
    assert answer.status == 400
    assert answer.error.startswith("case_sensitive: only case tells these apart: ")
    assert answer.error.count(" and ") == 20
    assert await leads_to(services, "a1") == url_of("a1")
    assert await leads_to(services, "A1") == url_of("A1")
    await on(services, domain, "c")
    await on(services, domain, "C")


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        (("Spring",), ("spring",), "slug"),
        (("a", "Spring"), ("sprinG",), "slug"),
        (("Spring",), ("a", "SPRING"), "paths"),
        (("a", "\u00c9t\u00e9"), ("b", "\u00e9t\u00c9"), "paths"),
    ],
)
async def test_where_case_does_not_count_a_name_has_one_link(
    world: World, first: tuple[str, ...], second: tuple[str, ...], field: str
) -> None:
    domain = await proven(world.services, world.account.id)
    await switched(world, domain, False)
    await on(world.services, domain, *first)
    with pytest.raises(BadRequest, match=f"^{field}: already taken"):
        await on(world.services, domain, *second)


async def test_links_of_an_earlier_release_are_folded_in_pieces(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folding, "PIECE_LINKS", 3)
    domain = await proven(services, account.id)
    for number in range(10):
        await on(services, domain, f"S{number}")
    await services.stores.mongodb["links"].update_many({}, {"$unset": {"names": ""}})
    await services.links.folding.fold(account.id, domain.id)
    rows = await services.stores.mongodb["links"].find({}).to_list(None)
    assert sorted(row["names"] for row in rows) == [[f"S{n}", f"/s{n}"] for n in range(10)]


async def test_after_a_crash_the_switch_is_done_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, pieces = world.services, 0
    domain = await proven(services, world.account.id)
    for number in range(10):
        await on(services, domain, f"S{number}")
    monkeypatch.setattr(folding, "PIECE_LINKS", 3)
    run = run_in_transaction

    async def crashes(*arguments: Any) -> Any:
        nonlocal pieces
        pieces += 1
        if pieces == 3:
            raise asyncio.CancelledError
        return await run(*arguments)

    monkeypatch.setattr(folding, "run_in_transaction", crashes)
    with pytest.raises(asyncio.CancelledError):
        await services.links.folding.fold(world.account.id, domain.id)
    for path in ("S0", "S9"):
        assert await leads_to(services, path) == url_of(path)
    assert (await switched(world, domain, False)).status == 200
    assert await leads_to(services, "s9") == url_of("S9")


async def test_links_created_or_changed_during_the_switch_get_the_right_names(world: World) -> None:
    services = world.services
    domain = await proven(services, world.account.id)
    links = [await on(services, domain, f"Old{number}") for number in range(5)]
    switch = asyncio.create_task(switched(world, domain, False))
    made: list[Any] = [
        *(on(services, domain, f"New{number}") for number in range(15)),
        *(services.links.links.change(one.id, {"paths": [f"P{one.slug}"]}) for one in links),
    ]
    await asyncio.gather(*made)
    assert (await switch).status == 200
    paths = [f"new{number}" for number in range(15)]
    for path in (*paths, *(f"pold{number}" for number in range(5))):
        assert await leads_to(services, path) is not None, path


async def test_two_that_differ_in_case_are_never_both_created_during_the_switch(
    world: World,
) -> None:
    services = world.services
    domain = await proven(services, world.account.id)
    await on(services, domain, "Old")
    made = [
        on(services, domain, slug) for number in range(8) for slug in (f"n{number}", f"N{number}")
    ]
    switch = asyncio.create_task(switched(world, domain, False))
    results = await asyncio.gather(*made, return_exceptions=True)
    answer = await switch
    created = [one for one in results if not isinstance(one, BaseException)]
    assert all(isinstance(one, BadRequest) for one in results if one not in created)
    if answer.status == 200:
        assert len(created) == 8
    else:
        assert answer.status == 400


async def test_a_refused_switch_takes_nothing_from_one_that_succeeds_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, steps = world.services, 0
    domain = await proven(services, world.account.id)
    await on(services, domain, "Spring")
    rival = await on(services, domain, "other", "spring")
    run = run_in_transaction

    async def overtaken(*arguments: Any) -> Any:
        nonlocal steps
        steps += 1
        is_first_piece, result = steps == 2, await run(*arguments)
        if is_first_piece:
            await services.links.links.change(rival.id, {"paths": []})
            assert (await switched(world, domain, False)).status == 200
        return result

    monkeypatch.setattr(folding, "run_in_transaction", overtaken)
    assert (await switched(world, domain, False)).status == 400
    await on(services, domain, "New")
    assert await leads_to(services, "new") == url_of("New")
