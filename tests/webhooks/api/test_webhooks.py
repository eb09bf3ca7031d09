"""Webhooks over HTTP: created, changed and deleted, and secrets that are shown once."""

from typing import Any
from uuid import UUID

from tests.factories import create_event_config, create_link
from tests.web.each import each_case
from tests.web.world import World
from tests.webhooks.api.webhooks import FIELDS, PATH, PRIVATE, TARGET, create
from tracker.clock import iso, now
from tracker.ids import new_id
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


async def test_the_events_of_a_webhook_are_stored_and_can_be_changed(world: World) -> None:
    events = ["delivery.failed", "webhook.disabled", "delivery.failed"]
    made = (await create(world.api, world.account.id, events=events)).json()
    assert made["events"] == ["webhook.disabled", "delivery.failed"]
    assert (await create(world.api, world.account.id)).json()["events"] == ["conversion"]
    path = f"{PATH}/{made['id']}"
    assert (await world.api.patch(path, name="n")).json()["events"] == made["events"]
    assert (await world.api.patch(path, events=["conversion"])).json()["events"] == ["conversion"]
    sent = ["conversion.updated", "conversion.recorded"]
    shown = (await world.api.patch(path, events=sent)).json()["events"]
    assert shown == ["conversion", "conversion.updated"]
    refused = await world.api.patch(path, events=["conversion", "click"])
    assert (refused.status, refused.error[:9]) == (400, "events[1]")


@each_case(
    "fields, error",
    [
        ({"target_url": ""}, "target_url: must be an absolute http or https URL"),
        ({"target_url": "https://{slug}.example/"}, "target_url: the host must be"),
        ({"target_url": "http://127.0.0.1:6379/"}, PRIVATE),
        ({"events": []}, "events: "),
        ({"events": ["click"]}, "events[0]: must be alert.fired or "),
        ({"filter": {"statuses": ["paid"]}}, "filter.statuses[0]: must be approved"),
        ({"filter": {"tags": ["x"]}}, "filter.tags[0]: "),
        ({"filter": {"tags": [str(UUID(int=1))] * 101}}, "filter.tags: "),
        ({"filter": {"min_value": -1}}, "filter.min_value: must be from 0"),
        ({"filter": {"status": []}}, "filter.status: unknown field"),
        ({"name": ""}, "name: 1 to 255 characters"),
        ({"method": "DELETE"}, "method: "),
        ({"headers": {"Host": "x"}}, "headers.Host: is set by HTTP or by the service"),
        ({"headers": None}, "headers: must be an object"),
        ({"payload_template": []}, "payload_template: must be an object"),
        (
            {"payload_template": {"a": "{clickid}"}},
            "payload_template: unknown macro {clickid} (did you mean {click_id}?); known",
        ),
    ],
)
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


async def test_a_filter_is_stored_exactly_and_replaced_as_a_whole(world: World) -> None:
    account_id = world.account.id
    config_id = str((await create_event_config(world.services, account_id)).id)
    tag = await world.services.links.tags.create(account_id, "t")
    sent = {
        "statuses": ["rejected"],
        "event_config_ids": [config_id],
        "tags": [str(tag.id)],
        "links": [str((await create_link(world.services, account_id)).id)],
        "min_value": 0.1,
        "sample": 0.5,
        "bots": True,
    }
    none: dict[str, Any] = {
        **{name: [] for name in ("statuses", "event_config_ids", "tags", "links")},
        "min_value": None,
        "sample": 1.0,
        "bots": False,
    }
    made = (await create(world.api, account_id, filter=sent)).json()
    assert made["filter"] == sent
    path = f"{PATH}/{made['id']}"
    await world.services.links.tags.delete(tag.id)
    assert (await world.api.patch(path, filter=sent)).json()["filter"] == sent
    changed = await world.api.patch(path, filter={"min_value": 2})
    assert changed.json()["filter"] == {**none, "min_value": 2}
    assert (await world.api.patch(path, name="n")).json()["filter"] == {**none, "min_value": 2}
    assert (await world.api.patch(path, filter=None)).json()["filter"] == none
    assert (await create(world.api, account_id)).json()["filter"] == none


async def test_a_filter_names_only_what_the_account_has(world: World) -> None:
    other = await create_event_config(world.services, new_id())
    for name, known, status in (
        ("event_config_ids", other.id, 403),
        ("event_config_ids", new_id(), 404),
        ("tags", new_id(), 404),
        ("links", new_id(), 404),
    ):
        refused = await create(world.api, world.account.id, filter={name: [str(known)]})
        assert (refused.status, refused.error.partition(": ")[0]) == (status, f"filter.{name}")


async def test_a_template_is_kept_as_it_was_sent_and_a_name_without_its_spaces(
    world: World,
) -> None:
    template = '{"a":1.10,"b":18446744073709551616,"c":-0.0,"$set":["{value}",null]}'
    fields = f'"accountId":"{world.account.id}","target_url":"{TARGET}","name":" Sales "'
    body = f'{{{fields},"payload_template":{template}}}'
    created = await world.api.send("POST", PATH, body.encode())
    shown = await world.api.get(f"{PATH}/{created.json()['id']}")
    for response in (created, shown):
        assert response.json()["name"] == "Sales"
        assert f'"payload_template":{template}'.encode() in response.body


async def test_each_field_changes_alone(world: World) -> None:
    shown = (await create(world.api, world.account.id)).json()
    del shown["secret"]
    target = f"{PATH}/{shown['id']}"
    for name, value in (
        ("name", "Leads"),
        ("target_url", "https://1.1.1.1/"),
        *(("method", method) for method in ("GET", "PUT", "PATCH", "POST")),
        ("payload_template", {"v": "{value}"}),
        ("active", False),
    ):
        response = await world.api.patch(target, **{name: value})
        shown[name] = value
        assert (response.status, response.json()) == (200, shown)
        assert (await world.api.get(target)).json() == shown
    assert (await world.api.patch(target)).json() == shown


async def test_a_rotated_secret_is_shown_once_and_no_secret_of_a_deleted_webhook(
    world: World,
) -> None:
    created = (await create(world.api, world.account.id)).json()
    target = f"{PATH}/{created['id']}"
    rotated = (await world.api.post(f"{target}/secret")).json()
    assert list(rotated) == [*FIELDS, "warnings", "secret", "previous_secret_until"]
    assert [rotated[name] for name in FIELDS] == [created[name] for name in FIELDS]
    webhook = await world.services.webhooks.webhooks.find(UUID(created["id"]))
    assert webhook is not None
    assert webhook.previous_secret_until is not None
    assert webhook.secrets(now()) == [rotated["secret"], created["secret"]]
    assert rotated["previous_secret_until"] == iso(webhook.previous_secret_until)
    listed = f"{PATH}?accountId={world.account.id}"
    for shown in (
        await world.api.get(target),
        await world.api.get(listed),
        await world.api.patch(target, name="Other"),
    ):
        assert b"secret" not in shown.body
    assert (await world.api.delete(target)).json() == {"success": True}
    assert (await world.api.post(f"{target}/secret")).status == 404
    assert (await world.api.get(listed)).json()["rows"] == []
