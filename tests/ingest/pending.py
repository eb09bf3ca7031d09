"""Conversions whose click is not stored yet."""

from collections.abc import Sequence
from typing import Any

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ids import new_id
from tracker.ingest.record import Record
from tracker.service.services import Services

ACCOUNT = new_id()


CONFIG = {"account_id": ACCOUNT.bytes, "event_config_id": new_id().bytes, "value": "5"}


def pair(number: int = 1) -> tuple[Click, Conversion]:
    """Return a click of a German visitor, and an event of it."""
    click = make_click(ACCOUNT, address="193.99.144.80")
    return click, make_conversion(number, click.id, **CONFIG)


async def interposed(services: Services, own: Sequence[Record], others: Sequence[Record]) -> None:
    """Apply `others` with another drain when the first has planned its batch."""
    drain: Any = scene.drain_of(services)
    write = drain._writer.write
    left = [others]

    async def write_after_the_other(write_set: Any) -> None:
        if left:
            await scene.applied(services, left.pop())
        await write(write_set)

    drain._writer.write = write_after_the_other
    await drain.apply(own)
