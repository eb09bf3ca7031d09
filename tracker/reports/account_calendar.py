"""The calendar in which the days of an account's reports are counted."""

from uuid import UUID

from motor.motor_asyncio import AsyncIOMotorClientSession

from tracker.calendar import DEFAULT_ZONE, Calendar, calendar_of
from tracker.db.connect import Database


async def account_calendar(
    database: Database, account_id: UUID, session: AsyncIOMotorClientSession
) -> Calendar:
    """Return the calendar of an account, read in `session` as its reports are."""
    return calendar_of(DEFAULT_ZONE)
