"""The journal is drained once, whatever dies on the way."""

from tracker.clicks.click import Click
from tracker.ids import new_click_id, new_id
from tracker.ingest.consumer import Consumer
from tracker.ingest.drain import Drain
from tracker.services import Services


def click() -> Click:
    return Click(
        id=new_click_id().bytes,
        at=1_767_000_000_000,
        account_id=new_id().bytes,
        link_id=new_id().bytes,
        domain_name="",
        address="8.8.8.8",
        user_agent="curl/8.0",
        referrer="",
        purpose="",
        edge_country="",
        query="a=1",
    )


async def test_an_appended_click_is_stored_and_acknowledged(services: Services) -> None:
    drain = Drain(services.clicks, services.events, services.enrichment, services.redis)
    consumer = Consumer(services.redis, services.redis_waiting, drain.apply)
    await services.journal.append(click())
    assert await consumer.burst() == 1
    assert await services.database["clicks"].count_documents({}) == 1
    assert await services.redis.xlen("journal") == 0
