"""Webhooks of ad platforms over HTTP: settings make target and template, and tests are no sales."""

import json
from typing import Any

import pytest

from tests.web.each import each_case
from tests.web.world import World
from tests.webhooks.api.webhooks import PATH, create
from tests.webhooks.presets.platforms import HEADERS, PLATFORMS, SETTINGS, platform
from tests.webhooks.receiver import receiving
from tracker.webhooks.delivery import Preset
from tracker.webhooks.presets.ads import expanded

META = {"preset": "meta", "settings": SETTINGS[Preset.META]}


async def test_settings_make_target_and_template_unless_those_are_given(world: World) -> None:
    fields = {"account_id": str(world.account.id), **META}
    made = (await world.api.post(PATH, **fields)).json()
    target = "https://graph.facebook.com/v25.0/77/events"
    assert (made["target_url"], made["settings"]) == (target, META["settings"])
    [event] = made["payload_template"]["data"]
    assert event["event_name"] == "Purchase"
    path = f"{PATH}/{made['id']}"
    changed = (
        await world.api.patch(path, settings={"pixel_id": "78", "event_name": "Lead"})
    ).json()
    assert changed["target_url"] == "https://graph.facebook.com/v25.0/78/events"
    assert changed["payload_template"]["data"][0]["event_name"] == "Lead"
    own = {"data": [{"event_id": "{event_id}"}]}
    fields = {"target_url": "https://8.8.8.8/x", "payload_template": own}
    made = (await create(world.api, world.account.id, **META, **fields)).json()
    assert (made["target_url"], made["payload_template"]) == ("https://8.8.8.8/x", own)
    same = (await world.api.patch(f"{PATH}/{made['id']}", name="n", **META)).json()
    assert (same["name"], same["payload_template"]) == ("n", own)
    cleared = (await world.api.patch(f"{PATH}/{made['id']}", preset=None)).json()
    assert (cleared["preset"], cleared["settings"]) == (None, {})
    google = expanded(Preset.GOOGLE, SETTINGS[Preset.GOOGLE])["payload_template"]
    assert google["destinations"][0]["loginAccount"]["accountId"] == "123"


@each_case(
    "fields, error",
    [
        ({"settings": {"pixel_id": "7"}}, "settings.event_name: required"),
        ({"settings": {"a": "7"}}, "settings.a: unknown field; known: pixel_id event_name test_"),
        (
            {"settings": {"pixel_id": "7/../8", "event_name": "x"}},
            "settings.pixel_id: 1 to 64 letters",
        ),
        ({"preset": "slack"}, "settings: only with google meta microsoft tiktok"),
        ({"method": "PUT"}, "method: meta takes POST"),
        ({"events": ["conversion", "conversion.updated"]}, "events: meta takes conversion"),
        ({"events": ["webhook.disabled"]}, "events: meta takes conversion"),
        ({"filter": {"statuses": ["rejected"]}}, "filter.statuses: meta takes approved"),
        ({"payload_template": {"data": []}}, "payload_template: meta needs data, a list of one"),
        (
            {
                "preset": "google",
                "settings": SETTINGS[Preset.GOOGLE],
                "events": ["conversion.updated"],
            },
            "filter.statuses: google takes approved and refunded",
        ),
    ],
)
async def test_what_a_platform_does_not_take_is_refused(
    world: World, fields: dict[str, Any], error: str
) -> None:
    refused = await create(world.api, world.account.id, **{**META, **fields})
    assert (refused.status, refused.error[: len(error)]) == (400, error)


async def test_a_platform_needs_a_target_only_without_settings(world: World) -> None:
    refused = await world.api.post(PATH, account_id=str(world.account.id))
    assert (refused.status, refused.error) == (400, "target_url: required")
    made = (await create(world.api, world.account.id)).json()
    refused = await world.api.patch(f"{PATH}/{made['id']}", preset="meta")
    assert (refused.status, refused.error) == (400, "settings.pixel_id: required")


@pytest.mark.usefixtures("private_allowed")
async def test_a_test_is_one_for_the_platform_too(world: World) -> None:
    code = {"test_event_code": "TEST1"}
    marks: dict[Preset, dict[str, Any]] = {}
    marks |= {Preset.META: code, Preset.TIKTOK: code, Preset.GOOGLE: {"validateOnly": True}}
    for preset in PLATFORMS:
        async with receiving() as receiver:
            receiver.behaviour = platform(preset)
            fields = {"target_url": receiver.url, "headers": HEADERS[preset], "preset": preset}
            made = (
                await create(world.api, world.account.id, settings=SETTINGS[preset], **fields)
            ).json()
            receiver.secret = made["secret"]
            path = f"{PATH}/{made['id']}"
            if marks.get(preset) is code:
                refused = await world.api.post(f"{path}/test")
                assert refused.error == f"settings.test_event_code: {preset} needs it for a test"
                settings = SETTINGS[preset] | code
                fields = {"settings": settings, "target_url": receiver.url}
                await world.api.patch(path, **fields)
            tested = await world.api.post(f"{path}/test")
            if preset not in marks:
                assert tested.error == f"preset: {preset} has no tests, and would count this one"
                assert receiver.received == []
                continue
            assert tested.json()["delivered"] is True
            [sent] = receiver.received
            assert json.loads(sent.body).items() >= marks[preset].items()
