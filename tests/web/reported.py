"""A made-up history, and the reports of it that others are compared with."""

import json
from datetime import timedelta
from decimal import Decimal, localcontext
from random import Random
from typing import Any, NamedTuple

from tests.reports.counted import WIDE
from tests.reports.history import FIRST, History, made
from tests.web.client import Client
from tests.web.keyed_client import KeyedClient
from tracker.service.services import Services

MEASURES = (
    *("clicks", "uniqueClicks", "botClicks", "conversions", "conversionRate", "value", "payout"),
    *("pendingConversions", "pendingValue", "rejectedConversions", "refundedValue"),
    *("cost", "unknownCostClicks", "profit", "roi", "epc", "cpc", "cpa"),
)
UNKNOWN = dict.fromkeys(("cost", "profit", "roi", "epc", "cpc", "cpa"))
Figures = dict[str, Any]

NOTHING: Figures = dict.fromkeys(MEASURES, 0) | UNKNOWN


class Reported(NamedTuple):
    """A history, and a client of its account."""

    history: History
    api: KeyedClient

    async def report(self, **fields: Any) -> Any:
        """Return a report of all days, unless `fields` have others."""
        return await self.ask("/api/reports", **{"dateRange": days(0, 3), "pageSize": 100} | fields)

    async def ask(self, path: str, **fields: Any) -> Any:
        body = {"accountId": str(self.history.account_id), **fields}
        response = await self.api.post(path, **body)
        assert response.status == 200, response.body
        return json.loads(response.body, parse_float=Decimal)


async def reported(services: Services, client: Client) -> Reported:
    history = await made(services, Random(3), restated=False)
    _, secret = await services.access.api_keys.create(history.account_id, "A key")
    return Reported(history, KeyedClient(client, secret))


def days(first: int, last: int) -> dict[str, str]:
    """Return days of the history, which has four from number 0."""
    named = [(FIRST + timedelta(number)).isoformat() for number in (first, last)]
    return dict(zip(("from", "to"), named, strict=True))


def figures(of: dict[str, Any]) -> Figures:
    """Return the measures of a row, of totals or of a step."""
    return {name: of.get(name, NOTHING[name]) for name in MEASURES}


def by_key(answer: dict[str, Any]) -> dict[str, Figures]:
    return {row["key"]: figures(row) for row in answer["rows"]}


def change(now: Figures, before: Figures) -> dict[str, float | None]:
    """Return the change of each measure, to six decimals, and the difference of the rates."""
    has_clicks = now["clicks"] and before["clicks"]
    rates = [float(of["conversionRate"]) for of in (now, before)]
    points = {"conversionRatePoints": round(rates[0] - rates[1], 6) if has_clicks else None}
    with localcontext(WIDE):
        return points | {
            name: round(float((now[name] - old) / abs(Decimal(old))), 6)
            if old and now[name] is not None
            else None
            for name, old in before.items()
        }
