"""Arrivals of an account at a given time."""

from datetime import datetime
from uuid import UUID

import pytest

from tests.factories import make_click_document
from tests.feeds.scene import store_arrivals
from tracker.feeds import arrivals
from tracker.service.services import Services
from tracker.stores.mongodb.transaction import run_in_transaction


async def store_arrival(
    services: Services, account_id: UUID, at: datetime, clicks: int = 1
) -> None:
    """Store the arrivals of so many clicks, as a drain whose clock says `at`."""
    made = [make_click_document(account_id=account_id.bytes) for _ in range(clicks)]
    rows = [one | {"_id": one["_id"].bytes} for one in made]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrivals, "now", lambda: at)
        await run_in_transaction(
            services.stores.mongodb.database,
            lambda session: store_arrivals(services, 0, session, rows),
        )
