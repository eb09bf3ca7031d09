"""With SECRET_KEY secrets are encrypted in MongoDB, and unreadable ones lose no delivery."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.factories import create_webhook
from tests.webhooks.keys import KEY, NEW_KEY, use_keys
from tests.webhooks.receiver import Receiver, receiving
from tests.webhooks.sending.scene import Clock, converted, listening, sending, stored, webhook_now
from tracker import metrics
from tracker.clock import now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb.reseal import count_secrets, rewrite_secrets
from tracker.stores.secret_box import PREFIX, Purpose, SecretBox, UnreadableSecret
from tracker.webhooks.sending.postponed import PAUSE_MS
from tracker.webhooks.store import Webhook

ACCOUNT = new_id()


async def row_of(services: Services, webhook: Webhook) -> dict[str, Any]:
    row = await services.stores.mongodb["webhooks"].find_one({"_id": webhook.id})
    assert row is not None
    return dict(row)


@asynccontextmanager
async def listening_encrypted(services: Services) -> AsyncIterator[tuple[Receiver, Webhook]]:
    use_keys(services, KEY)
    async with listening(services, ACCOUNT) as (receiver, webhook):
        yield receiver, webhook


async def test_a_rotation_encrypts_the_new_secret_and_both_sign(services: Services) -> None:
    async with listening_encrypted(services) as (receiver, webhook), sending(services) as one:
        rotated = await services.webhooks.webhooks.rotate_secret(webhook.id)
        assert rotated is not None
        row = await row_of(services, webhook)
        for secret in (webhook.secret, rotated.secret):
            assert secret.startswith("whsec_")
            assert row["secret"].startswith(PREFIX)
            assert secret not in str(row)
            receiver.secret = secret
            await converted(services, ACCOUNT)
            assert await one.burst() == 1
    assert [received.error for received in receiver.received] == ["", ""]


@pytest.mark.parametrize("keys", [(), (NEW_KEY,)], ids=["missing", "wrong"])
async def test_without_the_right_key_deliveries_stay_due_and_it_is_logged_once_a_minute(
    services: Services, caplog: pytest.LogCaptureFixture, keys: tuple[bytes, ...]
) -> None:
    clock, other = Clock(), new_id()
    before = metrics.WEBHOOKS_POSTPONED._value.get()
    async with listening_encrypted(services) as (receiver, _), receiving() as fine:
        use_keys(services, *keys)
        webhook = await create_webhook(services, other, f"{fine.url}/hook")
        fine.secret = webhook.secret
        async with sending(services, clock) as one:
            await converted(services, ACCOUNT, 3)
            await converted(services, other, 2)
            while await one.burst():
                pass
            assert (len(receiver.received), len(fine.received)) == (0, 2)
            for _ in range(3):
                clock.pass_seconds(10)
                assert await one.burst() == 0
            lines: list[Any] = [one.msg for one in caplog.records if one.levelname == "ERROR"]
            assert [line["event"].partition(":")[0] for line in lines] == [
                "webhook secrets cannot be read"
            ]
            clock.pass_seconds(PAUSE_MS / 1000)
            assert await one.burst() == 0
            assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 2
        rows = [row for row in await stored(services) if row["account_id"] == ACCOUNT]
        assert {row["status"] for row in rows} == {"due"}
        assert all(row["attempts"] == [] and "holder" not in row for row in rows)
        assert metrics.WEBHOOKS_POSTPONED._value.get() == before + 2
        use_keys(services, *keys, KEY)
        async with sending(services, clock) as one:
            assert await one.burst() == 3
    assert {received.error for received in receiver.received} == {""}


async def test_secrets_are_rewritten_with_the_first_key_or_plain_and_stay_readable(
    services: Services,
) -> None:
    plain = await create_webhook(services, ACCOUNT)
    use_keys(services, KEY)
    older = await create_webhook(services, ACCOUNT)
    assert await services.webhooks.webhooks.rotate_secret(older.id)
    use_keys(services, NEW_KEY, KEY)
    newest = await create_webhook(services, ACCOUNT)
    webhooks, database = services.webhooks.webhooks, services.stores.mongodb.database
    sealed = webhooks.sealed_fields
    box = sealed.box
    assert await count_secrets(database, sealed) == {"plain": 1, "older_key": 2, "key": 1}
    assert await rewrite_secrets(database, sealed, box.seal) == {"rewritten": 3}
    assert await count_secrets(database, sealed) == {"key": 4}
    for made in (plain, newest):
        found = await webhook_now(services, made)
        assert webhooks.with_readable_secrets(found, now()).secret == made.secret
    use_keys(services, KEY)
    assert await rewrite_secrets(database, services.webhooks.webhooks.sealed_fields, box.seal) == {
        "unreadable": 3
    }
    assert await count_secrets(database, services.webhooks.webhooks.sealed_fields) == {
        "unreadable": 4
    }
    with pytest.raises(UnreadableSecret):
        services.webhooks.webhooks.with_readable_secrets(found, now())
    assert await rewrite_secrets(database, sealed, lambda _, secret: secret) == {"rewritten": 3}
    assert await count_secrets(database, sealed) == {"plain": 4}
    assert (await row_of(services, older))["previous_secret"] == older.secret


async def test_a_secret_that_changes_meanwhile_is_left_to_the_next_run(services: Services) -> None:
    made = await create_webhook(services, ACCOUNT)
    box = SecretBox([KEY], Purpose.WEBHOOK)
    collection = services.stores.mongodb.client.delegate[services.settings.mongodb_database][
        "webhooks"
    ]

    def seal_late(webhook_id: Any, secret: str) -> str:
        collection.update_one({"_id": made.id}, {"$set": {"secret": "whsec_new"}})
        return box.seal(webhook_id, secret)

    assert await rewrite_secrets(
        services.stores.mongodb.database, services.webhooks.webhooks.sealed_fields, seal_late
    ) == {"changed": 1}
    assert (await row_of(services, made))["secret"] == "whsec_new"
