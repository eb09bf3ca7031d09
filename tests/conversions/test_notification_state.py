"""The state of an event's notification is stored in one field, and found again in it."""

from datetime import timedelta
from typing import Any

import pytest

from tests.factories import make_conversion
from tracker.clock import now
from tracker.conversions.document import ConversionFields, ConversionStatus, changed, document
from tracker.conversions.notification_state import (
    NotificationState,
    due,
    notified,
    outdated,
    scheduled,
    state_of,
    unchanged,
)
from tracker.ids import new_id
from tracker.service.services import Services

AT = now()
UNSCHEDULED: ConversionFields = {}
STATES = {
    NotificationState.UNSCHEDULED: UNSCHEDULED,
    NotificationState.SCHEDULED: scheduled(AT),
    NotificationState.NOTIFIED: notified(),
}
PENDING = document(make_conversion(1, new_id().bytes))


@pytest.mark.parametrize("state", STATES)
async def test_a_stored_state_is_read_again_and_matches_itself(
    services: Services, state: NotificationState
) -> None:
    event: Any = changed(PENDING, STATES[state])
    await services.stores.mongodb["events"].insert_one({**event, "click_id": None})
    [row] = (await services.conversions.store.stored([1])).values()
    assert state_of(row) is state
    assert await services.stores.mongodb["events"].count_documents(unchanged(event)) == 1


@pytest.mark.parametrize("state", STATES)
async def test_only_a_scheduled_notification_is_due_and_not_before_its_time(
    services: Services, state: NotificationState
) -> None:
    event: Any = changed(PENDING, STATES[state])
    await services.stores.mongodb["events"].insert_one({**event, "click_id": None})
    is_scheduled = state is NotificationState.SCHEDULED
    early = due(AT - timedelta(seconds=1))
    assert await services.stores.mongodb["events"].count_documents(early) == 0
    assert len(await services.conversions.store.overdue(AT)) == is_scheduled


def test_settling_ends_whatever_was_waited_for() -> None:
    settled: ConversionFields = {"status": ConversionStatus.ATTRIBUTED}
    unset = {one: outdated(changed(PENDING, STATES[one]), settled) for one in STATES}
    assert [bool(unset[one]) for one in STATES] == [False, True, True]
    assert outdated(changed(PENDING, scheduled(AT)), notified()) == {}
