"""Reports whose clients have gone: they leave their places, and the lines before them."""

import orjson
import pytest

from tests.factories import create_share
from tests.http.serving import client_of, until
from tests.web.client import HOST, Client
from tracker.accounts.accounts import Account
from tracker.reports.answers.turn import Places
from tracker.reports.limits import PlaceLimits
from tracker.service.services import Services

DAYS = {"from": "2026-01-30", "to": "2026-01-31"}


@pytest.mark.parametrize(
    "path", ["/api/reports", "/api/reports/overview", "/api/reports/values", "/api/shared"]
)
async def test_a_report_ends_with_its_client(
    services: Services, client: Client, account: Account, secret: str, path: str
) -> None:
    places = services.reports.reports._reading = Places("read", PlaceLimits(1, 1, 5, 5))
    _, token = await create_share(services, account.id)
    body: dict[str, object] = {"accountId": str(account.id), "dateRange": DAYS}
    if path == "/api/reports":
        body["groupBy"] = "country"
    if path == "/api/shared":
        body = {"token": token}
    lines = [
        *(f"Host: {HOST}", "Content-Type: application/json", "Sec-Fetch-Site: same-origin"),
        f"Authorization: Bearer {secret}",
    ]
    method, content = "POST", orjson.dumps(body)
    if path == "/api/reports/values":
        method, content = "GET", b""
        path += f"?accountId={account.id}&dimension=country"
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, f"Content-Length: {len(content)}"])
    async with places.place(account.id, 60):
        async with client_of(client.port) as connection:
            connection.send(f"{head}\r\n\r\n".encode() + content)
            await until(lambda: places._waiting[account.id] == 1)
        await until(lambda: places._waiting[account.id] == 0)
