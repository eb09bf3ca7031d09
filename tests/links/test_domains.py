"""Domains on real stores: names, changes that every process sees, and names that come back."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.db.own_redis import nobody
from tests.links.test_store import outlived, process, request, visited
from tracker.db import keys
from tracker.db.cache import WHILE_CHANGING
from tracker.errors import BadRequest, NotFound, Unavailable
from tracker.ids import new_id
from tracker.links.domains import Domain, canonical_hostname, checked_name
from tracker.links.link import Link, target
from tracker.services import Services

ACCOUNT, OTHER, NAME = new_id(), new_id(), "go.example"


async def make_link(services: Services, domain: Domain, **fields: Any) -> Link:
    return await services.links.create(
        request(
            account_id=domain.account_id,
            domain_id=domain.id,
            domain_name=domain.domain_name,
            **fields,
        )
    )


async def becomes(found: Callable[[], Awaitable[object]], expected: object) -> None:
    """Within a second."""
    async with asyncio.timeout(1):
        while await found() != expected:
            await asyncio.sleep(0.005)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("go.example.com", "go.example.com"),
        ("Go.Example.COM", "go.example.com"),
        ("go.example.com.", "go.example.com"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("B\u00dcCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("XN--BCHER-KVA.example", "xn--bcher-kva.example"),
        ("stra\u00dfe.example", "xn--strae-oqa.example"),
        ("go\u3002example", "go.example"),
        ("\u4f8b\u5b50.\u6d4b\u8bd5", "xn--fsqu00a.xn--0zwm56d"),
        ("r3---sn.example", "r3---sn.example"),
        ("1.2.3.example", "1.2.3.example"),
        (f"{'a.' * 118}example1", f"{'a.' * 118}example1"),
    ],
)
def test_a_name_is_kept_in_its_canonical_form(text: str, name: str) -> None:
    assert checked_name(text) == name


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "must be a hostname"),
        (".", "must be a hostname"),
        (" go.example", "must be a hostname"),
        ("go example.com", "must be a hostname"),
        ("go..example", "must be a hostname"),
        ("https://go.example", "must be a hostname"),
        ("//go.example", "must be a hostname"),
        ("go.example:443", "must be a hostname"),
        ("go.example/", "must be a hostname"),
        ("go.example?x", "must be a hostname"),
        ("user@go.example", "must be a hostname"),
        ("*.example.com", "must be a hostname"),
        ("_tracker.go.example", "must be a hostname"),
        ("-go.example", "must be a hostname"),
        ("127.0.0.1", "must be a hostname"),
        ("127.1", "must be a hostname"),
        ("0x7f.0x1", "must be a hostname"),
        ("10.0xff", "must be a hostname"),
        ("::1", "must be a hostname"),
        ("[::1]", "must be a hostname"),
        ("go.123", "must be a hostname"),
        ("xn--a.example", "must be a hostname"),
        ("xn--.example", "must be a hostname"),
        ("go.example\x00", "must be a hostname"),
        ("a" * 64 + ".example", "must be a hostname"),
        ("a." * 200 + "example", "must be a hostname"),
        ("localhost", "at least two labels"),
        ("com.", "at least two labels"),
        ("\u4f8b\u5b50", "at least two labels"),
        ("a." * 119 + "example", "at most 244 characters"),
    ],
)
def test_another_name_is_refused_with_the_rule(text: str, rule: str) -> None:
    with pytest.raises(BadRequest, match=f"^domain_name: {rule}"):
        checked_name(text)


@given(st.text() | st.from_regex(r"[A-Za-z0-9_.*:/\-\u00fc]{1,80}", fullmatch=True))
def test_whatever_is_sent_the_name_is_final_or_refused(text: str) -> None:
    try:
        name = checked_name(text)
    except BadRequest as refused:
        assert refused.message.startswith("domain_name: ")
        return
    assert checked_name(name) == canonical_hostname(name) == name
    assert "." in name


async def test_a_new_domain_is_not_verified_and_has_a_token_of_its_own(
    services: Services,
) -> None:
    made = [await services.domains.create(ACCOUNT, name) for name in (NAME, "b.example")]
    assert not made[0].verified
    assert made[0].token != made[1].token
    assert len(made[0].token) >= 32
    assert await services.domains.page(ACCOUNT, 1, 1) == (made[1:], 2)
    assert await services.domains.page(OTHER, 1, 25) == ([], 0)


async def test_every_process_sees_within_a_second_what_becomes_of_a_domain(
    services: Services,
) -> None:
    async with process(services.settings) as other:

        async def seen() -> Domain | None:
            return await other.domains.by_name(NAME)

        assert await seen() is None
        for owner in (ACCOUNT, OTHER, ACCOUNT):
            made = await services.domains.create(owner, NAME)
            await becomes(seen, made)
            verified = await services.domains.verify(made.id)
            assert verified == msgspec.structs.replace(
                made, verified=True, version=made.version + 1
            )
            await becomes(seen, verified)
            await services.domains.delete(made.id)
            await becomes(seen, None)
            assert await services.domains.by_name(NAME) is None


async def test_what_is_gone_cannot_be_verified_or_deleted(services: Services) -> None:
    made = await services.domains.create(ACCOUNT, NAME)
    outcomes = await asyncio.gather(
        *(services.domains.delete(made.id) for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(outcome, NotFound) for outcome in outcomes) == 4
    for change in (services.domains.verify, services.domains.delete):
        with pytest.raises(NotFound, match="domain: not found"):
            await change(made.id)


async def test_with_redis_away_a_domain_is_made_but_not_changed(services: Services) -> None:
    away = Services(msgspec.structs.replace(services.settings, redis_url=nobody()))
    made = await away.domains.create(ACCOUNT, NAME)
    changes: list[Callable[[UUID], Awaitable[object]]] = [
        away.domains.verify,
        away.domains.delete,
    ]
    for change in changes:
        with pytest.raises(Unavailable):
            await change(made.id)
    assert await services.domains.find(made.id) == made
    await away.stop()
    await away.close()


@pytest.mark.parametrize("owner", [ACCOUNT, OTHER])
async def test_a_name_that_comes_back_begins_anew(services: Services, owner: UUID) -> None:
    first = await services.domains.create(ACCOUNT, NAME)
    await services.domains.verify(first.id)
    old = await make_link(services, first)
    assert await visited(services, domain_name=NAME) == target(old)
    await services.links.change(old.id, {"archived": True})
    await services.domains.delete(first.id)

    second = await services.domains.create(owner, NAME)
    assert (second.verified, second.token != first.token) == (False, True)
    assert await visited(services, domain_name=NAME) is None
    new = await make_link(services, second, destination_url="https://new.example/")
    assert await visited(services, domain_name=NAME) == target(new)
    kept = await services.links.find(old.id)
    assert kept is not None
    assert kept.domain_name.startswith(f"{NAME}#")
    assert (kept.account_id, kept.domain_id, kept.slug) == (ACCOUNT, first.id, "slug")


async def test_a_name_may_come_back_any_number_of_times(services: Services) -> None:
    for owner in (ACCOUNT, OTHER, ACCOUNT):
        domain = await services.domains.create(owner, NAME)
        link = await make_link(services, domain)
        await services.links.change(link.id, {"archived": True})
        await services.domains.delete(domain.id)
    assert await services.database["links"].count_documents({"slug": "slug"}) == 3


async def test_links_elsewhere_keep_their_slugs_when_a_domain_goes(services: Services) -> None:
    gone = await services.domains.create(ACCOUNT, NAME)
    kept = [
        await make_link(services, await services.domains.create(ACCOUNT, "kept.example")),
        await services.links.create(request()),
    ]
    await services.domains.delete(gone.id)
    assert [await services.links.find(link.id) for link in kept] == kept


async def test_a_crash_after_deleting_heals_when_the_name_comes_back(services: Services) -> None:
    """The process died right after MongoDB had the deletion; a link was made meanwhile."""
    first = await services.domains.create(ACCOUNT, NAME)
    late = await make_link(services, first)
    assert await services.domains.by_name(NAME) == first
    await services.domain_cache.changing(keys.domain(NAME))
    await services.database["domains"].delete_one({"_id": first.id})
    await outlived_domain(services)
    assert await services.domains.by_name(NAME) is None

    second = await services.domains.create(OTHER, NAME)
    new = await make_link(services, second, destination_url="https://new.example/")
    assert await visited(services, domain_name=NAME) == target(new)
    stranded = await services.links.find(late.id)
    assert stranded is not None
    assert stranded.archived
    await services.links.change(new.id, {"archived": True})
    assert not await services.links.any_on(NAME)


async def outlived_domain(services: Services) -> None:
    await outlived(services, keys.domain(NAME), WHILE_CHANGING)
    services.domain_cache.forget(keys.domain(NAME))


async def test_adding_a_name_that_is_taken_leaves_its_links_alone(services: Services) -> None:
    domain = await services.domains.create(ACCOUNT, NAME)
    links = [await make_link(services, domain, slug=slug) for slug in ("a", "b")]
    await services.links.change(links[1].id, {"archived": True})
    before = [await services.links.find(link.id) for link in links]
    with pytest.raises(BadRequest, match="domain_name: already taken"):
        await services.domains.create(OTHER, NAME)
    assert [await services.links.find(link.id) for link in links] == before
