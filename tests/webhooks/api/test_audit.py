"""What is done to webhooks and event configurations is in the audit log, once, without secrets."""

from typing import Any

import orjson

from tests.web.keyed_client import KeyedClient
from tests.webhooks.sending.scene import converted, listening
from tracker.accounts.accounts import Account
from tracker.clock import iso, now
from tracker.service.services import Services

TARGET = "https://8.8.8.8/hook"


async def logged(api: KeyedClient, account: Account) -> list[dict[str, Any]]:
    """Return the entries, oldest first."""
    rows: list[dict[str, Any]] = (await api.get(f"/api/audit?accountId={account.id}")).json()[
        "rows"
    ]
    return rows[::-1]


async def test_each_change_of_an_event_configuration_has_one_entry(
    api: KeyedClient, account: Account
) -> None:
    fields = {"name": "Sale", "payout_type": "CPA", "payout": 2.5}
    config = (await api.post("/api/event-configs", accountId=str(account.id), **fields)).json()
    target = f"/api/event-configs/{config['id']}"
    for changes in ({"payout": 3, "active": False}, {"payout": 3}, {}):
        assert (await api.patch(target, **changes)).status == 200
    await api.delete(target)
    entries = await logged(api, account)
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


async def test_each_change_of_a_webhook_has_one_entry_without_secrets(
    api: KeyedClient, account: Account
) -> None:
    sent = {"account_id": str(account.id), "target_url": TARGET, "payload_template": {"a": "b"}}
    webhook = (await api.post("/api/webhooks", **sent)).json()
    target = f"/api/webhooks/{webhook['id']}"
    for changes in ({"active": False}, {"payload_template": {"a": "{value}"}}, {"active": False}):
        assert (await api.patch(target, **changes)).status == 200
    rotated = (await api.post(f"{target}/secret")).json()
    await api.delete(target)
    entries = await logged(api, account)
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


async def test_deliveries_that_are_sent_again_have_one_entry_with_their_number(
    services: Services, api: KeyedClient, account: Account
) -> None:
    async with listening(services, account.id) as (_, webhook):
        await converted(services, account.id, 3)
    await services.stores.mongodb["deliveries"].update_many({}, {"$set": {"status": "failed"}})
    path = f"/api/webhooks/{webhook.id}/deliveries"
    [row, *_] = (await api.get(path)).json()["rows"]
    await api.post(f"{path}/{row['id']}/retry")
    since = "2020-01-01T00:00:00.000Z"
    for _ in range(2):  # the second finds nothing that failed
        await api.post(f"{path}/retry", since=since)
    await api.post(f"{path}/retry", since=iso(now()))
    entries = await logged(api, account)
    assert {one["action"] for one in entries} == {"webhook.deliveries_retried"}
    assert [one["changes"]["deliveries"]["after"] for one in entries] == [1, 2]
    assert {one["target"]["id"] for one in entries} == {str(webhook.id)}
