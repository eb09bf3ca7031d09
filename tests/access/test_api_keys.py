"""API keys: only hashes are stored, and revoked, expired and unknown keys are rejected."""

import asyncio
import hashlib
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from tests.clock import Clock
from tests.stores.cache.listening import listening
from tests.stores.mongodb.profiler import profiled
from tests.waiting import eventually
from tracker.access import api_keys
from tracker.access.api_keys import ApiKey, ApiKeys
from tracker.errors import Unauthorized
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.cache import trusted_memory
from tracker.stores.redis import keys

pytestmark = pytest.mark.redis

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def at(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(api_keys, "now", lambda: moment)


async def row_of(services: Services, key: ApiKey) -> dict[str, Any]:
    row = await services.stores.mongodb["api_keys"].find_one({"_id": key.id})
    assert row is not None
    return row


async def test_only_the_hash_of_a_key_is_stored(services: Services) -> None:
    key, secret = await services.access.api_keys.create(new_id(), "reporting")
    assert re.fullmatch(r"trk_[\w-]{43}", secret)
    row = await row_of(services, key)
    assert row["sha256"] == hashlib.sha256(secret.encode()).digest()
    assert row["prefix"] == key.prefix == secret[:12]
    assert secret not in repr(row)
    assert secret[12:] not in repr(row) + repr(key)
    assert (row["name"], row["scopes"], row["last_used_at"]) == ("reporting", None, None)


async def test_keys_of_the_same_moment_are_one_query_and_each_has_its_own_answer(
    services: Services,
) -> None:
    made, account_id = services.access.api_keys, new_id()
    created = [await made.create(account_id, name) for name in ("a", "b", "revoked")]
    await made.revoke(created[2][0].id)
    secrets = [secret for _, secret in created]
    async with profiled(services.stores.mongodb.database) as rows:
        asked = [*secrets, secrets[0], "trk_unknown"]
        answers = await asyncio.gather(*map(made.authenticate, asked), return_exceptions=True)
    assert [one.name for one in answers if isinstance(one, ApiKey)] == ["a", "b", "a"]
    assert [str(one) for one in answers[2:] if isinstance(one, Unauthorized)] == [
        "API key: revoked",
        "API key: unknown",
    ]
    assert len([row for row in rows if row["ns"].endswith(".api_keys")]) == 1


async def test_a_key_ends_at_the_moment_it_expires(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = await services.access.api_keys.create(new_id(), "k", expires_at=NOON)
    at(monkeypatch, NOON - timedelta(milliseconds=1))
    await services.access.api_keys.authenticate(secret)
    at(monkeypatch, NOON)
    with pytest.raises(Unauthorized, match="expired"):
        await services.access.api_keys.authenticate(secret)


async def test_a_revoked_key_is_rejected_at_once_in_every_process(services: Services) -> None:
    key, secret = await services.access.api_keys.create(new_id(), "k")
    await services.access.api_keys.authenticate(secret)
    other = Services(services.settings)
    await other.access.api_keys.authenticate(secret)
    revoked, ended = await services.access.api_keys.revoke(key.id)
    assert ended == [revoked]
    for process in (services, other):
        with pytest.raises(Unauthorized, match="revoked"):
            await process.access.api_keys.authenticate(secret)
    assert await services.access.api_keys.revoke(key.id) == (revoked, [])
    await other.close()


async def test_a_key_is_known_to_a_process_that_hears_of_changes_until_it_is_revoked(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, secret = await services.access.api_keys.create(new_id(), "k")
    other = Services(services.settings)
    asked = []
    find = ApiKeys._find

    async def counted(self: ApiKeys, digest: bytes) -> ApiKey:
        asked.append(digest)
        return await find(self, digest)

    monkeypatch.setattr(ApiKeys, "_find", counted)
    async with listening(other.changes):
        for _ in range(5):
            await other.access.api_keys.authenticate(secret)
        assert len(asked) == 1
        await services.access.api_keys.revoke(key.id)
        await eventually(lambda: keys.api_key(asked[0]) not in other.access.api_keys.valid._entries)
        with pytest.raises(Unauthorized, match="revoked"):
            await other.access.api_keys.authenticate(secret)
    for _ in range(2):
        with pytest.raises(Unauthorized, match="revoked"):
            await other.access.api_keys.authenticate(secret)
    await other.close()


@pytest.mark.parametrize("seconds", [0.02, 1.0])
async def test_a_revocation_that_cannot_be_published_holds_everywhere_within_two_seconds(
    services: Services, clock: Clock, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(trusted_memory, "monotonic", clock)
    key, secret = await services.access.api_keys.create(new_id(), "k")
    other = Services(services.settings)
    nowhere: Redis = Redis(host="127.0.0.1", port=1, retry=Retry(NoBackoff(), 0))
    mute = ApiKeys(services.stores.mongodb, nowhere, services.access.invitations)
    async with listening(other.changes):
        for _ in range(2):  # the first stores that the key is in use
            await other.access.api_keys.authenticate(secret)
        await mute.revoke(key.id)
        assert (await other.access.api_keys.authenticate(secret)).id == key.id
        with pytest.raises(Unauthorized, match="revoked"):
            while clock.seconds < 2.0:
                clock.seconds += seconds
                await other.access.api_keys.authenticate(secret)
    await nowhere.aclose()
    await other.close()
