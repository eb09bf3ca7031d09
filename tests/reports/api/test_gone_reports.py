"""Reports whose clients have gone: they leave their permits, and the queues before them."""

import orjson
import pytest

from tests.factories import create_share
from tests.http.serving import client_of
from tests.waiting import eventually
from tests.web.client import HOST, Client
from tracker.accounts.accounts import Account
from tracker.reports.answers.turn import Permits
from tracker.reports.limits import PermitLimits
from tracker.service.services import Services

DAYS = {"from": "2026-01-30", "to": "2026-01-31"}


@pytest.mark.parametrize(
    "path", ["/api/reports", "/api/reports/overview", "/api/reports/values", "/api/shared"]
)
async def test_a_report_ends_with_its_client(
    services: Services, client: Client, account: Account, secret: str, path: str
) -> None:
    permits = services.reports.reports._reading = Permits("read", PermitLimits(1, 1, 5, 5))
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
    async with permits.permit(account.id, 60):
        async with client_of(client.port) as connection:
            connection.send(f"{head}\r\n\r\n".encode() + content)
            await eventually(lambda: permits._waiting[account.id] == 1)
        await eventually(lambda: permits._waiting[account.id] == 0)
