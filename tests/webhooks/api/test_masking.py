"""Targets and templates may hold secrets: who may not write webhooks does not read them."""

import pytest

from tests.web.world import World
from tests.webhooks.api.webhooks import PATH, create
from tests.webhooks.sending.scene import converted, listening, sending
from tracker.access.roles import SCOPES_OF, Role

SECRET = "s3cret-of-the-receiver"
TEMPLATE = {
    "token": SECRET,
    "id": "{click_id}",
    "list": [f"Bearer {SECRET} {{value|text}}", 4711, True, None],
}


@pytest.mark.usefixtures("private_allowed")
async def test_readers_see_only_the_origin_of_a_target_and_the_macros_of_a_template(
    world: World,
) -> None:
    async with (
        listening(world.services, world.account.id) as (receiver, webhook),
        sending(world.services) as one,
    ):
        path, target = f"{PATH}/{webhook.id}", f"{receiver.url}/{SECRET}?key={SECRET}&n={{value}}"
        fields = {"target_url": target, "payload_template": TEMPLATE}
        assert (await world.api.patch(path, **fields)).status == 200
        await converted(world.services, world.account.id)
        await one.burst()
    reader = await world.api_with(SCOPES_OF[Role.VIEWER])
    listed = await reader.get(f"{PATH}?accountId={world.account.id}")
    shown, deliveries = await reader.get(path), await reader.get(f"{path}/deliveries")
    assert SECRET not in (listed.body + shown.body + deliveries.body).decode()
    for record in (listed.json()["rows"][0], shown.json()):
        assert record["target_url"] == f"{receiver.url}/…"
        assert record["payload_template"] == {
            "token": "…",
            "id": "{click_id}",
            "list": ["…{value|text}", "…", True, None],
        }
    [delivery] = deliveries.json()["rows"]
    assert (delivery["payload"], delivery["url"]) == (None, f"{receiver.url}/…")
    whole = (await world.api.get(path)).json()
    assert (whole["target_url"], whole["payload_template"]) == (target, TEMPLATE)


async def test_a_target_without_path_and_query_is_shown(world: World) -> None:
    reader = await world.api_with(["webhooks:read"])
    for target in ("https://8.8.8.8", "https://8.8.8.8/"):
        made = (await create(world.api, world.account.id, target_url=target)).json()
        assert (await reader.get(f"{PATH}/{made['id']}")).json()["target_url"] == target
