"""What is done to webhooks and event configurations is in the audit log, once, without secrets."""

from typing import Any

import orjson

from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account

TARGET = "https://8.8.8.8/hook"


async def logged(api: KeyedClient, account: Account) -> list[dict[str, Any]]:
    """Return the entries, oldest first."""
    rows: list[dict[str, Any]] = (await api.get(f"/api/audit?accountId={account.id}")).json()[
        "rows"
    ]
    return rows[::-1]


async def test_each_change_of_an_event_configuration_has_one_entry(world: World) -> None:
    fields = {"name": "Sale", "payout_type": "CPA", "payout": 2.5}
    config = (
        await world.api.post("/api/event-configs", accountId=str(world.account.id), **fields)
    ).json()
    target = f"/api/event-configs/{config['id']}"
    for changes in ({"payout": 3, "active": False}, {"payout": 3}, {}):
        assert (await world.api.patch(target, **changes)).status == 200
    await world.api.delete(target)
    entries = await logged(world.api, world.account)
    assert [(one["action"], one["changes"]) for one in entries] == [
        ("event_config.created", {}),
        (
            "event_config.changed",
            {"payout": {"before": "2.5", "after": "3"}, "active": {"before": True, "after": False}},
        ),
        ("event_config.archived", {}),
    ]
    assert [one["target"] for one in entries] == [
        {"kind": "event_config", "id": config["id"], "name": "Sale"}
    ] * 3


async def test_each_change_of_a_webhook_has_one_entry_without_secrets(world: World) -> None:
    sent = {
        "account_id": str(world.account.id),
        "target_url": TARGET,
        "payload_template": {"a": "b"},
    }
    webhook = (await world.api.post("/api/webhooks", **sent)).json()
    target = f"/api/webhooks/{webhook['id']}"
    for changes in ({"active": False}, {"payload_template": {"a": "{value}"}}, {"active": False}):
        assert (await world.api.patch(target, **changes)).status == 200
    rotated = (await world.api.post(f"{target}/secret")).json()
    await world.api.delete(target)
    entries = await logged(world.api, world.account)
    assert [(one["action"], one["changes"]) for one in entries] == [
        ("webhook.created", {}),
        ("webhook.changed", {"active": {"before": True, "after": False}}),
        (
            "webhook.changed",
            {"payload_template": {"before": '{"a":"b"}', "after": '{"a":"{value}"}'}},
        ),
        ("webhook.secret_rotated", {}),
        ("webhook.deleted", {}),
    ]
    text = orjson.dumps(entries).decode()
    assert webhook["secret"] not in text
    assert rotated["secret"] not in text
