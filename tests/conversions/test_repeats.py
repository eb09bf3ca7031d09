"""Repeats of a transaction id leave a trace, which changes nothing that counts."""

from uuid import UUID

import pytest

from tests.conversions import scene
from tests.factories import create_event_config, make_click, make_parameters
from tests.ingest import ledger
from tracker.conversions import append
from tracker.service.services import Services


async def test_repeats_wait_for_a_conversion_that_is_not_stored_and_change_no_count(
    services: Services,
) -> None:
    config = await create_event_config(services)
    click = make_click(config.account_id)
    parameters = make_parameters(
        pbk=config.pbk, click_id=UUID(bytes=click.id), transaction_id="T-1"
    )
    repeats = services.conversions.repeats
    for _ in range(3):
        await services.conversions.recorder.record(parameters)
        await repeats.store()
    await scene.drained(services)
    await repeats.store()
    await repeats.store()
    await scene.applied(services, [click])
    [row] = await scene.stored_events(services)
    assert (row["status"], row["repeats"]) == ("attributed", 2)
    await ledger.check(services)


async def test_a_flood_is_one_statement_for_each_conversion_and_has_a_bound(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(append, "MAX_REPEATED", 2)
    config = await create_event_config(services)
    firsts = []
    for number in range(3):
        recorded = await services.conversions.recorder.record(
            make_parameters(pbk=config.pbk, transaction_id=f"T-{number}")
        )
        firsts.append(recorded.event_id)
    await scene.drained(services)
    repeats = services.conversions.repeats
    for first in firsts * 1000:
        repeats.record(first)
    await repeats.store()
    rows = await scene.stored_events(services)
    assert [one.get("repeats") for one in rows] == [1000, 1000, None]
