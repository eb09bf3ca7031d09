"""Corrections by API during a run, by several writers at once, and a cost that is replaced."""

import asyncio
import itertools
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final

from lab.chaos.restatements import Statement
from lab.chaos.traffic import Ledger
from lab.requests import call
from lab.scene import Scene
from tracker.clock import now_ms
from tracker.conversions.corrections.status import Status, is_click_key

WRITERS: Final = 8
_PAUSE_SECONDS: Final = 0.3
_REST_SECONDS: Final = 3.0
_ROWS: Final = (1, 5)
_REFUSALS: Final = ("conversion: ", "refunded_value: only of", "event_id: repeated")
"""Right answers: not stored yet, not refundable by now, or twice in one request."""

_Named = tuple[str, int]
"""The key of a conversion, and its event id."""


class Corrections:
    """Corrections of conversions that were answered; `answers` counts them by kind.

    `costs` are the amounts that the cost of the period may have: of the last answer, and any that
    was not answered.
    """

    def __init__(self, scene: Scene, port: int, seed: int, ledger: Ledger) -> None:
        self.answers: Counter[str] = Counter()
        self.costs = {0.0}
        self._of = port, scene.key
        self._account = {"accountId": str(scene.account_id)}
        self._random = Random(seed)  # noqa: S311
        self._ledger = ledger

    async def run(self, stop: asyncio.Event) -> None:
        writers = (self._keep_correcting(stop) for _ in range(WRITERS))
        await asyncio.gather(*writers, self._keep_paying(stop))

    async def _keep_paying(self, stop: asyncio.Event) -> None:
        """Send a running total, as tools do."""
        today, unanswered = datetime.now(UTC).date(), set[float]()
        of = {"from": f"{today - timedelta(days=1)}", "to": f"{today}"}
        for amount in itertools.count(1.25):
            if stop.is_set():
                return
            rows = [{**of, "filter": {"utm_source": "mail"}, "amount": amount}]
            body = {**self._account, "rows": rows}
            status, _ = await call(*self._of, "PUT", "/api/costs", body)
            if status != "200":
                unanswered.add(amount)
            self.costs = unanswered | ({amount} if status == "200" else self.costs)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _keep_correcting(self, stop: asyncio.Event) -> None:
        draw = self._random
        while not stop.is_set():
            known, pause = list(self._ledger.restated), _PAUSE_SECONDS
            if known and not await self._correct(draw.choices(known, k=draw.choice(_ROWS))):
                pause = _REST_SECONDS
            await asyncio.sleep(pause * draw.random())

    async def _correct(self, chosen: list[_Named]) -> bool:
        """Return whether there was an answer."""
        (key, event_id), first = chosen[0], now_ms()
        stated = [self._stated() for _ in chosen]
        rows: list[dict[str, Any]] = list(map(_body, stated))
        method, path, body = "PATCH", f"/api/conversions/{event_id}", rows[0]
        if len(chosen) > 1:
            method, path = "POST", "/api/conversions/bulk"
            rows = [{**row, "event_id": one[1]} for row, one in zip(rows, chosen, strict=True)]
            body = {**self._account, "rows": rows}
        elif not is_click_key(key) and self._random.random() < 0.5:
            path, body = f"/api/conversions/by-transaction/{key}", {**self._account, **body}
        status, answer = await call(*self._of, method, path, body)
        answers = (answer or {}).get("rows", [answer] * len(chosen))
        for (named, _), one, told in zip(chosen, stated, answers, strict=True):
            self._note(named, one, first, status, told)
        return status == "200"

    def _stated(self) -> dict[str, Any]:
        """Return new values by their names in documents: some, or all with a refund."""
        draw = self._random
        value = Decimal(draw.randrange(1_000, 99_999)) / 100
        if draw.random() < 0.3:
            return {"value": value}
        status = draw.choice(tuple(Status))
        is_refundable = status in (Status.APPROVED, Status.REFUNDED) and draw.random() < 0.5
        refunded = Decimal(draw.randrange(1, 999)) / 100 if is_refundable else None
        return {"reported": status, "value": value, "refunded_value": refunded}

    def _note(self, key: str, stated: dict[str, Any], first: int, status: str, told: Any) -> None:
        error = (told or {}).get("error")
        is_answered = status == "200" and not error
        is_unavailable = status not in ("200", "400", "404") or (error or "").startswith(
            "storage is"
        )
        if error and error.startswith(_REFUSALS):
            self.answers["refused"] += 1
            return
        if is_answered or is_unavailable:
            one = Statement(stated, first, now_ms() + 10, is_answered)
            self._ledger.statements[key].append(one)
            self.answers["answered" if is_answered else "unanswered"] += 1
        else:
            self._ledger.others[f"correction {status}: {error}"] += 1


def _body(stated: dict[str, Any]) -> dict[str, Any]:
    sent = {"status" if name == "reported" else name: one for name, one in stated.items()}
    shown = {name: float(one) if isinstance(one, Decimal) else one for name, one in sent.items()}
    return {**shown, "reason": "network_adjustment"}
