"""A transaction id counts once in its scope, and an id of an event is that of one event.

Batches in any order are in `test_exactly_once`; here drains get the events at the same moment.
"""

import asyncio
from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import make_click, make_conversion
from tests.ingest import ledger
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.conversions.document import EventIdTaken
from tracker.ids import new_id
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis

ACCOUNT = new_id()


def of_account(number: int, click: Click, text: str, **fields: Any) -> Conversion:
    """Return an event that was accepted with its account known."""
    known = {"account_id": ACCOUNT.bytes, "transaction_scope": ACCOUNT.bytes}
    return make_conversion(number, click.id, transaction_id=text, **{**known, **fields})


async def statuses(services: Services) -> list[str]:
    await ledger.check(services)
    return [row["status"] for row in await scene.stored_events(services)]


async def test_drains_that_get_an_id_in_two_scopes_at_once_count_it_once(
    services: Services,
) -> None:
    """The click is stored before, or arrives at the same moment."""
    async with scene.process(services.settings) as other:
        drains = [scene.drain_of(one) for one in (services, other, services)]
        for number in range(1, 29, 2):
            click, text = make_click(ACCOUNT), f"t{number}"
            if number % 4 == 1:
                await scene.applied(services, [click])
            of_click = {"account_id": None, "transaction_scope": click.id}
            later = of_account(number + 1, click, text, **of_click)
            records: tuple[Record, ...] = (of_account(number, click, text), later, click)
            pairs = zip(drains, records, strict=True)
            await asyncio.gather(*(drain.apply([record]) for drain, record in pairs))
    found = await statuses(services)
    assert found.count("attributed") == 14
    assert set(found) <= {"attributed", "duplicate"}


@pytest.mark.parametrize("claimed", [False, True])
@pytest.mark.parametrize(
    "changed",
    [{"value": "7"}, {"metadata": "{}"}, {"click_id": None}, {"event_config_id": b"E" * 16}],
    ids=str,
)
async def test_another_event_of_a_known_id_is_refused_and_counts_nothing(
    services: Services, claimed: bool, changed: dict[str, Any]
) -> None:
    first = of_account(1, make_click(ACCOUNT), "t", value="5")
    other = Conversion(**{name: getattr(first, name) for name in first.__struct_fields__} | changed)
    if claimed:
        await services.conversions.store.claim(first, [])
    else:
        await scene.applied(services, [first])
    before = await scene.dump(services)
    batches: tuple[list[Record], ...] = ([other, make_click(ACCOUNT)], [first, other])
    for batch in batches:
        with pytest.raises(EventIdTaken):
            await scene.applied(services, batch)
    assert await scene.dump(services) == before
