"""Deliveries of a backlog of few and of many webhooks, and what others notice of it."""

import asyncio
import time
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import msgspec
import orjson

from lab.client import percentile
from lab.growth.backlog import (
    Webhooks,
    add_backlog,
    cancel_backlog,
    create_webhooks,
    postpone_backlog,
)
from lab.growth.figures import FAILED, Size
from lab.growth.run import STEADY_SECONDS, Run, Service, serving
from lab.harness import CannotMeasure, beside, wait_until
from lab.processes import free_ports
from lab.receiver import ACCEPTED, Message, receiving
from lab.requests import ask, event, event_id_of
from tracker.webhooks.queue_repair import INTERVAL_SECONDS

_HOSTS: Final = [f"127.0.3.{number}" for number in range(1, 51)]
"""A host has a limit of its own."""

_FRESH_PATH: Final = "/fresh"
_BACKLOG: Final = 2
"""Deliveries of each webhook where they are many; where they are few, as many altogether."""

_SLOW_SECONDS: Final = 1.0
_FIRST_SECONDS: Final = 30.0
_RAMP_SECONDS: Final = 2.0
_FRESH_PAUSE_SECONDS: Final = 0.2
_FRESH_SECONDS: Final = 5.0
"""The longest wait for fresh deliveries after a measurement."""

_REST_SECONDS: Final = 20.0
_IDLE_SECONDS: Final = INTERVAL_SECONDS
"""A round of the slowest loop that looks at deliveries."""

_ONE_WEBHOOK: Final = "one-webhook"
_BACKLOG_ROWS: Final = frozenset({"deliveries", "fresh"})


class _Receiver:
    """The receiver of all webhooks. It answers after `pause` seconds."""

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause
        self.arrivals: list[float] = []
        self.fresh: dict[int, float] = {}
        """The time of arrival by event id."""

    async def respond(self, message: Message, transport: asyncio.WriteTransport) -> None:
        if message.path == _FRESH_PATH:
            event_id = int(orjson.loads(message.body)["event"])
            self.fresh.setdefault(event_id, time.perf_counter())
        else:
            self.arrivals.append(time.perf_counter())
        if self._pause:
            await asyncio.sleep(self._pause)
        transport.write(ACCEPTED)

    async def has_arrivals(self) -> bool:
        return bool(self.arrivals)


class _Filled(NamedTuple):
    """Webhooks whose targets are at `port`, and one of another account."""

    webhooks: Webhooks
    fresh: Webhooks
    port: int


async def measure(run: Run, wanted: Collection[str]) -> None:
    run.line.show("receivers: filling")
    [port] = free_ports(1)
    sizes: dict[Size, _Filled] = {
        "small": await _fill(run, "few_webhooks", run.sizes.few_webhooks, port),
        "large": await _fill(run, "many_webhooks", run.sizes.webhooks, port),
    }
    if "retries" in wanted:
        run.line.show("receivers: retries")
        for size, filled in sizes.items():
            run.samples.add("retries", size, await _share_of_retries(run, filled.webhooks))
    alone = await _fill(run, "one_webhook", 1, port)
    for number in range(1, run.sizes.rounds + 1):
        run.line.show(f"receivers: round {number} of {run.sizes.rounds}")
        if not _BACKLOG_ROWS.isdisjoint(wanted):
            for size, filled in sizes.items():
                rate, fresh_p95 = await _measure_backlog(run, filled, _Receiver())
                run.samples.add("deliveries", size, rate)
                run.samples.add("fresh", size, fresh_p95)
        if "slow" in wanted:
            rate, _ = await _measure_backlog(run, sizes["large"], _Receiver(_SLOW_SECONDS))
            run.samples.add("slow", "large", rate)
        if _ONE_WEBHOOK in wanted:
            rate, _ = await _measure_backlog(run, alone, _Receiver())
            run.samples.add(_ONE_WEBHOOK, "large", rate)


async def _fill(run: Run, database: str, number: int, port: int) -> _Filled:
    settings = msgspec.structs.replace(run.in_database(database), webhook_allow_private=True)
    urls = [f"http://{host}:{port}" for host in _HOSTS]
    webhooks = await create_webhooks(settings, number, urls)
    fresh = await create_webhooks(settings, 1, [f"{urls[0]}{_FRESH_PATH}"])
    return _Filled(webhooks, fresh, port)


async def _share_of_retries(run: Run, webhooks: Webhooks) -> float:
    """Return what the drain and its stores use more with retries of tomorrow than without."""
    shares = []
    for deliveries in (0, len(webhooks.ids)):
        await add_backlog(webhooks, deliveries)
        await postpone_backlog(webhooks)
        async with serving(run, webhooks.settings) as service:
            await service.rest(_REST_SECONDS)
            await service.stores.checkpoint()  # of what the filling wrote
            shares.append(await service.share_of_core(_IDLE_SECONDS))
    return max(0.0, shares[1] - shares[0])


async def _measure_backlog(run: Run, filled: _Filled, receiver: _Receiver) -> tuple[float, float]:
    """Let the service send a new backlog, while another account has a conversion now and then.

    Return the deliveries a second, and the 95th percentile of the seconds of the fresh ones.
    """
    await cancel_backlog(filled.webhooks)
    # Slow receivers leave some, and an account with a backlog of its own has nothing fresh.
    await cancel_backlog(filled.fresh)
    backlog, arrivals = _BACKLOG * run.sizes.webhooks, receiver.arrivals
    await add_backlog(filled.webhooks, backlog)
    async with (
        receiving(receiver.respond, _HOSTS, filled.port),
        serving(run, filled.webhooks.settings) as service,
    ):
        if not await wait_until(receiver.has_arrivals, _FIRST_SECONDS):
            raise CannotMeasure(f"nothing of a backlog arrived in {_FIRST_SECONDS:.0f} s")
        await asyncio.sleep(_RAMP_SECONDS)
        began, before = time.perf_counter(), len(arrivals)
        if before >= backlog:
            raise CannotMeasure(f"a backlog of {backlog:,} is too small: it is sent already")
        sent: dict[int, float] = {}
        async with beside(_convert(service, filled.fresh.configs[0].pbk, sent)):
            await asyncio.sleep(STEADY_SECONDS)
        ended = arrivals[-1] if len(arrivals) >= backlog else time.perf_counter()
        rate = (len(arrivals) - before) / (ended - began)
        return rate, await _fresh_p95(receiver, sent)


async def _convert(service: Service, pbk: str, sent: dict[int, float]) -> None:
    number = 0
    while True:
        number += 1
        answer = await ask(service.port, event({"pbk": pbk}, number))
        if event_id := event_id_of(answer):
            sent[event_id] = time.perf_counter()
        await asyncio.sleep(_FRESH_PAUSE_SECONDS)


async def _fresh_p95(receiver: _Receiver, sent: Mapping[int, float]) -> float:
    """Return the 95th percentile of the seconds from answer to arrival; FAILED without that."""

    async def has_arrived() -> bool:
        return sent.keys() <= receiver.fresh.keys()

    await wait_until(has_arrived, _FRESH_SECONDS)
    seconds = [receiver.fresh.get(one, FAILED) - answered for one, answered in sent.items()]
    return percentile(sorted(seconds), 0.95) if seconds else FAILED
