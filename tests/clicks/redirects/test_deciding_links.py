"""Links that decide: what their clicks record, tests of variants, and who draws none."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.conversions import scene
from tests.factories import CHROME, LANDING, create_link, make_visit
from tests.web.records import journaled_clicks
from tracker.clicks.visit import ClientHeaders
from tracker.errors import NotFound
from tracker.ids import new_id
from tracker.links.rules.rule import Condition, Rule, Split, Variant
from tracker.service.services import Services

pytestmark = pytest.mark.redis

BOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"


def variants(*weights: int) -> list[Variant]:
    return [
        Variant(id=new_id(), name=url[-1], destination_url=url, weight=weight)
        for number, weight in enumerate(weights)
        if (url := f"https://example.com/{number}")
    ]


def split_of(*weights: int) -> Split:
    return Split(variants=variants(*weights), secret="5e" * 16)


def germans(**target: Any) -> Rule:
    return Rule(id=new_id(), name="Germans", conditions=[Condition(country=["DE"])], **target)


async def visit(
    services: Services, query: str = "", agent: str = CHROME, country: str = "", **fields: Any
) -> str:
    """Return the destination that a visitor gets."""
    headers = ClientHeaders.from_headers(agent, "", fields.pop("purpose", ""), country)
    answer = await services.clicks.redirect.answer(
        make_visit(query=query, headers=headers, **fields)
    )
    assert dict(answer.headers)["Cache-Control"] == "no-store"
    return dict(answer.headers)["Location"].partition("?")[0]


async def recorded(services: Services) -> Sequence[tuple[bytes | None, bytes | None, bool]]:
    """Return rule and variant of each click, and whether it is a test."""
    clicks = await journaled_clicks(services)
    return [(one.rule_id, one.variant_id, one.test) for one in clicks]


async def test_a_click_records_the_rule_and_the_variant_that_decided(services: Services) -> None:
    own, of_rule = split_of(1, 0), split_of(0, 1)
    rule = germans(split=of_rule)
    await create_link(services, new_id(), rules=[rule], split=own)
    assert await visit(services, country="DE") == of_rule.variants[1].destination_url
    assert await visit(services, country="US") == own.variants[0].destination_url
    assert await visit(services, method="HEAD") == own.variants[0].destination_url
    assert await recorded(services) == [
        (rule.id.bytes, of_rule.variants[1].id.bytes, False),
        (None, own.variants[0].id.bytes, False),
    ]


async def test_bots_and_previews_draw_no_variant(services: Services) -> None:
    rule = germans(split=split_of(0, 1))
    await create_link(services, new_id(), rules=[rule], split=split_of(1, 1))
    for bot in ({"agent": BOT}, {"agent": ""}, {"purpose": "prefetch"}):
        assert await visit(services, **bot) == LANDING
        assert await visit(services, country="DE", **bot) == "https://example.com/0"
    assert await recorded(services) == [(None, None, False), (rule.id.bytes, None, False)] * 3


async def test_the_owner_tries_any_variant_and_such_clicks_are_tests(services: Services) -> None:
    own, of_rule = split_of(1, 0), split_of(1, 0)
    rule = germans(split=of_rule)
    await create_link(services, new_id(), rules=[rule], split=own)
    for one, rule_id in ((own.variants[1], None), (of_rule.variants[1], rule.id.bytes)):
        assert await visit(services, f"a=1&variant={one.id}") == one.destination_url
        assert (await recorded(services))[-1] == (rule_id, one.id.bytes, True)
    for query in ("variant=", "variant=blue", f"variant={new_id()}", f"a=variant={own}"):
        assert await visit(services, query) == own.variants[0].destination_url
        assert (await recorded(services))[-1] == (None, own.variants[0].id.bytes, False)


async def test_a_test_of_a_variant_uses_no_click_of_the_limit_and_ends_with_it(
    services: Services,
) -> None:
    split = split_of(1, 1)
    await create_link(services, new_id(), split=split, max_clicks=1)
    asked = f"variant={split.variants[1].id}"
    for _ in range(3):
        assert await visit(services, asked) == split.variants[1].destination_url
    await visit(services)
    for query in (asked, ""):
        with pytest.raises(NotFound):
            await visit(services, query)
    await scene.drained(services)
    people = {"test": None, "link_id": {"$exists": True}}
    assert await services.stores.mongodb["clicks"].count_documents(people) == 1
    assert await services.stores.mongodb["clicks"].count_documents({}) == 4
