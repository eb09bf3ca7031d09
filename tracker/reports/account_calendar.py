"""The calendar in which the days of an account's reports are counted."""

from uuid import UUID

from motor.motor_asyncio import AsyncIOMotorClientSession

from tracker.access.time_zones import TimeZones
from tracker.calendar import Calendar
from tracker.db.connect import Database


async def account_calendar(
    database: Database, account_id: UUID, session: AsyncIOMotorClientSession
) -> Calendar:
    """Return the calendar of an account, read in `session` as its reports are."""
    return (await TimeZones(database).find(account_id, session)).calendar
