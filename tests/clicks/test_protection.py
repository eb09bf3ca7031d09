"""Passes and tries without a web server: limits, imported hashes, and what voids a pass."""

from base64 import urlsafe_b64encode
from hashlib import pbkdf2_hmac
from typing import Any

import bcrypt
import pytest
from argon2 import PasswordHasher
from msgspec.structs import replace

from tests.clicks.protected import PASSWORD, create_protected
from tests.factories import create_link, make_visit
from tests.web.records import journaled_clicks
from tracker.access.audit import Audit
from tracker.clicks.redirects import protection
from tracker.clicks.redirects.protection import (
    FOR_LINK,
    PASS_SECONDS,
    PER_NETWORK,
    PasswordRequired,
)
from tracker.clock import now_ms
from tracker.errors import RateLimited, Unavailable
from tracker.ids import new_id
from tracker.links.link import CachedLink, Link, cached_link
from tracker.links.options import password_key
from tracker.service.services import Services
from tracker.stores.redis import keys

HOME, ELSEWHERE = "198.51.100.7", "203.0.113.7"
SALT = b"salt of a rival"


def cached(link: Link) -> CachedLink:
    found = cached_link(link)
    assert found is not None
    return found


async def unlocked(services: Services, link: Link, password: str = PASSWORD) -> str:
    return await services.clicks.protection.unlock(cached(link), password, HOME)


async def opens(services: Services, link: Link, cookies: str) -> bool:
    visit = make_visit(slug=link.slug)
    try:
        await services.clicks.redirect.answer(
            replace(visit, headers=replace(visit.headers, cookies=cookies))
        )
    except PasswordRequired:
        return False
    return True


async def test_a_pass_is_for_its_link_its_password_and_an_hour(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    account_id = new_id()
    link, other = [await create_protected(services, account_id, slug=None) for _ in range(2)]
    granted = await unlocked(services, link)
    name, _, value = granted.partition("=")
    until, _, signature = value.partition(".")
    assert await opens(services, link, f"a=b;{granted}; {name}=x")
    theirs = granted.replace(link.id.hex, other.id.hex)
    assert not await opens(services, other, theirs)
    for forged in (
        *("", ";", name, f"{name}=", f"{name}=.", f"{name}=\xb2.{signature}", f"{name}=\xe9"),
        f"{name}={int(until) + 1}.{signature}",
        f"{name}={until}.{signature[:-1]}",
        f"{name}={until}.\xe9{signature[1:]}",
    ):
        assert not await opens(services, link, forged), forged
    at = now_ms()
    for passed, is_valid in ((PASS_SECONDS - 60, True), (PASS_SECONDS, False)):
        monkeypatch.setattr(
            "tracker.clicks.redirects.redirect.now_ms", lambda ms=passed * 1000: at + ms
        )
        assert await opens(services, link, granted) == is_valid
    monkeypatch.undo()
    changed = await services.links.passwords.hash(PASSWORD)
    await services.links.links.change(link.id, {"password_hash": changed})
    assert not await opens(services, link, granted)
    await services.links.links.change(link.id, {"password_hash": None})
    assert await opens(services, link, "")


async def test_passes_of_one_hash_differ_by_link(services: Services) -> None:
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    one, other = [
        await create_protected(services, new_id(), slug=None, password_hash=hashed)
        for _ in range(2)
    ]
    key = password_key(hashed)
    _, signed = protection.new_pass(one.id.bytes, key, now_ms()).split("=")
    assert await opens(services, one, f"pass-{one.id.hex}={signed}")
    assert not await opens(services, other, f"pass-{other.id.hex}={signed}")


@pytest.mark.redis
async def test_neither_the_copy_in_redis_nor_memory_has_the_hash(services: Services) -> None:
    link = await create_protected(services, new_id())
    assert not await opens(services, link, "")
    copy = str(await services.stores.redis.get(keys.link("", "abc")))
    assert link.slug not in copy
    assert link.destination_url in copy
    assert link.password_hash is not None
    for part in link.password_hash.split("$")[-2:]:
        assert part not in copy
        assert part not in repr(cached(link))


def pbkdf2(password: str, iterations: int = 1000) -> str:
    hashed = pbkdf2_hmac("sha256", password.encode(), SALT, iterations)
    parts = [urlsafe_b64encode(one).decode().rstrip("=") for one in (SALT, hashed)]
    return f"pbkdf2-sha256${iterations}${'$'.join(parts)}"


@pytest.mark.parametrize("scheme", ["$2a$", "$2b$", "$2y$", "pbkdf2", "older argon2"])
async def test_an_imported_hash_is_replaced_by_the_first_right_password(
    services: Services, scheme: str
) -> None:
    if scheme.startswith("$2"):
        made = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
        imported = scheme + made[4:]
    elif scheme == "pbkdf2":
        imported = pbkdf2(PASSWORD)
    else:
        imported = PasswordHasher(1, 1024, 1).hash(PASSWORD)
    link = await create_protected(services, new_id(), password_hash=imported)
    with pytest.raises(PasswordRequired, match="wrong"):
        await unlocked(services, link, "wrong")
    assert (await services.links.links.find(link.id)) == link
    granted = await unlocked(services, link)
    renewed = await services.links.links.find(link.id)
    assert renewed is not None
    assert renewed.password_hash is not None
    assert renewed.password_hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert await opens(services, link, granted)
    assert await opens(services, link, await unlocked(services, renewed))
    assert len(await journaled_clicks(services)) == 2
    assert await Audit(services.stores.mongodb).page(link.account_id, 1, 9) == ([], 0)


async def test_a_password_that_changes_meanwhile_is_not_undone_by_a_new_hash(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = await create_protected(services, new_id(), password_hash=pbkdf2(PASSWORD))
    other = await services.links.passwords.hash("another")
    change_all = services.links.links.change_all

    async def after_another(*arguments: Any) -> list[Link]:
        monkeypatch.undo()
        await services.links.links.change(link.id, {"password_hash": other})
        return await change_all(*arguments)

    monkeypatch.setattr(services.links.links, "change_all", after_another)
    granted = await unlocked(services, link)
    stored = await services.links.links.find(link.id)
    assert stored is not None
    assert stored.password_hash == other
    assert not await opens(services, link, granted)


async def test_a_hash_that_cannot_be_replaced_now_opens_the_link_all_the_same(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> None:
        raise Unavailable("storage is unavailable; try again")

    link = await create_protected(services, new_id(), password_hash=pbkdf2(PASSWORD))
    monkeypatch.setattr(services.links.links, "change_all", unavailable)
    assert await opens(services, link, await unlocked(services, link))


async def test_a_link_without_a_password_has_no_pass(services: Services) -> None:
    link = await create_protected(services, new_id())
    await services.links.links.change(link.id, {"password_hash": None})
    with pytest.raises(PasswordRequired):
        await unlocked(services, link)
    plain = await create_link(services, new_id(), None)
    assert plain.password_hash is None


async def tries(services: Services, link: Link, address: str, password: str = "wrong") -> str:
    """Return how a try is answered."""
    try:
        await services.clicks.protection.unlock(cached(link), password, address)
    except RateLimited as error:
        return f"refused for {error.headers['Retry-After']} s"
    except PasswordRequired as error:
        return "wrong" if "wrong" in error.message else "asked"
    return "opened"


@pytest.fixture
def nothing_matches(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> bool:
        return False

    monkeypatch.setattr(services.links.passwords, "verify", refuse)


@pytest.mark.redis
@pytest.mark.usefixtures("nothing_matches")
async def test_tries_are_limited_by_network_over_all_links_and_by_link(services: Services) -> None:
    links = [await create_protected(services, new_id(), slug=None) for _ in range(3)]
    for number in range(PER_NETWORK):
        assert await tries(services, links[number % 2], f"2001:db8:1:1::{number:x}") == "wrong"
    assert (await tries(services, links[2], "2001:db8:1:1::ff")).startswith("refused for")
    assert await tries(services, links[2], HOME, "") == "asked"
    for number in range(FOR_LINK):
        assert await tries(services, links[2], f"2001:db8:2:{number:x}::1") == "wrong"
    assert (await tries(services, links[2], ELSEWHERE)).startswith("refused for")
    assert await tries(services, links[1], ELSEWHERE) == "wrong"


async def test_a_right_password_counts_before_it_is_compared(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = await create_protected(services, new_id())
    monkeypatch.setattr(protection, "_NETWORK", protection._NETWORK._replace(limit=2))
    answers = [await tries(services, link, HOME, PASSWORD) for _ in range(3)]
    assert answers[:2] == ["opened", "opened"]
    assert answers[2].startswith("refused")


@pytest.mark.usefixtures("nothing_matches")
async def test_without_redis_each_process_limits_tries_itself(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> None:
        return None

    link, other = [await create_protected(services, new_id(), slug=None) for _ in range(2)]
    monkeypatch.setattr(services.access.rate_limiter._groups, "submit", unavailable)
    for allowance in services.clicks.protection._without_redis:
        monkeypatch.setattr(allowance, "_now", lambda: 0.0)  # however slow, nothing is refilled
    for _ in range(PER_NETWORK):
        assert await tries(services, link, HOME) == "wrong"
    assert (await tries(services, other, HOME)).startswith("refused")
    for number in range(FOR_LINK // 10):
        assert await tries(services, other, f"2001:db8:2:{number:x}::1") == "wrong"
    assert (await tries(services, other, ELSEWHERE)).startswith("refused")
    assert await tries(services, link, ELSEWHERE) == "wrong"
