"""Accounts with rules, and reports to them."""

from typing import Any
from uuid import UUID

from tests.conversions import scene
from tests.factories import make_parameters
from tracker.accounts.accounts import Account
from tracker.conversions.recorder import RecordedConversion
from tracker.conversions.rules import ConversionRules
from tracker.service.services import Services


async def report(services: Services, client: str = "", **fields: Any) -> RecordedConversion:
    return await services.conversions.recorder.record(make_parameters(**fields), client)


async def account_with(services: Services, **rules: Any) -> Account:
    account = await services.accounts.accounts.create("Acme")
    await services.conversions.account_rules.change(account.id, rules)
    return account


async def cached_rules(services: Services, account_id: UUID) -> ConversionRules:
    """Return the rules that a conversion is checked by. Raises Unavailable without any store."""
    return (await services.conversions.account_rules.cached(account_id)).rules


async def statuses(services: Services) -> list[tuple[str, str | None]]:
    rows = await scene.stored_events(services)
    return [(row["status"], row.get("refused")) for row in rows]
