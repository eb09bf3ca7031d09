"""The time from a click's answer until a report counts it, beside other clicks."""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

import orjson

from lab.growth.filling import FilledAccount
from lab.growth.run import Service
from lab.harness import CannotMeasure, wait_until
from lab.requests import AGENTS, ask, head

PROBED_LINKS: Final = 4
"""Links that are opened at once, each again after its last click was seen."""

_SEEN_SECONDS: Final = 20.0
_MAX_PAUSE_SECONDS: Final = 0.5
"""The pause before a click is random: drains rest between batches, and what they have just stored
would always be followed by a whole rest."""


async def measure_seen(
    service: Service, account: FilledAccount, links: Sequence[int], seconds: float
) -> list[float]:
    """Open `links` until `seconds` have passed; return the seconds until reports count a click."""
    latencies, began = list[float](), time.perf_counter()

    async def probe(number: int) -> None:
        draw, clicks = Random(number), await _counted(service, account, number)  # noqa: S311
        while time.perf_counter() - began < seconds:
            await asyncio.sleep(draw.uniform(0, _MAX_PAUSE_SECONDS))
            await _open(service, account.slug(number))
            answered, clicks = time.perf_counter(), clicks + 1

            async def is_seen(wanted: int = clicks) -> bool:
                return await _counted(service, account, number) == wanted

            if not await wait_until(is_seen, _SEEN_SECONDS):
                raise CannotMeasure(f"a click is not counted after {_SEEN_SECONDS:.0f} s")
            latencies.append(time.perf_counter() - answered)

    await asyncio.gather(*map(probe, links))
    return latencies


async def _open(service: Service, slug: str) -> None:
    answer = await ask(service.port, head("GET", f"/c/{slug}", {"User-Agent": AGENTS[0]}))
    if answer[9:12] != b"302":
        raise CannotMeasure(f"a click on {slug} was answered with {answer[9:12].decode()}")


async def _counted(service: Service, account: FilledAccount, number: int) -> int:
    today = datetime.now(UTC).date()
    asked = {"groupBy": "day", "filters": {"link": [str(account.link_ids[number])]}}
    answer = await ask(service.port, account.report(today - timedelta(days=1), today, asked))
    if answer[9:12] != b"200":
        raise CannotMeasure(f"a report was answered with {answer[:200].decode(errors='replace')}")
    totals = orjson.loads(answer.partition(b"\r\n\r\n")[2])["totals"]
    return int(totals["clicks"])
