"""Every endpoint that changes something writes one entry for each object that it changes."""

from typing import Final

import pytest

from tests.web.table import KEYED_ENDPOINTS
from tests.web.world import World
from tracker.web.endpoint import Endpoint

UNAUDITED: Final = {
    "POST /api/reports": "reads",
    "POST /api/reports/overview": "reads",
    "POST /api/reports/export": "reads",
    "POST /api/webhooks/preview": "shows what a template would become",
    "POST /api/webhooks/{id}/test": "sends a sample; nothing of the account changes",
    "POST /api/webhooks/{id}/deliveries/retry": "the example finds no failed delivery",
    "POST /api/short-links/{id}/test-click": "records a click; nothing of the account changes",
    "POST /api/event-configs/{id}/test-conversion": "records a conversion; the same",
    "POST /api/domains/{id}/verify": "the example's domain is verified already",
    "POST /api/short-links/{id}/restore": "the example's link is not archived",
    "PATCH /api/members/{id}": "the example's role is the one that the member has",
}
CHANGES: Final = [
    pytest.param(one, id=f"{one.method} {one.path}")
    for one in KEYED_ENDPOINTS
    if one.method != "GET"
]


@pytest.mark.parametrize("endpoint", CHANGES)
async def test_a_change_is_in_the_log_once(world: World, endpoint: Endpoint) -> None:
    request = await world.request(endpoint, world.account)
    key = await world.key(world.account)
    await world.services.stores.mongodb["audit"].delete_many({})
    response = await world.send(request, key)
    assert response.status == 200, response.body
    entries = await world.services.stores.mongodb["audit"].find().to_list(None)
    name = f"{endpoint.method} {endpoint.path}"
    assert len(entries) == (0 if name in UNAUDITED else 1), entries
    for entry in entries:
        assert (entry["account_id"], entry["actor"]["kind"]) == (world.account.id, "api_key")
        assert entry["target"]["name"]
        assert entry["address"] == "127.0.0.0/24"
