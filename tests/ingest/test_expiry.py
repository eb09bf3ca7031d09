"""Events of nobody are kept for a while, and whatever becomes somebody's is kept for ever."""

from datetime import timedelta

import msgspec
import pytest

from config.settings import Settings
from tests.conversions import scene
from tests.ingest.pending import pair
from tracker.clock import now
from tracker.service.services import Services
from tracker.stores.mongodb import indexes

pytestmark = pytest.mark.redis


def of_nobody(number: int = 1) -> tuple:  # type: ignore[type-arg]
    click, event = pair(number)
    unknown = {"account_id": None, "event_config_id": None}
    return click, msgspec.structs.replace(event, **unknown)


@pytest.mark.parametrize("days", [0, 3, 30])
async def test_an_event_without_an_account_expires_after_the_days_of_the_settings(
    settings: Settings, services: Services, days: int
) -> None:
    assert settings.pending_event_days == 30
    before = now()
    async with scene.process(msgspec.structs.replace(settings, pending_event_days=days)) as other:
        await scene.applied(other, [of_nobody()[1]])
    (row,) = await scene.stored_events(services)
    assert ("expires_at" in row) is bool(days)
    if days:
        assert before <= row["expires_at"] - timedelta(days=days) <= now()
    kept = {index.document["name"]: index.document for index in indexes.INDEXES["events"]}
    assert kept["expiry"]["expireAfterSeconds"] == 0
