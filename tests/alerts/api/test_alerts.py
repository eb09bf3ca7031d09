"""Alerts and summaries are made, replaced and deleted, and refused if they could tell nothing."""

from typing import Any

import orjson
import pytest

from tests.factories import create_link, create_webhook
from tests.web.world import World
from tracker.ids import new_id

ALERT: dict[str, Any] = {"measure": "clicks", "condition": "below", "threshold": 10}


async def test_an_alert_is_replaced_and_audited_and_evaluated_anew(world: World) -> None:
    webhook = await create_webhook(world.services, world.account.id)
    account = {"accountId": str(world.account.id)}
    sent = {**account, "name": " Few clicks ", "webhook_id": str(webhook.id), "rule": ALERT}
    made = (await world.api.post("/api/alerts", **sent)).json()
    assert (made["name"], made["problem"], made["told_until"]) == ("Few clicks", None, None)
    assert made["rule"] == ALERT | {"filters": {}}
    changed = ALERT | {"filters": {"country": ["DE"]}, "pauseHours": 48, "threshold": 2.5}
    path = f"/api/alerts/{made['id']}"
    shown = (await world.api.send("PUT", path, orjson.dumps({**sent, "rule": changed}))).json()
    assert (shown["rule"], shown["created_at"]) == (changed, made["created_at"])
    [listed] = (await world.api.get(f"/api/alerts?accountId={world.account.id}")).json()["rows"]
    assert listed == shown
    assert (await world.api.delete(path)).status == 200
    assert (await world.api.delete(path)).status == 404
    entries = (await world.api.get(f"/api/audit?accountId={world.account.id}")).json()["rows"]
    actions = [one["action"] for one in entries]
    assert actions == ["alert.deleted", "alert.changed", "alert.created"]
    assert list(entries[1]["changes"]) == ["rule"]


async def test_a_rule_that_could_tell_nothing_is_refused(world: World) -> None:
    webhook = await create_webhook(world.services, world.account.id)
    foreign = await create_webhook(world.services, world.other_account.id)
    link = await create_link(world.services, world.other_account.id, "b")
    hook, unknown = {"webhook_id": str(webhook.id)}, str(new_id())
    rows: list[dict[str, Any]] = [
        {"rule": ALERT | {"threshold": None}, "error": "rule.threshold: needed for below and"},
        {"rule": ALERT | {"condition": "halved"}, "error": "rule.threshold: needed for below and"},
        {"rule": ALERT | {"hours": 169}, "error": "rule.hours: must be a whole number <= 168"},
        {"rule": ALERT | {"measure": "luck"}, "error": "rule.measure: must be "},
        {"rule": ALERT | {"filters": {"domain": "!"}}, "error": "filters.domain: must be a"},
        {
            "rule": ALERT | {"filters": {"parameter:sub9": "x"}},
            "error": "filters.parameter:sub9: ",
        },
        {
            "rule": ALERT | {"filters": {"link": [str(link.id)]}},
            "error": "rule: the links of its filter are archived or deleted",
        },
        {"rule": ALERT, "webhook_id": unknown, "error": "webhook_id: not found"},
        {"rule": ALERT, "webhook_id": str(foreign.id), "error": "webhook_id: belongs to another"},
    ]
    for row in rows:
        fields = {"rule": row["rule"], "webhook_id": row.get("webhook_id", hook["webhook_id"])}
        refused = await world.api.post(
            "/api/alerts", accountId=str(world.account.id), name="x", **fields
        )
        assert refused.status in (400, 403, 404)
        assert refused.error.startswith(row["error"]), refused.error
    summary = {"every": "week", "groupBy": "weather"}
    refused = await world.api.post(
        "/api/summaries", accountId=str(world.account.id), name="x", rule=summary, **hook
    )
    assert refused.status == 400
    await world.services.webhooks.webhooks.change(webhook.id, {"active": False})
    refused = await world.api.post(
        "/api/alerts", accountId=str(world.account.id), name="x", rule=ALERT, **hook
    )
    assert refused.error == "rule: its webhook is inactive"


@pytest.mark.parametrize("path", ["/api/alerts", "/api/summaries"])
async def test_a_key_that_may_not_read_reports_makes_no_rule(world: World, path: str) -> None:
    webhook = await create_webhook(world.services, world.account.id)
    api = await world.api_with(["webhooks:write"])
    rule = ALERT if path.endswith("alerts") else {"every": "month"}
    sent = {"name": "x", "webhook_id": str(webhook.id), "rule": rule}
    refused = await api.post(path, accountId=str(world.account.id), **sent)
    assert (refused.status, refused.error) == (
        403,
        "rule: this API key lacks the scope reports:read",
    )
