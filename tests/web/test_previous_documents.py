"""What earlier releases stored is listed, counted and joined. Their documents are frozen.

Each file of `tests/previous_documents` is named for the commit whose code stored its documents, in
MongoDB's extended JSON. Only the times at which they would expire were changed.
"""

from datetime import UTC, date, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import orjson
import pytest
from bson.binary import UuidRepresentation
from bson.json_util import JSONOptions, loads
from tornado.platform.asyncio import AsyncIOLoop

from tests.conversions import scene
from tests.factories import make_conversion
from tests.ingest import ledger
from tests.web.client import Client
from tests.web.keyed_client import KeyedClient
from tests.web.lists import LISTS
from tracker.reports.repair.day_count import count_day
from tracker.reports.repair.recount import Recount
from tracker.service.services import Services
from tracker.visitor_dimensions import NAMES

FILES = sorted((Path(__file__).parent.parent / "previous_documents").glob("*.json"))
OPTIONS = JSONOptions(uuid_representation=UuidRepresentation.STANDARD, tz_aware=True, tzinfo=UTC)
PATHS = {path: collection for _, path, collection in LISTS.values()} | {
    "/api/clicks": "clicks",
    "/api/conversions": "events",
    "/api/audit": "audit",
}

KINDS = {"/api/invitations": "invitation", "/api/password-resets": "password_reset"}
"""The kinds of invitations that a list has."""

Stored = dict[str, list[dict[str, Any]]]


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def stored(services: Services, io_loop: AsyncIOLoop, request: pytest.FixtureRequest) -> Stored:
    """Store the documents of a release, each with an unknown field; return them by collection."""
    documents: Stored = loads(request.param.read_text(encoding="ascii"), json_options=OPTIONS)

    async def store() -> None:
        for name, rows in documents.items():
            later = [{**row, "added_later": {"a": [1]}} for row in rows]
            await services.stores.mongodb[name].insert_many(later)

    io_loop.run_sync(store)
    return documents


@pytest.fixture
def owner(services: Services, client: Client, stored: Stored, io_loop: AsyncIOLoop) -> KeyedClient:
    """Return a client with a new key of the account that is stored."""
    account_id = stored["accounts"][0]["_id"]
    _, secret = io_loop.run_sync(lambda: services.access.api_keys.create(account_id, "a new key"))
    return KeyedClient(client, secret)


def a_day(stored: Stored) -> date:
    day: date = stored["clicks"][0]["at"].date()
    return day


async def test_every_list_has_what_is_stored(stored: Stored, owner: KeyedClient) -> None:
    account_id, day = str(stored["accounts"][0]["_id"]), a_day(stored).isoformat()
    for path, collection in PATHS.items():
        query = {"accountId": account_id}
        if collection in ("clicks", "events"):
            query |= {"from": day, "to": day}
        response = await owner.get(f"{path}?{urlencode(query)}")
        assert response.status == 200, (path, response.body)
        rows = orjson.loads(response.body)["rows"]
        kind = KINDS.get(path)
        held = stored.get(collection, [])
        own = {str(one["_id"]) for one in held if kind in (None, one.get("kind"))}
        shown = {str(row.get("id", row.get("event_id"))) for row in rows}
        assert shown >= own - hidden(stored), path


def hidden(stored: Stored) -> set[str]:
    """Return the ids of what no list shows: events without an account."""
    return {str(one["_id"]) for one in stored["events"] if one["account_id"] is None}


async def test_deliveries_are_listed(stored: Stored, owner: KeyedClient) -> None:
    account_id = str(stored["accounts"][0]["_id"])
    found = 0
    for webhook in stored["webhooks"]:
        path = f"/api/webhooks/{webhook['_id']}/deliveries?accountId={account_id}"
        response = await owner.get(path)
        assert response.status == 200, response.body
        found += len(orjson.loads(response.body)["rows"])
    assert found == len(stored["deliveries"])


async def test_a_link_redirects_and_a_postback_key_is_known(
    services: Services, client: Client, stored: Stored
) -> None:
    for config in stored["event_configs"]:
        response = await client.get(f"/api/event?pbk={config['pbk']}")
        assert response.status == 200, response.body
    for link in stored["links"]:
        assert (await client.get(f"/c/{link['slug']}")).status == 302


async def rebuilt(services: Services, stored: Stored) -> None:
    """Check the rollups in all that they count, and add what is counted since."""
    account_id, day = stored["accounts"][0]["_id"], a_day(stored).isoformat()
    counted = await count_day(services.stores.mongodb.reads, account_id, day)
    assert counted.clicks == len(stored["clicks"])
    fields = {name for row in stored["rollups"] for name in row}
    missing = {path.split(".")[0] for sums in counted.differences().values() for path in sums}
    assert not missing & fields
    await Recount(services.stores.mongodb).correct(account_id, day)


async def test_the_days_of_clicks_and_conversions_are_reported_and_recounted(
    services: Services, stored: Stored, owner: KeyedClient
) -> None:
    account_id, day = stored["accounts"][0]["_id"], a_day(stored)
    await rebuilt(services, stored)
    for group_by in (*NAMES, "utm_source", "day", "link", "hour_of_week"):
        body = {
            "accountId": str(account_id),
            "dateRange": {"from": day.isoformat(), "to": (day + timedelta(days=1)).isoformat()},
            "groupBy": group_by,
        }
        response = await owner.post("/api/reports", **body)
        assert response.status == 200, response.body
        found = orjson.loads(response.body)
        assert found["totals"]["clicks"] == len(stored["clicks"])
        assert sum(row["clicks"] for row in found["rows"]) == len(stored["clicks"])


async def test_a_conversion_is_joined_to_a_stored_click_and_counted_with_it(
    services: Services, stored: Stored
) -> None:
    await rebuilt(services, stored)
    click = stored["clicks"][0]
    await scene.applied(services, [make_conversion(3_000_000_001, click["_id"].bytes)])
    event = next(row for row in await scene.stored_events(services) if row["_id"] == 3_000_000_001)
    assert event["status"] == "attributed"
    assert (event["country"], event["utm_source"]) == (click["country"], click["utm_source"])
    assert UUID(str(event["account_id"])) == click["account_id"]
    await ledger.check(services)
