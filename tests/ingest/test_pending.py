"""Click and event meet, whoever comes second and however close, and no reader sees them between."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import make_conversion
from tests.ingest import ledger
from tests.ingest.pending import CONFIG, interposed, pair
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis


async def statuses(services: Services) -> list[str]:
    return [row["status"] for row in await scene.stored_events(services)]


async def within(services: Services, own: Sequence[Record], others: Sequence[Record]) -> None:
    """Apply `others` with another drain when the first has written `own` and not committed it."""
    drain: Any = scene.drain_of(services)
    write = drain._writer._store
    left = [others]

    async def write_before_the_other(*arguments: Any) -> Any:
        written = await write(*arguments)
        if left:
            await scene.applied(services, left.pop())
        return written

    drain._writer._store = write_before_the_other
    await drain.apply(own)


@pytest.mark.parametrize("overlap", [interposed, within])
@pytest.mark.parametrize("first", ["click", "event"])
async def test_two_drains_that_overlap_miss_nothing(
    services: Services, overlap: Any, first: str
) -> None:
    click, event = pair()
    own, others = ([click], [event]) if first == "click" else ([event], [click])
    await overlap(services, own, others)
    assert await statuses(services) == ["attributed"]
    await ledger.check(services)


async def test_more_events_wait_for_a_click_than_are_settled_at_once(services: Services) -> None:
    click, _ = pair()
    events = [make_conversion(number, click.id, **CONFIG) for number in range(1, 1202)]
    await scene.applied(services, events)
    await scene.applied(services, [click])
    assert set(await statuses(services)) == {"attributed"}
    await ledger.check(services)


async def test_a_wrong_click_id_with_many_events_is_not_read_again_with_each_of_them(
    services: Services,
) -> None:
    wrong = new_id().bytes
    await scene.applied(services, [make_conversion(number, wrong) for number in range(1, 700)])
    async with profiled(services.stores.mongodb.database) as commands:
        await scene.applied(services, [make_conversion(700, wrong)])
    assert max(one.get("docsExamined", 0) for one in commands) <= 1


async def test_a_batch_whose_events_find_their_clicks_looks_for_no_pending_events(
    services: Services,
) -> None:
    clicks, events = zip(*(pair(number) for number in range(1, 20)), strict=True)
    await scene.applied(services, clicks)
    async with profiled(services.stores.mongodb.database) as commands:
        await scene.applied(services, events)
    asked = [one["ns"].rpartition(".")[2] for one in commands if one["op"] == "query"]
    assert asked.count("clicks") == 1
    assert "events" not in asked
    assert set(await statuses(services)) == {"attributed"}
