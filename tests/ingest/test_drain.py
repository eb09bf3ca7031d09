"""A drain and Redis: claims that end, visitors that cannot be looked up. No address is stored."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from redis.exceptions import ConnectionError as RedisConnectionError

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tracker.clicks.click import Click
from tracker.ids import new_click_id, new_id
from tracker.service.services import Services

pytestmark = pytest.mark.redis

ACCOUNT, OTHER = new_id(), new_id()
CLICK = make_click(ACCOUNT, query="utm_source=news&utm_term=")
EVENT = make_conversion(1, CLICK.id, value="12.50", payout="1.25", metadata='{"a":1}')


async def test_the_address_of_a_visitor_is_stored_nowhere(services: Services) -> None:
    await scene.applied(services, [CLICK, EVENT])
    assert CLICK.address not in str(await scene.dump(services))


async def test_nothing_of_a_batch_is_stored_if_redis_fails_during_its_enrichment(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole batch is tried again, and each visitor is first once."""
    first_clicks, calls = services.clicks.visitors.first_clicks, 0

    async def lost(clicks: Sequence[Click], calendars: Any) -> set[bytes]:
        nonlocal calls
        calls += 1
        found = await first_clicks(clicks, calendars)
        if calls == 2:
            raise RedisConnectionError("reset")
        return found

    monkeypatch.setattr(services.clicks.visitors, "first_clicks", lost)
    batch = [msgspec.structs.replace(CLICK, id=new_click_id().bytes) for _ in range(900)]
    drain = scene.drain_of(services)
    with pytest.raises(RedisConnectionError):
        await drain.apply(batch)
    assert await services.stores.mongodb["clicks"].count_documents({}) == 0
    await drain.apply(batch)
    assert await services.stores.mongodb["clicks"].count_documents({}) == 900
    assert await services.stores.mongodb["clicks"].count_documents({"unique": True}) == 1
