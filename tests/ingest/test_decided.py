"""The rule and variant of a click: what the drain stores, and copies to conversions."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import AT_MS, make_click, make_conversion
from tracker.conversions.conversion import Report
from tracker.ids import new_id
from tracker.ingest.record import Record
from tracker.service.services import Services

pytestmark = pytest.mark.redis

RULE, VARIANT = new_id(), new_id()


def decided(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("rule_id", "variant_id") if name in row}


async def test_a_click_is_stored_with_the_rule_and_variant_that_decided(
    services: Services,
) -> None:
    ids: list[dict[str, Any]] = [
        {},
        {"rule_id": RULE.bytes},
        {"variant_id": VARIANT.bytes},
        {"rule_id": RULE.bytes, "variant_id": VARIANT.bytes},
    ]
    await scene.applied(services, [make_click(at=AT_MS + at, **one) for at, one in enumerate(ids)])
    found = [row async for row in services.stores.mongodb["clicks"].find().sort("at", 1)]
    assert list(map(decided, found)) == [
        {},
        {"rule_id": RULE},
        {"variant_id": VARIANT},
        {"rule_id": RULE, "variant_id": VARIANT},
    ]


async def test_conversions_take_both_from_their_click_whichever_is_stored_first(
    services: Services,
) -> None:
    click = make_click(rule_id=RULE.bytes, variant_id=VARIANT.bytes)
    early, together, late, without = [
        make_conversion(number, click.id if number < 4 else None, account_id=click.account_id)
        for number in range(1, 5)
    ]
    in_a_minute = Report(max_ms=60_000)
    out_of_time = make_conversion(
        5, click.id, account_id=click.account_id, at=AT_MS + 60_001, report=in_a_minute
    )
    batches: list[list[Record]] = [[early, without], [click, together], [late, out_of_time]]
    for batch in batches:
        await scene.applied(services, batch)
    both = {"rule_id": RULE, "variant_id": VARIANT}
    found = await scene.stored_events(services)
    assert list(map(decided, found)) == [both, both, both, {}, {}]
