"""The names of links on custom domains: who has them, and what becomes of lost ones."""

import asyncio
from typing import Any

import pytest

from tests.factories import create_link, make_new_link
from tests.links.names.on_domains import leads_to, on, proven, url_of
from tracker.accounts.accounts import Account
from tracker.errors import BadRequest
from tracker.ids import new_id
from tracker.links.rules.rule import Condition, QueryMatch, Rule
from tracker.links.store import Links
from tracker.service.services import Services


async def test_slug_and_paths_lead_to_a_link(services: Services, account: Account) -> None:
    domain = await proven(services, account.id)
    other = await proven(services, account.id, "other.example")
    await on(services, domain, "spring", "summer/sale", "caf\u00e9", "a%3Fb")
    await on(services, other, "autumn", "summer/sale")
    for path in ("spring", "summer/sale", "summer%2Fsale/", "caf%C3%A9", "cafe%CC%81", "a%3Fb"):
        assert await leads_to(services, path) == url_of("spring"), path
    assert await leads_to(services, "summer/sale", "other.example") == url_of("autumn")
    for path in ("Spring", "summer", "autumn", "a?b%00"):
        assert await leads_to(services, path) is None, path


@pytest.mark.parametrize(
    ("slug", "paths", "field"),
    [
        ("spring", [], "slug"),
        ("may", [], "slug"),
        ("new", ["spring"], "paths"),
        ("new", ["x", "may"], "paths"),
        ("new", ["summer/sale"], "paths"),
    ],
)
async def test_a_name_has_one_link_on_its_domain(
    services: Services, account: Account, slug: str, paths: list[str], field: str
) -> None:
    domain = await proven(services, account.id)
    await on(services, domain, "spring", "may", "summer/sale")
    with pytest.raises(BadRequest, match=f"^{field}: already taken on this domain$"):
        await on(services, domain, slug, *paths)
    new = [
        make_new_link(account.id, domain, slug=one, paths=p)
        for one, p in ((None, []), (slug, paths))
    ]
    with pytest.raises(BadRequest, match=rf"^links\[1\]\.{field}: already taken"):
        await services.links.links.create_all(new)
    if paths:
        link = await on(services, domain, slug)
        with pytest.raises(BadRequest, match=r"^paths: already taken on this domain$"):
            await services.links.links.change(link.id, {"paths": paths})


async def test_a_name_has_one_winner_however_many_want_it_at_once(
    services: Services, account: Account
) -> None:
    domain = await proven(services, account.id)
    changed = [await on(services, domain, f"old{number}") for number in range(5)]
    wanted: list[Any] = [
        *(on(services, domain, "name") for _ in range(3)),
        *(on(services, domain, f"new{number}", "name") for number in range(5)),
        *(services.links.links.change(link.id, {"paths": ["name"]}) for link in changed),
    ]
    results = await asyncio.gather(*wanted, return_exceptions=True)
    refused = [one for one in results if isinstance(one, BadRequest)]
    assert len(refused) == len(wanted) - 1, results
    stored = services.stores.mongodb["links"]
    assert await stored.count_documents({"names": "name"}) == 1


async def test_a_random_slug_that_is_a_path_is_drawn_again(
    services: Services, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = await proven(services, account.id)
    await on(services, domain, "spring", "taken")
    drawn = iter(("taken", "free"))
    monkeypatch.setattr("tracker.links.store.new_slug", lambda: next(drawn))
    assert (await on(services, domain, None)).slug == "free"


async def test_a_link_of_an_earlier_release_is_found_and_keeps_its_slug(
    services: Services, account: Account
) -> None:
    domain = await proven(services, account.id)
    old = await on(services, domain, "old")
    await services.stores.mongodb["links"].update_one({"_id": old.id}, {"$unset": {"names": ""}})
    assert await leads_to(services, "old") == url_of("old")
    with pytest.raises(BadRequest, match=r"^slug: already taken"):
        await on(services, domain, "old")
    with pytest.raises(BadRequest, match=r"^paths: already taken"):
        await on(services, domain, "new", "x", "old")
    changed = await services.links.links.change(old.id, {"paths": ["older"]})
    assert changed.names == ["old", "older"]
    assert await leads_to(services, "older") == url_of("old")


async def test_every_name_of_a_changed_link_leads_where_it_says_now(
    services: Services, account: Account
) -> None:
    domain = await proven(services, account.id)
    links: Links = services.links.links
    younger = await on(services, domain, "b")
    link = await on(services, domain, "a", "x", "y")
    for path in ("a", "x", "y", "z"):
        await leads_to(services, path)  # into every cache
    await links.change(link.id, {"destination_url": url_of("c"), "paths": ["y", "z"]})
    found = [await leads_to(services, path) for path in ("a", "x", "y", "z")]
    assert found == [url_of("c"), None, url_of("c"), url_of("c")]
    await links.change(younger.id, {"paths": ["x"]})
    assert await leads_to(services, "x") == url_of("b")
    await links.change(link.id, {"active": False})
    assert [await leads_to(services, path) for path in ("a", "y", "z")] == [None] * 3
    again = Services(services.settings)
    assert await leads_to(again, "x") == url_of("b")
    assert [await leads_to(again, path) for path in ("a", "y")] == [None] * 2
    await again.close()


async def test_links_of_the_default_domain_have_no_names(
    services: Services, account: Account
) -> None:
    link = await create_link(services, account.id)
    [stored] = await services.stores.mongodb["links"].find({"_id": link.id}).to_list(1)
    assert not {"names", "paths"} & stored.keys()
    with pytest.raises(BadRequest, match="paths: need domain_id, a custom domain"):
        await services.links.links.change(link.id, {"paths": ["a"]})


def everybody_to(url: str) -> list[Rule]:
    always = Condition(query=QueryMatch(key="none"), not_=True)
    return [Rule(id=new_id(), name="all", conditions=[always], destination_url=url)]


async def test_rules_that_lead_to_the_paths_of_each_other_end_after_one_round(
    services: Services, account: Account
) -> None:
    domain = await proven(services, account.id)
    for slug, other in (("a", "b"), ("b", "a")):
        rules = everybody_to(f"https://go.example/{other}")
        await create_link(services, account.id, slug, domain=domain, rules=rules)
    assert await leads_to(services, "a") == "https://go.example/b"
    assert await leads_to(services, "b") is None


async def test_a_rule_leads_elsewhere_though_its_link_leads_to_a_path(
    services: Services, account: Account
) -> None:
    domain = await proven(services, account.id)
    await on(services, domain, "b")
    elsewhere, own = everybody_to(url_of("c")), "https://go.example/b"
    await create_link(services, account.id, "a", own, domain=domain, rules=elsewhere)
    assert await leads_to(services, "b") == url_of("b")
    assert await leads_to(services, "a") == url_of("c")
