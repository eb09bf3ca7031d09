"""People who are signed in to the console in a browser."""

from uuid import UUID

from playwright.async_api import Page

from tests.factories import create_member
from tracker.access.roles import Role
from tracker.access.sessions import SessionClient
from tracker.service.services import Services


async def sign_in(
    services: Services, page: Page, account_id: UUID, role: Role = Role.OWNER
) -> None:
    """Give the browser of `page` the session of a new member of an account."""
    member = await create_member(services, account_id, role)
    agent = "Mozilla/5.0 (X11; Linux) Chrome/150.0"
    client = SessionClient(address="127.0.0.0/24", user_agent=agent, counted_as="127.0.0.1")
    _, secret = await services.access.sessions.start(member.person_id, member.account_id, client)
    await page.context.add_cookies(
        [
            {
                "name": "session",
                "value": secret,
                "url": services.settings.base_url,
                "httpOnly": True,
                "sameSite": "Lax",
            }
        ]
    )
