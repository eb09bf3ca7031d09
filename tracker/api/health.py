"""Whether the process is alive, and whether it can do all of its work."""

import asyncio
from collections.abc import Awaitable

from tracker.api.handler import Handler
from tracker.errors import Unavailable

_PATIENCE = 2.0


class Healthz(Handler):
    """The process answers: restart it if it does not."""

    methods = ("GET", "HEAD")

    def get(self) -> None:
        self.answer({"status": "ok"})

    head = get


class Readyz(Handler):
    """Both stores answer, and MongoDB can be written to; otherwise 503 names all that is amiss.
    Either tells what waits in the spool: journal records that were taken while Redis was away, or
    full."""

    methods = ("GET", "HEAD")

    async def get(self) -> None:
        checks: dict[str, Awaitable[object]] = {
            "redis": self.services.redis.ping(),
            "mongodb": self.services.database.command("ping"),
        }
        results = await asyncio.gather(*map(_answers, checks.values()))
        away = [name for name, answers in zip(checks, results, strict=True) if not answers]
        waiting = self.services.journal.bytes_waiting
        amiss = _amiss(away, self.services.prepared.is_set())
        if amiss:
            raise Unavailable("; ".join([*amiss, *_spooled(waiting)]))
        self.answer({"status": "ready"} | ({"spool_bytes": waiting} if waiting else {}))

    head = get


def _amiss(away: list[str], prepared: bool) -> list[str]:
    amiss = [f"no answer from {' and '.join(away)}"] if away else []
    return amiss if prepared else [*amiss, "MongoDB has no indexes yet"]


def _spooled(waiting: int) -> list[str]:
    return [f"{waiting} bytes wait in the spool"] if waiting else []


async def _answers(check: Awaitable[object]) -> bool:
    try:
        await asyncio.wait_for(check, _PATIENCE)
    except Exception:
        return False
    return True
