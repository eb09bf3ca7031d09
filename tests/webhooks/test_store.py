"""Webhooks as MongoDB stores them, their secrets and their pages."""

import base64
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from tracker.clock import now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.filters import Filter
from tracker.webhooks.schedule import Disabled
from tracker.webhooks.store import Webhook

TARGET = "https://hooks.example/conversions"


async def make(services: Services, account_id: UUID | None = None, **fields: Any) -> Webhook:
    given: dict[str, Any] = {
        "name": "Sales",
        "target_url": TARGET,
        "method": "POST",
        "payload_template": {"id": "{click_id}"},
    }
    return await services.webhooks.webhooks.create(account_id or new_id(), **(given | fields))


async def test_each_webhook_has_its_own_secret_for_standard_webhooks(services: Services) -> None:
    secrets = {(await make(services)).secret for _ in range(5)}
    assert len(secrets) == 5
    for secret in secrets:
        assert secret.startswith("whsec_")
        assert len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) == 32


async def test_no_name_of_a_template_becomes_a_field_and_its_numbers_stay_exact(
    services: Services,
) -> None:
    template = {"$where": {"a.b": Decimal("1.10"), "": 2**64}, "_id": None}
    webhook = await make(services, payload_template=template)
    row: Any = await services.stores.mongodb["webhooks"].find_one({"_id": webhook.id})
    text = '{"$where":{"a.b":1.10,"":18446744073709551616},"_id":null}'
    assert row["payload_template"] == webhook.payload_template == text
    assert set(row) == {"_id", *Webhook.__struct_fields__} - {"id"}


async def test_a_filter_is_stored_without_what_filters_nothing(services: Services) -> None:
    webhook = await make(services, conversions=Filter(min_value=Decimal(2), sample=1.0))
    assert webhook.filter == '{"min_value":2}'


async def test_after_a_rotation_both_secrets_sign_for_a_day(services: Services) -> None:
    webhook, other = await make(services), await make(services)
    assert webhook.secrets(now()) == [webhook.secret]
    before = now()
    rotated = await services.webhooks.webhooks.rotate_secret(webhook.id)
    assert rotated is not None
    assert rotated == await services.webhooks.webhooks.find(webhook.id)
    until = rotated.previous_secret_until
    assert until is not None
    assert before + timedelta(days=1) <= until <= now() + timedelta(days=1)
    assert rotated.secret != webhook.secret
    moment = timedelta(milliseconds=1)
    assert rotated.secrets(until - moment) == [rotated.secret, webhook.secret]
    assert rotated.secrets(until) == [rotated.secret]
    assert await services.webhooks.webhooks.find(other.id) == other


async def test_a_page_is_read_by_its_index(services: Services) -> None:
    for collection in ("webhooks", "event_configs", "api_keys"):
        rows = services.stores.mongodb[collection]
        plan = await rows.find({"account_id": new_id()}).sort("_id", -1).explain()
        winner = str(plan["queryPlanner"]["winningPlan"])
        assert "'indexName': 'by_account'" in winner
        assert "SORT" not in winner


async def test_failing_since_stays_until_the_target_changes_or_the_webhook_is_active_again(
    services: Services,
) -> None:
    webhooks, first = services.webhooks.webhooks, now()
    made = await make(services)

    async def health() -> tuple[object, ...]:
        [found] = (await webhooks.find_all([made.id, new_id()])).values()
        return found.failing_since, found.active, found.disabled_reason, found.disabled_at

    assert not await webhooks.record_success(made.id)
    assert await webhooks.record_failure(made.id, first)
    assert not await webhooks.record_failure(made.id, first + timedelta(hours=1))
    assert await webhooks.disable(made, Disabled.FAILING, first)
    assert not await webhooks.disable(made, Disabled.GONE, now())
    for changes, failing_since in (({"name": "B"}, first), ({"target_url": f"{TARGET}/b"}, None)):
        await webhooks.change(made.id, changes)
        assert await health() == (failing_since, False, Disabled.FAILING, first)
    await webhooks.change(made.id, {"active": True})
    assert await health() == (None, True, None, None)
