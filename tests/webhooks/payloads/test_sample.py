"""The sample event is one that no receiver can take for a real one."""

import json

from tests.factories import create_webhook
from tests.webhooks.sending.scene import webhook_now
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.webhooks.payloads.sample import sample_content


async def test_the_sample_has_an_id_that_no_event_has(services: Services) -> None:
    webhook = await create_webhook(services, new_id())
    payload = sample_content(await webhook_now(services, webhook), "tracker.test").payload
    assert json.loads(payload)["event_id"] == 0
    assert await services.conversions.event_ids.next() > 0
