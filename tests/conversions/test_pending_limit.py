"""How many conversions of nobody an address may report, and that nobody else is refused."""

from typing import Any

import msgspec
import pytest

from config.settings import Settings
from tests.conversions import scene
from tests.conversions.test_rules import BOTH_WAYS, Way, by_coroutine
from tests.factories import create_click, create_event_config
from tracker.errors import RateLimited
from tracker.ids import new_id
from tracker.metrics import PENDING_REFUSED
from tracker.service.services import Services

LIMIT = 10
STRANGER, OTHER = "203.0.113.7", "203.0.113.8"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return msgspec.structs.replace(settings, pending_limit_ip_per_minute=LIMIT)


@pytest.fixture(autouse=True)
def still(services: Services) -> None:
    """Nothing comes back while a test runs."""
    services.recorder._pending._now = lambda: 0.0


async def report(services: Services, way: Way, client: str = STRANGER, **fields: Any) -> bool:
    """Return whether the conversion was accepted."""
    try:
        await way(services, client, **{"click_id": new_id(), **fields})
    except RateLimited as refused:
        assert refused.message.startswith("click_id: ")
        assert int(refused.headers["Retry-After"]) > 0
        return False
    return True


@BOTH_WAYS
async def test_an_address_beyond_its_allowance_is_refused_and_nothing_is_recorded(
    services: Services, way: Way
) -> None:
    before = PENDING_REFUSED._value.get()
    taken = [await report(services, way) for _ in range(LIMIT + 3)]
    assert taken == [True] * LIMIT + [False] * 3
    assert PENDING_REFUSED._value.get() == before + 3
    await scene.drained(services)
    assert len(await scene.stored_events(services)) == LIMIT


@BOTH_WAYS
async def test_known_clicks_postback_keys_and_other_addresses_are_not_limited(
    services: Services, way: Way
) -> None:
    config = await create_event_config(services)
    click_id = await create_click(services, config.account_id)
    for _ in range(LIMIT):
        assert await report(services, way)
    assert not await report(services, way)
    assert await report(services, way, click_id=click_id)
    assert await report(services, way, pbk=config.pbk)
    assert await report(services, way, pbk=config.pbk, click_id=None)
    assert await report(services, way, client=OTHER)


async def test_large_metadata_counts_for_more(services: Services) -> None:
    large = '{"a":"%s"}' % ("x" * (LIMIT - 1) * 1024)
    assert await report(services, by_coroutine, metadata=large)
    assert not await report(services, by_coroutine)


@BOTH_WAYS
async def test_while_mongodb_does_not_answer_no_address_is_limited(
    services: Services, way: Way
) -> None:
    services.look_ups.mongodb.record_failure()
    assert all([await report(services, way) for _ in range(LIMIT * 2)])
