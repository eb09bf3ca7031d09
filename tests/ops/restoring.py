"""An installation before and after its backup."""

import contextlib
import threading
from collections.abc import Iterator
from uuid import UUID

from config.settings import Settings
from tests.factories import CHROME, create_event_config, create_link
from tests.system.service import Service
from tracker.service.services import Services

GAP = 1_000_000_000


@contextlib.contextmanager
def visitors(service: Service, answered: list[UUID]) -> Iterator[None]:
    """Open a link again and again in the body, and at least ten times."""
    stop = threading.Event()

    def visit() -> None:
        with service.client() as client:
            while not (stop.is_set() and len(answered) >= 10):
                answer = client("GET", "/c/abc", headers={"User-Agent": CHROME})
                answered.append(UUID(answer.click_id))

    visiting = threading.Thread(target=visit)
    visiting.start()
    try:
        yield
    finally:
        stop.set()
        visiting.join()


async def prepare(stores: Settings) -> str:
    """Store a link /c/abc and an event configuration; return its postback key."""
    services = Services(stores)
    account = await services.accounts.accounts.create("Acme")
    await create_link(services, account.id, slug="abc")
    config = await create_event_config(services, account.id)
    await services.close()
    return config.pbk


def convert(service: Service, pbk: str) -> int:
    """Report a conversion; return its id."""
    event_id: int = service.get(f"/api/event?pbk={pbk}").json["eventId"]
    return event_id
