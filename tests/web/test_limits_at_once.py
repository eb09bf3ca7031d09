"""Limits of how many objects an account has hold when many requests come at one moment."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.factories import create_webhook
from tests.web.world import World
from tracker.access import api_keys, invitations
from tracker.alerts import rules
from tracker.sharing import shares, views
from tracker.webhooks import store as webhooks

REQUESTS = 24
LIMIT = 5


class Limited(NamedTuple):
    """A kind of object: where it is made and stored, its limit, and the n-th body."""

    path: str
    collection: str
    module: Any
    limit: str
    body: Callable[[int], dict[str, Any]]


ROWS = [
    Limited(
        *("/api/shares", "shares", shares, "MAX_OF_ACCOUNT"),
        lambda n: {"name": f"share {n}", "report": {"lastDays": 7}},
    ),
    Limited(
        *("/api/views", "views", views, "MAX_OF_ACCOUNT"),
        lambda n: {"name": f"view {n}", "query": ""},
    ),
    Limited(
        *("/api/alerts", "alerts", rules, "MAX_OF_ACCOUNT"),
        lambda n: {"name": f"{n}", "rule": {"measure": "clicks", "condition": "halved"}},
    ),
    Limited(
        *("/api/summaries", "summaries", rules, "MAX_OF_ACCOUNT"),
        lambda n: {"name": f"{n}", "rule": {"every": "week"}},
    ),
    Limited(
        *("/api/keys", "api_keys", api_keys, "MAX_VALID_KEYS"),
        lambda n: {"name": f"key {n}", "scopes": ["links:read"]},
    ),
    Limited(
        *("/api/invitations", "invitations", invitations, "MAX_OPEN_INVITATIONS"),
        lambda n: {"email": f"ada{n}@example.com", "role": "viewer"},
    ),
    Limited(
        *("/api/webhooks", "webhooks", webhooks, "MAX_WEBHOOKS_PER_ACCOUNT"),
        lambda n: {"name": f"hook {n}", "target_url": "https://8.8.8.8/"},
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.collection)
async def test_an_account_never_has_more_than_its_limit_and_gets_all_of_it(
    world: World, monkeypatch: pytest.MonkeyPatch, row: Limited
) -> None:
    monkeypatch.setattr(row.module, row.limit, LIMIT)
    stored = world.services.stores.mongodb[row.collection]
    before = await stored.count_documents({"account_id": world.account.id})
    others = {}
    if row.module is rules:
        webhook = await create_webhook(world.services, world.account.id)
        others = {"webhook_id": str(webhook.id)}
    answers = await asyncio.gather(
        *(
            world.api.post(row.path, accountId=str(world.account.id), **row.body(n), **others)
            for n in range(REQUESTS)
        )
    )
    assert await stored.count_documents({"account_id": world.account.id}) == LIMIT
    made = [one for one in answers if one.status == 200]
    refused = [one for one in answers if one.status == 400]
    assert (len(made), len(refused)) == (LIMIT - before, REQUESTS - LIMIT + before), answers
    assert all(str(LIMIT) in one.error for one in refused)


async def test_an_object_that_was_refused_is_not_in_the_audit_log(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MAX_OF_ACCOUNT", 2)
    body = {"accountId": str(world.account.id), "name": "A view", "query": ""}
    await asyncio.gather(*(world.api.post("/api/views", **body) for _ in range(8)))
    assert (
        await world.services.stores.mongodb["audit"].count_documents({"action": "view.created"})
        == 2
    )


async def test_a_crowd_that_has_room_is_served_whole(world: World) -> None:
    body = {"accountId": str(world.account.id), "name": "A view", "query": ""}
    answers = await asyncio.gather(*(world.api.post("/api/views", **body) for _ in range(60)))
    assert {one.status for one in answers} == {200}
