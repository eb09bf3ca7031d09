"""A transaction that a dead drain left open blocks no other; that of a living one is left alone."""

from typing import Any

import pytest
from pymongo.errors import OperationFailure

from config.settings import Settings
from tests.conversions import scene
from tests.factories import make_click
from tests.ingest import ledger
from tests.ingest.drain_numbers import drain_number_of, recorded
from tracker.ids import new_id
from tracker.ingest.drain_number import DrainNumber
from tracker.service.background import leased
from tracker.service.services import Services
from tracker.stores.redis import keys

pytestmark = pytest.mark.redis

ACCOUNT = new_id()


async def killed_while_writing(services: Services, click: Any) -> DrainNumber:
    """Return the number of a drain that died inside a transaction, and whose lease has run out."""
    drain_number = drain_number_of(services)
    number = await drain_number.number()
    session = await drain_number.session()
    session.start_transaction()
    document = dict(services.clicks.enrichment.document(click))
    await services.stores.mongodb["clicks"].insert_one(document, session=session)
    await services.stores.redis.delete(keys.drain_number_lease(number))
    return drain_number


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_transaction_that_a_dead_drain_left_open_does_not_block_the_next(
    services: Services, settings: Settings, is_new: bool
) -> None:
    """The next may be a drain that starts, or one that has a number already."""
    click = make_click(ACCOUNT)
    async with (
        scene.process(settings) as dead,
        leased(
            DrainNumber(services.stores.redis, services.stores.mongodb, lease=1), services.loops
        ) as living,
    ):
        if not is_new:
            await living.number()
        await killed_while_writing(dead, click)
        await services.ingest.drain(living).apply([click])
        assert set(await recorded(services)) == {str(await living.number()).encode()}
    assert await services.stores.mongodb["clicks"].count_documents({}) == 1
    await ledger.check(services)


async def test_while_the_lease_of_a_drain_runs_its_transaction_is_left_alone(
    services: Services, settings: Settings
) -> None:
    click = make_click(ACCOUNT)
    async with scene.process(settings) as other:
        drain_number = await killed_while_writing(other, click)
        await drain_number.renew()
        looking = drain_number_of(services)
        for _ in range(3):
            await looking.end_dead_sessions()
        await (await drain_number.session()).commit_transaction()
    assert await services.stores.mongodb["clicks"].count_documents({}) == 1


async def test_a_drain_that_was_taken_for_dead_goes_on(
    services: Services, settings: Settings
) -> None:
    """It was suspended for longer than its lease: its session was ended, and works again."""
    click = make_click(ACCOUNT)
    async with scene.process(settings) as stopped:
        drain_number = await killed_while_writing(stopped, click)
        other = drain_number_of(services)
        for _ in range(2):
            await other.end_dead_sessions()
        session = await drain_number.session()
        with pytest.raises(OperationFailure) as caught:
            await session.commit_transaction()
        assert caught.value.has_error_label("TransientTransactionError")
        await stopped.ingest.drain(drain_number).apply([click])
    assert await services.stores.mongodb["clicks"].count_documents({}) == 1
    await ledger.check(services)
