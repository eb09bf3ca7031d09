"""What a network reports, and a person corrects, arrives at webhooks as a drain stores it."""

import json
from uuid import UUID

import pytest

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_conversion
from tests.webhooks.receiver import Receiver
from tests.webhooks.sending.scene import listening, sending
from tests.webhooks.telling import ask
from tracker.conversions.conversion import Conversion, Correction, Report
from tracker.conversions.corrections.status import click_key
from tracker.ids import new_id
from tracker.ingest.record import Record
from tracker.service.services import Services
from tracker.webhooks.store import Webhook

ACCOUNT, CONFIG = new_id(), new_id()
CLICK = make_click(ACCOUNT)
BOTH = ("conversion", "conversion.updated")
NAMES = ("status", "value", "previous_status", "previous_value", "reason", "transaction_id")


def report(number: int, status: str, value: str = "12.50") -> Conversion:
    return make_conversion(
        6 * 10**12 + number,
        CLICK.id,
        at=AT_MS + number,
        account_id=ACCOUNT.bytes,
        event_config_id=CONFIG.bytes,
        value=value,
        transaction_id=click_key(UUID(bytes=CLICK.id)),
        transaction_scope=CONFIG.bytes,
        report=Report(reported=status, on_repeat="update"),
    )


CORRECTION = Correction(
    id=new_id().bytes,
    at=AT_MS + 900,
    account_id=ACCOUNT.bytes,
    event_id=6 * 10**12 + 1,
    stated='{"reported":"rejected"}',
    actor="person:1",
    reason="fraud",
)
RECORDS = [report(1, "pending"), report(2, "approved", "20"), CORRECTION]


async def point(services: Services, webhook: Webhook, *events: str) -> None:
    template = {name: f"{{{name}}}" for name in NAMES}
    await services.webhooks.webhooks.change(webhook.id, {"payload_template": template})
    await ask(services, webhook.id, *events)


def arrived(receiver: Receiver) -> list[list[object]]:
    bodies = [json.loads(one.body) for one in receiver.received]
    return [[one[name] for name in NAMES] for one in bodies]


FIRST = ["pending", 12.5, None, None, None, None]
APPROVED = ["approved", 20, "pending", 12.5, None, None]
REJECTED = ["rejected", 20, "approved", 20, "fraud", None]


@pytest.mark.parametrize(
    ("batches", "steps", "of_today"),
    [
        (
            [[CLICK, RECORDS[0]], [RECORDS[1]], [RECORDS[2]]],
            [FIRST, APPROVED, REJECTED],
            [["approved", 20, None, None, None, None]],
        ),
        (
            [[CLICK, RECORDS[0]], [RECORDS[1], RECORDS[2]]],
            [FIRST, ["rejected", 20, "pending", 12.5, "fraud", None]],
            [],
        ),
        ([[CLICK, RECORDS[0], RECORDS[0]], [RECORDS[0]]], [FIRST], []),
        (  # the click comes last
            [[RECORDS[0]], [RECORDS[1]], [CLICK], [RECORDS[2]]],
            [["approved", 20, None, None, None, None], REJECTED],
            [["approved", 20, None, None, None, None]],
        ),
    ],
)
async def test_reports_and_corrections_arrive_as_steps_in_their_order(
    services: Services,
    batches: list[list[Record]],
    steps: list[list[object]],
    of_today: list[list[object]],
) -> None:
    async with (
        listening(services, ACCOUNT) as (receiver, webhook),
        listening(services, ACCOUNT) as (old_receiver, old),
        sending(services) as one,
    ):
        await point(services, webhook, *BOTH)
        await point(services, old, "conversion")
        for batch in batches:
            await scene.applied(services, batch)
        await one.burst()
    assert arrived(receiver) == steps
    assert arrived(old_receiver) == of_today
