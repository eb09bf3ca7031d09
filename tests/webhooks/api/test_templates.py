"""Previews of payload templates, and the list of their macros."""

import json
from typing import Any
from urllib.parse import parse_qsl

from tests.factories import create_webhook
from tests.web.client import Response
from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.webhooks.delivery import Kind
from tracker.webhooks.macros import ALL_MACROS
from tracker.webhooks.payloads.sample import sample_content
from tracker.webhooks.payloads.template import DEFAULT

TARGET = "https://8.8.8.8/hook"
TIMES = ("conversion_timestamp", "click_timestamp")
CHANGING = ("click_id", "link_id", *TIMES, *(f"{name}_unix" for name in TIMES))


async def preview(api: KeyedClient, account: Account, template: Any, **fields: Any) -> Response:
    sent = {"accountId": str(account.id), "payload_template": template, **fields}
    return await api.post("/api/webhooks/preview", **sent)


async def test_a_preview_is_what_a_test_of_a_webhook_sends(world: World) -> None:
    template = {**DEFAULT, "plan": "{metadata.sample}", "note": "from {query.utm_source}, {x y}"}
    response = await preview(world.api, world.account, template)
    assert response.status == 200, response.body
    shown = json.loads(response.json()["payload"])
    webhook = await create_webhook(world.services, world.account.id)
    kind = Kind.CONVERSION_UPDATED
    sent = json.loads(sample_content(webhook, kind, world.services.public_url.host).payload)
    assert (shown.pop("plan"), shown.pop("note")) == (True, "from sample, {x y}")
    assert shown["click_id"] != sent["click_id"]
    assert [len(shown[name]) for name in TIMES] == [24, 24]
    for name in CHANGING:
        del shown[name], sent[name]
    assert shown == sent
    assert shown["account_id"] == str(world.account.id)


async def test_a_preview_for_get_is_the_query(world: World) -> None:
    template = {"amount": "{value}", "to": "{country}/{device}", "none": None}
    target = "https://a.example/{country|lower}?m={metadata}"
    fields = {"method": "GET", "target_url": target}
    shown = (await preview(world.api, world.account, template, **fields)).json()
    assert shown["url"] == "https://a.example/de?m=%7B%22sample%22%3Atrue%7D"
    assert parse_qsl(shown["payload"], keep_blank_values=True) == [
        ("amount", "19.99"),
        ("to", "DE/desktop"),
        ("none", ""),
    ]


@each_case("template", [{"a": "{clik_id}"}, {"a": "x" * 20_000}, None, [], "text"])
async def test_a_preview_refuses_what_a_new_webhook_refuses(world: World, template: Any) -> None:
    shown = await preview(world.api, world.account, template)
    created = await world.api.post(
        "/api/webhooks",
        account_id=str(world.account.id),
        target_url=TARGET,
        payload_template=template,
    )
    if isinstance(template, dict):
        assert (shown.status, shown.error) == (created.status, created.error)
    assert shown.status == 400
    assert shown.error.startswith("payload_template: ")


async def test_every_macro_is_listed_with_its_meaning_and_an_example(world: World) -> None:
    listed = await world.api.get(f"/api/webhooks/macros?accountId={world.account.id}")
    rows = listed.json()["rows"]
    assert [row["name"] for row in rows] == [*ALL_MACROS]
    by_name = {row["name"]: row for row in rows}
    assert by_name["slug"] == {
        "name": "slug",
        "description": "slug of the short link",
        "example": "sample",
    }
    assert by_name["tags"]["example"] == '["sample"]'
    assert by_name["metadata.<key>"]["example"] == "true"
    assert all(row["description"] and row["example"] for row in rows)
