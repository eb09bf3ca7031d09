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
    """Both stores answer; otherwise 503 names the one that does not."""

    methods = ("GET", "HEAD")

    async def get(self) -> None:
        checks: dict[str, Awaitable[object]] = {
            "redis": self.services.redis.ping(),
            "mongodb": self.services.database.command("ping"),
        }
        results = await asyncio.gather(*map(_answers, checks.values()))
        if not self.services.prepared.is_set():
            raise Unavailable("MongoDB has no indexes yet")
        away = [name for name, answers in zip(checks, results, strict=True) if not answers]
        if away:
            raise Unavailable(f"no answer from {' and '.join(away)}")
        self.answer({"status": "ready"})

    head = get


async def _answers(check: Awaitable[object]) -> bool:
    try:
        await asyncio.wait_for(check, _PATIENCE)
    except Exception:
        return False
    return True
