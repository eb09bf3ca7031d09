"""Links with a password, and visitors who type it."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

from tests.factories import create_link
from tests.web.client import Client, Response
from tracker.links.link import Link
from tracker.service.services import Services

PASSWORD = "Über 8 + ü"


async def create_protected(services: Services, account_id: UUID, **fields: Any) -> Link:
    """Store a link whose password is PASSWORD, unless `fields` have another hash."""
    hashed = fields.pop("password_hash", None) or await services.links.passwords.hash(PASSWORD)
    return await create_link(services, account_id, password_hash=hashed, **fields)


async def type_in(client: Client, target: str, password: str, **headers: str) -> Response:
    """Send the form of the page as a browser does."""
    form = f"password={quote(password, safe='')}".encode()
    return await client.request(
        "POST", target, {"Content_Type": "application/x-www-form-urlencoded", **headers}, form
    )


def pass_of(response: Response) -> str:
    return str(response.headers["Set-Cookie"]).partition(";")[0]
