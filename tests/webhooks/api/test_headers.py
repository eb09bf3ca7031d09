"""Own headers of a webhook reach its receiver, and nobody reads their values again."""

from typing import Any
from uuid import UUID

import pytest

from tests.web.each import each_case
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tests.webhooks.keys import KEY, use_keys
from tests.webhooks.receiver import Handler
from tests.webhooks.sending.scene import converted, listening, sending, the_one
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.service.services import Services
from tracker.stores.secret_box import PREFIX
from tracker.webhooks.headers import parsed_headers

PATH = "/api/webhooks"
TARGET = "https://8.8.8.8/hook"
SECRET = "s3cret-of-the-receiver"
HEADERS = {"Authorization": f"Bearer {SECRET}", "X-Event": "{event_id}"}


async def made(api: KeyedClient, account: Account, **fields: Any) -> str:
    sent = {"account_id": str(account.id), "target_url": TARGET, "headers": HEADERS, **fields}
    created = await api.post(PATH, **sent)
    assert created.status == 200, created.body
    assert SECRET not in created.body.decode()
    return f"{PATH}/{created.json()['id']}"


async def echo(handler: Handler) -> None:
    handler.finish("got " + handler.request.headers["Authorization"])


@pytest.mark.parametrize("method", ["POST", "GET"])
async def test_a_delivery_has_the_headers_with_their_macros_filled_which_are_stored_encrypted(
    services: Services, account: Account, method: str
) -> None:
    use_keys(services, KEY)
    async with listening(services, account.id) as (receiver, webhook), sending(services) as one:
        receiver.behaviour = echo
        await services.webhooks.webhooks.change(webhook.id, {"headers": HEADERS, "method": method})
        webhook_row = await services.stores.mongodb["webhooks"].find_one({"_id": webhook.id})
        assert webhook_row is not None
        assert webhook_row["headers"].startswith(PREFIX)
        assert "headers" in services.webhooks.webhooks.sealed_fields.fields
        [event_id] = await converted(services, account.id)
        await one.burst()
    [received] = receiver.received
    assert received.error == ""
    assert received.headers["authorization"] == f"Bearer {SECRET}"
    assert received.headers["x-event"] == str(event_id)
    row = await the_one(services)
    assert SECRET not in str((row, webhook_row))
    assert row["attempts"][0]["answer"] == "got Bearer …"


async def values(services: Services, path: str) -> dict[str, str]:
    webhooks = services.webhooks.webhooks
    webhook = await webhooks.find(UUID(path.rpartition("/")[2]))
    assert webhook is not None
    return parsed_headers(webhooks.with_readable_secrets(webhook, now()).headers)


async def test_no_answer_has_a_value_and_what_was_read_can_be_sent_back(world: World) -> None:
    path = await made(world.api, world.account)
    read = (await world.api.get(path)).json()["headers"]
    assert read == dict.fromkeys(HEADERS)
    listed = await world.api.get(f"{PATH}?accountId={world.account.id}")
    assert listed.json()["rows"][0]["headers"] == read
    rotated = await world.api.post(f"{path}/secret")
    assert rotated.json()["headers"] == read
    new = {**HEADERS, "X-New": "{value}"}
    for changes, kept in (
        ({"headers": {**read, "X-New": "{value}"}, "target_url": f"{TARGET}?a=1"}, new),
        ({"name": "Renamed"}, new),
        ({"headers": {"X-Event": None}}, {"X-Event": "{event_id}"}),
        ({"headers": {}}, {}),
    ):
        changed = await world.api.patch(path, **changes)
        assert changed.json()["headers"] == dict.fromkeys(kept)
        assert await values(world.services, path) == kept
        assert SECRET not in changed.body.decode()
    assert SECRET not in (listed.body + rotated.body).decode()
    unknown = await world.api.patch(path, headers={"X-Event": None})
    assert unknown.error == "headers.X-Event: has no stored value to keep; send one"


@each_case(
    "target",
    [
        *("https://8.8.4.4/hook", "http://8.8.8.8/hook", "https://8.8.8.8:8443/hook"),
        "https://8.8.8.8/hook/of/another/customer",
    ],
)
async def test_values_are_not_kept_for_another_receiver(world: World, target: str) -> None:
    path = await made(world.api, world.account)
    for fields in ({}, {"headers": dict.fromkeys(HEADERS)}, {"headers": {"X-Event": None}}):
        refused = await world.api.patch(path, target_url=target, **fields)
        assert (refused.status, refused.error) == (
            400,
            "headers: send their values again, as target_url has changed before its query",
        )
    assert (await world.api.get(path)).json()["target_url"] == TARGET
    headers = {"Authorization": "Bearer new"}
    assert (await world.api.patch(path, target_url=target, headers=headers)).status == 200
    assert await values(world.services, path) == headers


async def test_the_audit_log_names_headers_without_their_values(world: World) -> None:
    path = await made(world.api, world.account)
    for headers in (
        {"Authorization": "Bearer other-secret", "X-Event": None},
        {"Authorization": None, "X-Event": None},
        {"X-Event": None, "X-New": SECRET},
    ):
        assert (await world.api.patch(path, headers=headers)).status == 200
    logged = await world.api.get(f"/api/audit?accountId={world.account.id}")
    rows = logged.json()["rows"][::-1]
    assert [one["changes"] for one in rows] == [
        {},
        {
            "headers": {
                "before": "Authorization, X-Event",
                "after": "Authorization (set), X-Event",
            }
        },
        {"headers": {"before": "Authorization, X-Event", "after": "X-Event, X-New (set)"}},
    ]
    assert "secret" not in logged.body.decode().casefold().replace("secrets", "")


@pytest.mark.usefixtures("private_allowed")
async def test_a_test_shows_the_values_of_macros_and_hides_the_rest(world: World) -> None:
    async with listening(world.services, world.account.id) as (receiver, webhook):
        receiver.behaviour = echo
        await world.services.webhooks.webhooks.change(webhook.id, {"headers": HEADERS})
        tested = await world.api.post(f"{PATH}/{webhook.id}/test")
    assert tested.json()["headers"] == {"Authorization": "…", "X-Event": "0"}
    assert tested.json()["attempt"]["answer"] == "got Bearer …"
    assert receiver.received[0].headers["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in tested.body.decode()


async def test_a_preview_fills_the_headers_that_were_sent_with_it(world: World) -> None:
    sent = {"account_id": str(world.account.id), "payload_template": {}}
    headers = {"X-A": "v={value}", "Authorization": None}
    preview = await world.api.post(f"{PATH}/preview", **sent, headers=headers)
    assert preview.json()["headers"] == {"X-A": "v=19.99", "Authorization": None}
    refused = await world.api.post(f"{PATH}/preview", **sent, headers={"Host": "x"})
    assert refused.error == "headers.Host: is set by HTTP or by the service"
