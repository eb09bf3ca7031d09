"""A naive model of what becomes of deliveries, beside a sender whose steps are drawn at random."""

from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from tests.webhooks.receiver import Behaviour, Receiver, answer, redirect, reset
from tests.webhooks.sending.scene import Clock, SteppedSender, converted, stored
from tracker.clock import moment
from tracker.service.services import Services
from tracker.webhooks.schedule import DELAYS_SECONDS, JITTER_SHARE
from tracker.webhooks.store import Webhook

FAILING = timedelta(days=5)


class Answer(NamedTuple):
    behaviour: Behaviour
    code: int | None
    retry_after: int = 0


ANSWERS = [
    *(Answer(answer(code), code) for code in (200, 202, 400, 404, 500)),
    Answer(answer(503, Retry_After="3600"), 503, 3600),
    Answer(redirect("http://127.0.0.1:1/"), 302),
    Answer(reset, None),
]
GONE = Answer(answer(410), 410)


class Expected:
    """A delivery as it should be. `due` is the first and the last time that it may be due at."""

    def __init__(self, at: datetime) -> None:
        self.status = "due"
        self.due = (at, at)
        self.attempts = 0

    def end(self, status: str) -> None:
        self.status = status


class Life:
    """One webhook at a receiver, the deliveries that it should have, and their steps."""

    def __init__(
        self, services: Services, clock: Clock, random: Random, target: tuple[Receiver, Webhook]
    ) -> None:
        self.services, self.clock, self.random = services, clock, random
        self.receiver, self.webhook = target
        self.deliveries: dict[UUID, Expected] = {}
        self.answer = ANSWERS[0]
        self.state = "active"
        self.failing_since: datetime | None = None

    @property
    def now(self) -> datetime:
        return moment(self.clock())

    async def step(self) -> None:
        steps: list[Callable[[], Awaitable[None]]] = [
            *(self.convert, self.convert, self.change_answer, self.change_answer, self.wait),
            *(self.retry, self.retry_all, self.toggle),
        ]
        await self.random.choice(steps)()

    async def convert(self) -> None:
        known = {row["_id"] for row in await self.rows()}
        await converted(self.services, self.webhook.account_id, self.random.randrange(1, 4))
        new = [row["_id"] for row in await self.rows() if row["_id"] not in known]
        assert bool(new) == (self.state == "active")
        self.deliveries |= {one: Expected(self.now) for one in new}

    async def change_answer(self) -> None:
        self.answer = GONE if self.random.random() < 0.1 else self.random.choice(ANSWERS)
        self.receiver.behaviour = self.answer.behaviour

    async def wait(self) -> None:
        self.clock.pass_seconds(self.random.choice((1, 6, 400, 12_000, 100_000, 500_000)))

    async def retry(self) -> None:
        if self.deliveries:
            chosen = self.random.choice(list(self.deliveries))
            await self.services.webhooks.deliveries.retry(chosen, self.now)
            self._make_due(self.deliveries[chosen])

    async def retry_all(self) -> None:
        ended = [one for one in self.deliveries.values() if one.status in ("failed", "cancelled")]
        retried = await self.services.webhooks.deliveries.retry_since(
            self.webhook.id, self.webhook.account_id, moment(0), self.now
        )
        assert retried == len(ended)
        for one in ended:
            self._make_due(one)

    async def toggle(self) -> None:
        if self.state != "active" or self.random.random() < 0.3:
            active = self.state != "active"
            await self.services.webhooks.webhooks.change(self.webhook.id, {"active": active})
            self.state, self.failing_since = "active" if active else "inactive", None

    def _make_due(self, one: Expected) -> None:
        one.status, one.due = "due", (self.now, self.now)

    async def send(self, sender: SteppedSender) -> None:
        """Send all that is due, and compare what is stored with what should be."""
        due = [one for one in self.deliveries.values() if one.status == "due"]
        ready = [one for one in due if one.due[0] <= self.now]
        while await sender.burst():
            pass
        rows = {row["_id"]: row for row in await self.rows()}
        if ready and self.state != "active":
            for one in due:
                one.end("cancelled")
        elif ready:
            made = {key: len(row["attempts"]) for key, row in rows.items()}
            self._attempt(ready, {one: made[key] for key, one in self.deliveries.items()})
            if self.state != "active":
                for one in due:
                    if one.status == "due":
                        one.end("cancelled")
        await self.check(rows)

    def _attempt(self, ready: list[Expected], made: dict[Expected, int]) -> None:
        code, delivered = self.answer.code, self.answer.code in (200, 202)
        has_failed_long = self.failing_since and self.now - self.failing_since >= FAILING
        if code != 410:
            self.failing_since = None if delivered else self.failing_since or self.now
        if code == 410 or (has_failed_long and not delivered):
            self.state = "gone" if code == 410 else "failing"
            # Of those that were claimed together each is attempted; the others are cancelled.
            assert any(made[one] > one.attempts for one in ready)
            ready = [one for one in ready if made[one] > one.attempts]
        for one in ready:
            one.attempts += 1
            if delivered:
                one.end("delivered")
            elif code == 410 or one.attempts >= len(DELAYS_SECONDS):
                one.end("failed")
            else:
                delay = max(DELAYS_SECONDS[one.attempts], self.answer.retry_after)
                latest = self.now + timedelta(seconds=delay * (1 + JITTER_SHARE), milliseconds=1)
                one.due = (self.now + timedelta(seconds=delay), latest)

    async def check(self, rows: dict[UUID, dict[str, Any]]) -> None:
        assert rows.keys() == self.deliveries.keys()
        for key, one in self.deliveries.items():
            row = rows[key]
            assert (row["status"], len(row["attempts"])) == (one.status, one.attempts)
            assert ("expires_at" in row, "due_at" in row, "holder" in row) == (
                *(one.status != "due", one.status == "due"),
                False,
            )
            if one.status == "due":
                assert one.due[0] <= row["due_at"] <= one.due[1]
                one.due = (row["due_at"], row["due_at"])
        stored = await self.services.webhooks.webhooks.find(self.webhook.id)
        assert stored is not None
        reason = self.state if self.state in ("gone", "failing") else None
        assert (stored.active, stored.disabled_reason) == (self.state == "active", reason)
        assert stored.failing_since == self.failing_since
        received = Counter(one.headers["webhook-id"] for one in self.receiver.received)
        assert received == {
            f"msg_{key.hex}": one.attempts for key, one in self.deliveries.items() if one.attempts
        }
        bodies = {(one.headers["webhook-id"], one.body) for one in self.receiver.received}
        assert len(bodies) == len(received)

    async def rows(self) -> list[dict[str, Any]]:
        found = await stored(self.services)
        return [row for row in found if row["webhook_id"] == self.webhook.id]
