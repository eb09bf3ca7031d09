"""Reports whose clients have gone: they leave their permits, and the queues before them."""

import orjson
import pytest

from tests.factories import create_link, create_share
from tests.http.serving import client_of
from tests.waiting import eventually
from tests.web.client import HOST
from tests.web.world import World
from tracker.limits.permits import PermitLimits, Permits

DAYS = {"from": "2026-01-30", "to": "2026-01-31"}


@pytest.mark.parametrize(
    "path",
    [
        *("/api/reports", "/api/reports/overview", "/api/reports/values", "/experiment"),
        *("/api/shared", "/api/shared/details", "/api/shared/details/export"),
    ],
)
async def test_a_report_ends_with_its_client(world: World, path: str) -> None:
    permits = Permits("report", "reports", PermitLimits(1, 1, 5, 5), 30)
    world.services.reports.reports._reading = permits
    report = '{"lastDays":7,"panels":[{"groupBy":"country"}]}'
    _, token = await create_share(
        world.services, world.account.id, report=report, all_rows=True, download=True
    )
    body: dict[str, object] = {"accountId": str(world.account.id), "dateRange": DAYS}
    if path == "/api/reports":
        body["groupBy"] = "country"
    if path.startswith("/api/shared"):
        body = {"token": token}
    if "details" in path:
        body["groupBy"] = "country"
    lines = [
        *(f"Host: {HOST}", "Content-Type: application/json", "Sec-Fetch-Site: same-origin"),
        f"Authorization: Bearer {world.secret}",
    ]
    method, content = "POST", orjson.dumps(body)
    if path == "/api/reports/values":
        method, content = "GET", b""
        path += f"?accountId={world.account.id}&dimension=country"
    if path == "/experiment":
        link = await create_link(world.services, world.account.id)
        method, content, path = "GET", b"", f"/api/short-links/{link.id}/experiment"
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, f"Content-Length: {len(content)}"])
    async with permits.permit(world.account.id, 60):
        async with client_of(world.client.port) as connection:
            connection.send(f"{head}\r\n\r\n".encode() + content)
            await eventually(lambda: permits._waiting._in_flight[world.account.id] == 1)
        await eventually(lambda: permits._waiting._in_flight[world.account.id] == 0)
