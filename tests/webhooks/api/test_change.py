"""Changing, rotating, deleting and listing webhooks over HTTP, and access to them."""

from uuid import UUID

from tests.web.world import World
from tests.webhooks.api.webhooks import FIELDS, PATH, PRIVATE, TARGET, create
from tracker.clock import iso, now
from tracker.ids import new_id
from tracker.webhooks.store import ROTATION


async def test_a_change_rejects_null(world: World) -> None:
    made = (await create(world.api, world.account.id)).json()
    for name in ("name", "target_url", "method", "payload_template", "active"):
        response = await world.api.patch(f"{PATH}/{made['id']}", **{name: None})
        assert response.status == 400
        assert response.error.startswith(f"{name}: ")


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


async def test_a_rotated_secret_is_shown_once_with_the_end_of_the_previous_one(
    world: World,
) -> None:
    created = (await create(world.api, world.account.id)).json()
    target = f"{PATH}/{created['id']}"
    before = now()
    response = await world.api.post(f"{target}/secret")
    assert response.status == 200
    rotated = response.json()
    assert list(rotated) == [*FIELDS, "warnings", "secret", "previous_secret_until"]
    assert [rotated[name] for name in FIELDS] == [created[name] for name in FIELDS]
    assert rotated["secret"].startswith("whsec_")
    assert rotated["secret"] != created["secret"]
    assert iso(before + ROTATION) <= rotated["previous_secret_until"] <= iso(now() + ROTATION)
    webhook = await world.services.webhooks.webhooks.find(UUID(created["id"]))
    assert webhook is not None
    assert webhook.secrets(now()) == [rotated["secret"], created["secret"]]
    for shown in (
        await world.api.get(target),
        await world.api.get(f"{PATH}?accountId={world.account.id}"),
        await world.api.patch(target, name="Other"),
    ):
        assert b"secret" not in shown.body


async def test_a_deleted_webhook_is_gone(world: World) -> None:
    target = f"{PATH}/{(await create(world.api, world.account.id)).json()['id']}"
    response = await world.api.delete(target)
    assert (response.status, response.json()) == (200, {"success": True})
    for gone in (
        await world.api.delete(target),
        await world.api.get(target),
        await world.api.patch(target),
        await world.api.post(f"{target}/secret"),
    ):
        assert (gone.status, gone.error) == (404, "webhook: not found")
    assert (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()["rows"] == []


async def test_a_target_is_checked_before_access(world: World) -> None:
    response = await create(world.api, world.other_account.id, target_url="http://10.0.0.1/")
    assert (response.status, response.error) == (400, PRIVATE)
    response = await world.api.patch(f"{PATH}/{new_id()}", target_url="http://10.0.0.1/")
    assert (response.status, response.error) == (400, PRIVATE)
    assert (await world.api.patch(f"{PATH}/{new_id()}", target_url=TARGET)).status == 404
