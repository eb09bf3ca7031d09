"""Domains on real stores: names, changes that every process sees, and names that come back."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import create_link
from tests.links.processes import process, visited
from tests.waiting import PATIENCE_SECONDS, becomes
from tracker.clock import now
from tracker.errors import BadRequest, NotFound
from tracker.ids import new_id
from tracker.links.cache import QUARANTINED_COPY_SECONDS
from tracker.links.domain import ServedName, served_name
from tracker.links.hostnames import canonical_hostname, checked_hostname
from tracker.links.link import cached_link
from tracker.service.services import Services
from tracker.stores.cache.cache import COPY_SECONDS
from tracker.stores.redis import keys

ACCOUNT, OTHER, NAME = new_id(), new_id(), "go.example"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("go.example.com", "go.example.com"),
        ("go.example.com.", "go.example.com"),
        ("b\u00fccher.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("stra\u00dfe.example", "xn--strae-oqa.example"),
        ("go\u3002example", "go.example"),
        ("\u4f8b\u5b50.\u6d4b\u8bd5", "xn--fsqu00a.xn--0zwm56d"),
        ("i\u2764\ufe0f.example", "xn--i-7iq.example"),
        ("xn--i-7iq.example", "xn--i-7iq.example"),
        ("r3---sn.example", "r3---sn.example"),
        ("1.2.3.example", "1.2.3.example"),
        (f"{'a.' * 118}example1", f"{'a.' * 118}example1"),
    ],
)
def test_a_name_is_kept_in_its_canonical_form(text: str, name: str) -> None:
    assert checked_hostname(text) == name


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "must be a hostname"),
        (" go.example", "must be a hostname"),
        ("go..example", "must be a hostname"),
        ("https://go.example", "must be a hostname"),
        ("go.example:443", "must be a hostname"),
        ("go.example/", "must be a hostname"),
        ("user@go.example", "must be a hostname"),
        ("_tracker.go.example", "must be a hostname"),
        ("-go.example", "must be a hostname"),
        ("127.0.0.1", "must be a hostname"),
        ("0x7f.0x1", "must be a hostname"),
        ("::1", "must be a hostname"),
        ("xn--a.example", "must be a hostname"),
        ("xn--i-7iqv272g.example", "must be a hostname"),
        ("\u05d0a.example", "must be a hostname"),
        ("go.example\x00", "must be a hostname"),
        ("a" * 64 + ".example", "must be a hostname"),
        ("a." * 200 + "example", "must be a hostname"),
        ("localhost", "at least two labels"),
        ("\u4f8b\u5b50", "at least two labels"),
        ("a." * 119 + "example", "at most 244 characters"),
    ],
)
def test_another_name_is_rejected_with_the_rule(text: str, rule: str) -> None:
    with pytest.raises(BadRequest, match=f"^domain_name: {rule}"):
        checked_hostname(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("_dmarc.Example.", "_dmarc.example"),
        ("localhost", "localhost"),
        (f"{'a.' * 123}example", f"{'a.' * 123}example"),
        (f"{'a.' * 124}example", ""),
        ("go.example..", ""),
        ("go-.example", ""),
        ("127.0.0.1", ""),
        ("\ud800.example", ""),
        ("a" * 70_000, ""),
    ],
)
def test_visitors_may_name_other_hosts(text: str, name: str) -> None:
    assert canonical_hostname(text) == name


@given(st.text() | st.from_regex(r"[A-Za-z0-9_.*:/\-\u00fc]{1,80}", fullmatch=True))
def test_any_text_becomes_a_canonical_name_or_is_rejected(text: str) -> None:
    try:
        name = checked_hostname(text)
    except BadRequest as refused:
        assert refused.message.startswith("domain_name: ")
        return
    assert checked_hostname(name) == canonical_hostname(name) == name
    assert "." in name


@pytest.mark.usefixtures("long_memory")
async def test_every_process_sees_a_change_of_a_domain(services: Services) -> None:
    async with process(services.settings) as other:

        async def seen() -> ServedName | None:
            return await other.links.domains.by_name(NAME)

        assert await seen() is None
        for owner in (ACCOUNT, ACCOUNT):
            made = await services.links.domains.create(owner, NAME)
            await becomes(namespace(other, named=True), made.id.hex)
            rival = await services.links.domains.create(OTHER, NAME)
            await becomes(namespace(other, named=True), None)
            await services.links.domains.delete(rival.id)
            await becomes(namespace(other, named=True), made.id.hex)
            verified = await services.links.domains.verify(made.id)
            assert verified == msgspec.structs.replace(
                made, verified=True, version=made.version + 1
            )
            await becomes(seen, served_name([verified]))
            await services.links.domains.delete(made.id)
            await becomes(namespace(other, named=False), None)
            await released(services)


def namespace(services: Services, named: bool) -> Callable[[], Awaitable[str | None]]:
    """Return a look-up of the namespace that visitors of the name find."""

    async def found() -> str | None:
        name = await services.links.domains.by_name(NAME)
        return services.links.domains.namespace(name, named)

    return found


async def released(services: Services) -> None:
    """End the quarantine: as if MongoDB had deleted the domain, and its copies had expired."""
    await services.stores.mongodb["domains"].delete_many({"quarantined_until": {"$ne": None}})
    await services.stores.redis.delete(keys.domain(NAME))
    services.links.domain_cache.forget(keys.domain(NAME))


async def test_a_deleted_domain_cannot_be_verified_or_deleted(services: Services) -> None:
    made = await services.links.domains.create(ACCOUNT, NAME)
    outcomes = await asyncio.gather(
        *(services.links.domains.delete(made.id) for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(outcome, NotFound) for outcome in outcomes) == 4
    for change in (services.links.domains.verify, services.links.domains.delete):
        with pytest.raises(NotFound, match="domain: not found"):
            await change(made.id)


async def test_two_claims_of_a_name_have_slugs_of_their_own_and_only_proof_decides(
    services: Services,
) -> None:
    claims = [await services.links.domains.create(owner, NAME) for owner in (ACCOUNT, OTHER)]
    links = [await create_link(services, one.account_id, domain=one) for one in claims]
    assert [await visited(services, domain_id=one.id) for one in claims] == list(
        map(cached_link, links)
    )
    assert await namespace(services, named=True)() is None
    assert await namespace(services, named=False)() == ""
    with pytest.raises(BadRequest, match="domain_name: already taken: already added"):
        await services.links.domains.create(OTHER, NAME)
    await services.links.domains.verify(claims[1].id)
    for named in (True, False):
        assert await namespace(services, named)() == claims[1].id.hex
    assert await services.links.domains.find(claims[0].id) is None
    ended = await services.links.links.find(links[0].id)
    assert ended is not None
    assert ended.archived
    assert await services.links.links.find(links[1].id) == links[1]
    with pytest.raises(BadRequest, match="domain_name: already taken: proven by another account"):
        await services.links.domains.create(ACCOUNT, NAME)
    assert await services.stores.mongodb["domains"].count_documents({}) == 1


async def test_three_hundred_claims_keep_nobody_from_proving_a_name(services: Services) -> None:
    for _ in range(300):
        await services.links.domains.create(new_id(), NAME)
    owners = await services.links.domains.create(ACCOUNT, NAME)
    services.links.domain_cache.forget(keys.domain(NAME))
    await services.stores.redis.flushall()
    assert await services.links.domains.by_name(NAME) is None
    proven = await services.links.domains.verify(owners.id)
    assert await services.stores.mongodb["domains"].count_documents({}) == 1
    services.links.domain_cache.forget(keys.domain(NAME))
    await services.stores.redis.flushall()
    assert await services.links.domains.by_name(NAME) == served_name([proven])


async def test_a_proven_name_stays_reserved_for_thirty_days_after_deletion(
    services: Services,
) -> None:
    first = await services.links.domains.create(ACCOUNT, NAME)
    await services.links.domains.verify(first.id)
    link = await create_link(services, first.account_id, domain=first)
    await services.links.links.change(link.id, {"archived": True})
    await services.links.domains.delete(first.id)
    assert await services.links.domains.page(ACCOUNT, 1, 25) == ([], 0)
    assert await services.links.domains.find(first.id) is None
    [row] = await services.stores.mongodb["domains"].find().to_list(None)
    until = row["quarantined_until"].date()
    with pytest.raises(BadRequest, match=rf"^domain_name: .*; free after {until}"):
        await services.links.domains.create(OTHER, NAME)
    for named in (True, False):
        assert await namespace(services, named)() is None
    indexes = await services.stores.mongodb["domains"].index_information()
    assert indexes["quarantine"]["expireAfterSeconds"] == 0
    assert timedelta(days=29) < row["quarantined_until"] - now() <= timedelta(days=30)

    await released(services)
    second = await services.links.domains.create(OTHER, NAME)
    assert await namespace(services, named=True)() == second.id.hex
    assert await visited(services, domain_id=second.id) is None
    new = await create_link(
        services, second.account_id, domain=second, destination_url="https://new.example/"
    )
    assert await visited(services, domain_id=second.id) == cached_link(new)


async def test_an_account_may_add_its_name_again_at_once_and_begins_without_links(
    services: Services,
) -> None:
    tokens = set()
    for _ in range(3):
        domain = await services.links.domains.create(ACCOUNT, NAME)
        tokens.add(domain.token)
        assert not domain.verified
        assert await namespace(services, named=True)() == domain.id.hex
        await services.links.domains.verify(domain.id)
        link = await create_link(services, domain.account_id, domain=domain)
        assert await visited(services, domain_id=domain.id) == cached_link(link)
        await services.links.links.change(link.id, {"archived": True})
        await services.links.domains.delete(domain.id)
        with pytest.raises(BadRequest):
            await services.links.domains.create(OTHER, NAME)
    assert len(tokens) == 3
    assert await services.stores.mongodb["domains"].count_documents({}) == 1


@pytest.mark.parametrize(
    ("env", "setting", "served"),
    [
        ("production", "auto", False),
        ("production", "always", True),
        ("development", "auto", True),
        ("development", "never", False),
    ],
)
async def test_in_production_the_host_header_finds_proven_domains_only(
    services: Services, env: Any, setting: Any, served: bool
) -> None:
    settings = msgspec.structs.replace(services.settings, env=env, serve_claimed_domains=setting)
    async with process(settings) as other:
        claim = await services.links.domains.create(ACCOUNT, NAME)
        await becomes(namespace(other, named=True), claim.id.hex)
        assert await namespace(other, named=False)() == (claim.id.hex if served else "")
        await services.links.domains.verify(claim.id)
        await becomes(namespace(other, named=False), claim.id.hex)


async def test_a_name_that_the_operator_has_reserved_since_leads_to_the_default_domain(
    services: Services,
) -> None:
    proven = await services.links.domains.verify(
        (await services.links.domains.create(ACCOUNT, NAME)).id
    )
    settings = msgspec.structs.replace(services.settings, reserved_hosts=NAME)
    async with process(settings) as other:
        assert await services.links.domains.by_name(NAME) == served_name([proven])
        for named, expected in ((False, ""), (True, None)):
            assert await namespace(other, named)() == expected
        assert not await other.links.domains.serves(NAME)
        await other.links.domains.delete(proven.id)
        for named, expected in ((False, ""), (True, None)):
            assert await namespace(other, named)() == expected


async def test_a_name_in_quarantine_that_is_claimed_again_leads_nowhere_in_production(
    services: Services,
) -> None:
    """It does not lead to links of the default domain either."""
    settings = msgspec.structs.replace(services.settings, env="production")
    async with process(settings) as other:
        await services.links.domains.verify((await services.links.domains.create(ACCOUNT, NAME)).id)
        [held], _ = await services.links.domains.page(ACCOUNT, 1, 25)
        await services.links.domains.delete(held.id)
        again = await services.links.domains.create(ACCOUNT, NAME)
        await becomes(namespace(other, named=True), again.id.hex)
        assert await namespace(other, named=False)() is None


async def test_the_copy_of_a_name_lives_as_long_as_links_unless_a_quarantine_ends_first(
    services: Services,
) -> None:
    """MongoDB deletes a domain at the end of its quarantine, and nobody is notified."""
    name, domains = keys.domain(NAME), services.links.domains

    async def seconds_of_new_copy() -> int:
        await services.stores.redis.delete(name)
        services.links.domain_cache.forget(name)
        await domains.by_name(NAME)
        return await services.stores.redis.ttl(name)

    made = await domains.create(ACCOUNT, NAME)
    assert COPY_SECONDS - PATIENCE_SECONDS < await services.stores.redis.ttl(name) <= COPY_SECONDS
    await domains.verify(made.id)
    assert COPY_SECONDS - PATIENCE_SECONDS < await seconds_of_new_copy() <= COPY_SECONDS
    await domains.delete(made.id)
    assert 0 < await seconds_of_new_copy() <= QUARANTINED_COPY_SECONDS
    await domains.create(ACCOUNT, NAME)
    assert 0 < await seconds_of_new_copy() <= QUARANTINED_COPY_SECONDS
