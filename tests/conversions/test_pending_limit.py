"""How many conversions of nobody an address may report, and that nobody else is refused."""

from typing import Any

import msgspec
import pytest

from config.settings import Settings
from tests.conversions import scene
from tests.conversions.rules import report
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
    services.conversions.recorder._pending._now = lambda: 0.0


async def accepted(services: Services, client: str = STRANGER, **fields: Any) -> bool:
    """Return whether the conversion was accepted."""
    try:
        await report(services, client, **{"click_id": new_id(), **fields})
    except RateLimited as refused:
        assert refused.message.startswith("click_id: ")
        assert int(refused.headers["Retry-After"]) > 0
        return False
    return True


async def test_an_address_beyond_its_allowance_is_refused_and_nothing_is_recorded(
    services: Services,
) -> None:
    before = PENDING_REFUSED._value.get()
    taken = [await accepted(services) for _ in range(LIMIT + 3)]
    assert taken == [True] * LIMIT + [False] * 3
    assert PENDING_REFUSED._value.get() == before + 3
    await scene.drained(services)
    assert len(await scene.stored_events(services)) == LIMIT


async def test_known_clicks_postback_keys_and_other_addresses_are_not_limited(
    services: Services,
) -> None:
    config = await create_event_config(services)
    click_id = await create_click(services, config.account_id)
    for _ in range(LIMIT):
        assert await accepted(services)
    assert not await accepted(services)
    assert await accepted(services, click_id=click_id)
    assert await accepted(services, pbk=config.pbk)
    assert await accepted(services, pbk=config.pbk, click_id=None)
    assert await accepted(services, client=OTHER)


async def test_large_metadata_counts_for_more(services: Services) -> None:
    large = '{"a":"%s"}' % ("x" * (LIMIT - 1) * 1024)
    assert await accepted(services, metadata=large)
    assert not await accepted(services)


async def test_while_mongodb_does_not_answer_no_address_is_limited(services: Services) -> None:
    services.conversions.look_ups.mongodb.record_failure()
    assert all([await accepted(services) for _ in range(LIMIT * 2)])
