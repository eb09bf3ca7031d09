"""How many webhook deliveries a second one drain makes to a receiver that is fast.

The receiver is a process of its own, so that it takes no time from the sender, which runs as in a
drain. Measured from the first claim until the last delivery is recorded; `deliveries_a_second` is
one round.
"""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import msgspec

from config.settings import Settings
from tracker.clock import now_ms
from tracker.conversions.event import Event
from tracker.conversions.event_config import EventConfig, PayoutType
from tracker.db import indexes
from tracker.ingest.slot import kept_slot
from tracker.service.roles import SWITCH_INTERVAL_SECONDS
from tracker.service.services import Services
from tracker.webhooks import template
from tracker.webhooks.delivery import Status

_RECEIVER = """
import asyncio, uvloop
class Receiver(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.left, self.head = transport, None, b""
    def data_received(self, data):
        self.head += data
        if self.left is None and b"\\r\\n\\r\\n" in self.head:
            head, _, body = self.head.partition(b"\\r\\n\\r\\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\\r\\n")[1:])
            self.left = int(fields.get(b"content-length", 0)) - len(body)
        elif self.left is not None:
            self.left -= len(data)
        if self.left == 0:
            answer = b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n"
            self.transport.write(answer)
            self.transport.close()
async def main():
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", 0)
    print(f"answers at http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()
uvloop.run(main())
"""
_EVENTS = 500
_LOOK_EVERY = 0.05
"""Seconds. A look takes its time from the sender."""


@contextmanager
def receiver() -> Iterator[str]:
    """Its address; a process that answers every request with 200 at once."""
    process = subprocess.Popen([sys.executable, "-c", _RECEIVER], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        if found is None:
            raise RuntimeError("the receiver did not start")
        yield found[0]
    finally:
        process.terminate()
        process.wait(20)


async def deliveries_a_second(settings: Settings, target_url: str, number: int) -> float:
    """Deliveries a second of `number` conversions to one webhook at `target_url`."""
    allowed = msgspec.structs.replace(
        settings, base_url="http://localhost", webhook_allow_private=True
    )
    services, interval = Services(allowed), sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    try:
        await indexes.ensure(services.database)
        await _convert(services, target_url, number)
        return await _sent(services, number)
    finally:
        sys.setswitchinterval(interval)
        await services.close()


async def _convert(services: Services, target_url: str, number: int) -> None:
    account = await services.accounts.create("Bench")
    config = await services.event_configs.create(account.id, "Sale", PayoutType.CPA, Decimal(1))
    await services.webhooks.create(account.id, "Bench", target_url, "POST", template.DEFAULT)
    async with kept_slot(services.redis, services.mongodb) as slot:
        drain, first = services.drain(slot), now_ms()
        for start in range(first, first + number, _EVENTS):
            numbers = range(start, min(start + _EVENTS, first + number))
            await drain.apply([_event(one, config) for one in numbers])


async def _sent(services: Services, number: int) -> float:
    stop, due = asyncio.Event(), {"status": Status.DUE}
    began = time.perf_counter()
    sending = asyncio.create_task(services.sender().run(stop))
    try:
        while await services.database["deliveries"].find_one(due, ["_id"]):  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_EVERY)
        return number / (time.perf_counter() - began)
    finally:
        stop.set()
        await sending


def _event(number: int, config: EventConfig) -> Event:
    return Event(
        id=number,
        at=now_ms(),
        account_id=config.account_id.bytes,
        event_config_id=config.id.bytes,
        click_id=None,
        value="19.99",
        payout="1",
        metadata='{"order":"A-1"}',
        transaction_id=None,
        transaction_scope=None,
    )
