"""Creating webhooks over HTTP: every rule, the answer, and the secret that is shown once."""

from typing import Any, Literal
from uuid import UUID

import msgspec
import pytest

from tests.dns.dns_server import DnsServer
from tests.web.each import each_case
from tests.web.world import World
from tests.webhooks.api.webhooks import FIELDS, PATH, PRIVATE, TARGET, create
from tracker.clock import iso, now
from tracker.webhooks.payloads.template import DEFAULT


async def test_the_required_fields_are_enough_to_create_a_webhook(world: World) -> None:
    before = now()
    response = await create(world.api, world.account.id)
    assert response.status == 200
    webhook = response.json()
    assert list(webhook) == [*FIELDS, "warnings", "secret"]
    assert webhook["id"] == str(UUID(webhook["id"]))
    assert (webhook["account_id"], webhook["name"]) == (str(world.account.id), "8.8.8.8")
    assert (webhook["target_url"], webhook["method"]) == (TARGET, "POST")
    assert webhook["payload_template"] == DEFAULT
    assert webhook["active"] is True
    assert iso(before) <= webhook["created_at"] <= iso(now())
    assert webhook["secret"].startswith("whsec_")


async def test_every_field_of_a_new_webhook_is_stored(world: World) -> None:
    template = {
        "click": "{click_id}",
        "nested": {"list": ["{value}", 1, None, "at {conversion_timestamp}"]},
        "$set": "{metadata.order id}",
        "a.b": "{query.utm_source}",
        "": {},
    }
    webhook = (
        await create(
            world.api, world.account.id, name=" Sales ", method="POST", payload_template=template
        )
    ).json()
    assert (webhook["name"], webhook["payload_template"]) == ("Sales", template)


@pytest.mark.parametrize(
    ("env", "allow_http", "taken"),
    [("development", False, True), ("production", True, True), ("production", False, False)],
)
async def test_in_production_a_target_without_https_needs_a_setting(
    world: World,
    env: Literal["development", "production"],
    allow_http: bool,
    taken: bool,
) -> None:
    before = world.services.webhooks
    made = (await create(world.api, world.account.id)).json()["id"]
    settings = msgspec.structs.replace(
        world.services.settings, env=env, webhook_allow_http=allow_http
    )
    world.services.webhooks = before._replace(allows_http=settings.http_targets_allowed)
    created = await create(world.api, world.account.id, target_url="HTTP://8.8.8.8/")
    changed = await world.api.patch(f"{PATH}/{made}", target_url="http://8.8.8.8/")
    encrypted = await create(world.api, world.account.id, target_url="HTTPS://8.8.8.8/")
    world.services.webhooks = before
    assert encrypted.status == 200
    for response in (created, changed):
        assert (response.status == 200) == taken
        assert taken or response.error.startswith("target_url: must be https")


async def test_the_events_of_a_webhook_are_stored_and_can_be_changed(world: World) -> None:
    events = ["delivery.failed", "webhook.disabled", "delivery.failed"]
    made = (await create(world.api, world.account.id, events=events)).json()
    assert made["events"] == ["webhook.disabled", "delivery.failed"]
    assert (await create(world.api, world.account.id)).json()["events"] == ["conversion"]
    path = f"{PATH}/{made['id']}"
    assert (await world.api.patch(path, name="n")).json()["events"] == made["events"]
    assert (await world.api.patch(path, events=["conversion"])).json()["events"] == ["conversion"]
    refused = await world.api.patch(path, events=["conversion", "click"])
    assert (refused.status, refused.error[:9]) == (400, "events[1]")


async def test_a_webhook_stored_without_events_is_notified_of_conversions(world: World) -> None:
    made = (await create(world.api, world.account.id)).json()
    old = {"$unset": {"events": "", "disabled_at": ""}}
    await world.services.stores.mongodb["webhooks"].update_one({"_id": UUID(made["id"])}, old)
    shown = (await world.api.get(f"{PATH}/{made['id']}")).json()
    assert (shown["events"], shown["disabled_at"]) == (["conversion"], None)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://8.8.8.8:8443/a?b=c", "8.8.8.8"),
        ("https://[2606:4700:4700::1111]/", "2606:4700:4700::1111"),
        ("http://Hooks.Invalid./x", "hooks.invalid"),
        ("https://b\u00fccher.invalid", "xn--bcher-kva.invalid"),
    ],
)
async def test_a_webhook_is_named_after_the_host_of_its_target(
    world: World, names: DnsServer, url: str, name: str
) -> None:
    names.has(name, "A", "8.8.8.8")
    webhook = (await create(world.api, world.account.id, target_url=url, name=None)).json()
    assert (webhook["name"], webhook["target_url"]) == (name, url)


async def test_numbers_in_a_template_are_returned_with_all_digits(world: World) -> None:
    template = '{"a":1.10,"b":18446744073709551616,"c":-0.0}'
    account = f'"accountId":"{world.account.id}"'
    body = f'{{{account},"target_url":"{TARGET}","payload_template":{template}}}'
    created = await world.api.send("POST", PATH, body.encode())
    shown = await world.api.get(f"{PATH}/{created.json()['id']}")
    for response in (created, shown):
        assert f'"payload_template":{template}'.encode() in response.body


BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"target_url": None}, "target_url: must be text"),
    ({"target_url": ""}, "target_url: must be an absolute http or https URL"),
    ({"target_url": "https://{slug}.example/"}, "target_url: the host must be"),
    ({"target_url": "http://127.0.0.1:6379/"}, PRIVATE),
    ({"events": []}, "events: "),
    ({"events": ["click"]}, "events[0]: must be conversion or "),
    ({"events": "conversion"}, "events: "),
    ({"name": ""}, "name: 1 to 255 characters"),
    ({"name": 7}, "name: must be text"),
    ({"method": "DELETE"}, "method: "),
    ({"method": None}, "method: "),
    ({"payload_template": []}, "payload_template: must be an object"),
    (
        {"payload_template": {"a": "{clickid}"}},
        "payload_template: unknown macro {clickid} (did you mean {click_id}?); known",
    ),
    ({"payload_template": {"a": "\0"}}, "body: no null characters"),
    ({"secret": "whsec_mine"}, "secret: unknown field"),
    ({"url": "x"}, "url: unknown field"),
]


@each_case("fields, error", BROKEN)
async def test_a_broken_rule_is_named_with_its_field(
    world: World, fields: dict[str, Any], error: str
) -> None:
    webhooks = world.services.webhooks.webhooks
    if not (await webhooks.page(world.account.id, 1, 25))[1]:
        await create(world.api, world.account.id)
    [before], _ = await webhooks.page(world.account.id, 1, 25)
    for response in (
        await create(world.api, world.account.id, **fields),
        await world.api.patch(f"{PATH}/{before.id}", **fields),
    ):
        assert response.status == 400
        assert response.error.startswith(error)
    assert await webhooks.page(world.account.id, 1, 25) == ([before], 1)


@each_case(
    "body, error",
    [
        (b'{"target_url":"https://8.8.8.8"}', "account_id: required"),
        (b'{"account_id":"ID"}', "target_url: required"),
        (b'{"account_id":"x","target_url":"https://8.8.8.8"}', "account_id: must be a UUID"),
        (b'{"account_id":"ID","account_id":"ID"}', "body: the name 'account_id' is repeated"),
        (b'{"payload_template":{"a":1,"a":2}}', "body: the name 'a' is repeated"),
    ],
)
async def test_a_body_that_lacks_or_repeats_a_field_is_rejected(
    world: World, body: bytes, error: str
) -> None:
    response = await world.api.send(
        "POST", PATH, body.replace(b"ID", str(world.account.id).encode())
    )
    assert response.status == 400
    assert response.error.startswith(error)


@pytest.mark.usefixtures("private_allowed")
async def test_the_operator_may_allow_private_networks(world: World) -> None:
    made = await create(world.api, world.account.id, target_url="http://127.0.0.1:9000/")
    assert made.status == 200
    changed = await world.api.patch(f"{PATH}/{made.json()['id']}", target_url="http://localhost/")
    assert changed.status == 200
