"""The calendar in which the days of an account's reports are counted."""

from uuid import UUID

from tracker.api.services import Services
from tracker.calendar import DEFAULT_ZONE, Calendar, calendar_of


async def account_calendar(services: Services, account_id: UUID) -> Calendar:
    """Return the calendar of an account."""
    return calendar_of(DEFAULT_ZONE)
