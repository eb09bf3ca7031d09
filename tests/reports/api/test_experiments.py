"""The experiment of a split: its variants, by the conversions of their clicks."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from random import Random
from typing import Any
from uuid import UUID

import pytest

from tests.conversions.scene import applied, drained
from tests.factories import CHROME, create_link, make_conversion
from tests.reports.api.traffic import AT, DAYS, click, event
from tests.reports.history import store
from tests.stores.mongodb.profiler import profiled
from tests.web.each import each_case
from tests.web.world import World
from tracker.ids import new_id
from tracker.links.link import Link
from tracker.links.rules.rule import Condition, Rule, Split, Variant
from tracker.reports import limits
from tracker.reports.experiments.results import WARNING

NUMBERS = count(1)
COUNTS = ("name", "clicks", "visitors", "conversions")
Rows = list[dict[str, Any]]


def split_of(*names: str) -> Split:
    variants = [
        Variant(id=new_id(), name=name, destination_url="https://a.example/", weight=100)
        for name in names
    ]
    return Split(variants=variants, secret="00" * 16)


class Scene:
    """A link with a split of its own, and a rule with another."""

    def __init__(self, world: World, link: Link) -> None:
        assert link.split is not None and link.rules[0].split is not None
        self.world, self.link, self.rule = world, link, link.rules[0]
        self.first, self.second = (one.id for one in link.split.variants)
        self.of_rule = link.rules[0].split.variants[0].id
        self.clicks: Rows = []
        self.events: Rows = []

    def visits(self, variant_id: UUID, number: int, converted: int = 0, **fields: Any) -> None:
        """Add visitors, of whom some convert a month later."""
        own = {"variant_id": variant_id, "unique": True, **fields}
        clicks = [click(self.world.account.id, self.link.id, **own) for _ in range(number)]
        self.clicks += clicks
        for one in clicks[:converted]:
            self.converts(one)

    def converts(self, of: dict[str, Any], **fields: Any) -> None:
        later = {"at": AT + timedelta(days=30), "click_at": of["at"]}
        self.events.append(event(next(NUMBERS), of) | later | fields)

    async def store(self) -> None:
        await store(self.world.services, Random(0), self.clicks, self.events)

    async def ask(self, **query: Any) -> dict[str, Any]:
        given = {**DAYS, **query}
        text = "&".join(f"{name}={value}" for name, value in given.items() if value is not None)
        answer = await self.world.api.get(f"/api/short-links/{self.link.id}/experiment?{text}")
        assert answer.status == 200, answer.body
        return dict(answer.json())

    async def counts(self, **query: Any) -> list[tuple[str, int, int, int]]:
        """Return the name, clicks, visitors and conversions of each variant."""
        return [tuple(map(one.get, COUNTS)) for one in (await self.ask(**query))["variants"]]


async def scene_of(world: World) -> Scene:
    rule = Rule(
        id=new_id(), name="Phones", conditions=[Condition(os=["iOS"])], split=split_of("C", "D")
    )
    link = await create_link(
        world.services, world.account.id, split=split_of("A", "B"), rules=[rule]
    )
    return Scene(world, link)


async def test_each_variant_has_its_rate_and_its_difference_to_the_first(world: World) -> None:
    """The figures are those of statsmodels 0.15.0."""
    scene = await scene_of(world)
    scene.visits(scene.first, 100, converted=10)
    scene.visits(scene.second, 100, converted=30)
    await scene.store()
    answer = await scene.ask()
    assert answer == {
        "variants": [
            {
                "id": str(scene.first),
                "name": "A",
                "weight": 100,
                "active": True,
                "clicks": 100,
                "visitors": 100,
                "conversions": 10,
                "rate": 0.1,
                "interval": {"low": 0.055229, "high": 0.174366},
                "difference": None,
                "conclusion": "first",
            },
            {
                "id": str(scene.second),
                "name": "B",
                "weight": 100,
                "active": True,
                "clicks": 100,
                "visitors": 100,
                "conversions": 30,
                "rate": 0.3,
                "interval": {"low": 0.218949, "high": 0.395849},
                "difference": {
                    "rate": 0.2,
                    "interval": {"low": 0.090002, "high": 0.305789},
                    "smallest": 0.14959,
                },
                "conclusion": "higher",
            },
        ],
        "date_range": DAYS,
        "time_zone": "UTC",
        "confidence": 0.95,
        "power": 0.8,
        "warning": WARNING,
    }


async def test_a_click_converts_once_whatever_came_of_it_and_when(world: World) -> None:
    scene = await scene_of(world)
    scene.visits(scene.first, 8)
    for fields in (
        {"reported": "pending"},
        {"reported": "rejected"},
        {"refunded_value": None, "reported": "refunded"},
        {"status": "refused"},
        {"status": "test"},
    ):
        scene.converts(scene.clicks[0], **fields)
    for number in (1, 1, 2):
        scene.converts(scene.clicks[number])
    scene.converts(scene.clicks[3], currency="USD", at=AT + timedelta(days=300))
    await scene.store()
    assert await scene.counts() == [("A", 8, 8, 3), ("B", 0, 0, 0)]


async def test_bots_and_tests_and_further_clicks_of_a_visitor_are_no_visitors(
    world: World,
) -> None:
    scene = await scene_of(world)
    scene.visits(scene.first, 5, converted=2, bot="crawler", unique=False)
    scene.visits(scene.first, 3, test=True)
    scene.visits(scene.first, 2, converted=1)
    scene.visits(scene.first, 4, converted=4, unique=False)
    await scene.store()
    assert await scene.counts() == [("A", 6, 2, 5), ("B", 0, 0, 0)]
    [first, second] = (await scene.ask())["variants"]
    assert (first["rate"], second["rate"], second["interval"]) == (1, None, None)
    assert second["conclusion"] == "no_visitors"


async def test_the_split_of_a_rule_is_apart_from_that_of_the_link(world: World) -> None:
    scene = await scene_of(world)
    scene.visits(scene.first, 3, converted=1)
    scene.visits(scene.of_rule, 2, converted=2, rule_id=scene.rule.id)
    # Of a variant that was in both.
    scene.visits(scene.first, 4, converted=3, rule_id=scene.rule.id)
    await scene.store()
    assert await scene.counts() == [("A", 3, 3, 1), ("B", 0, 0, 0)]
    found = await scene.counts(rule_id=scene.rule.id)
    assert found == [("C", 2, 2, 2), ("D", 0, 0, 0), ("A", 4, 4, 3)]
    assert await scene.counts(rule_id=new_id()) == []


async def test_a_variant_that_is_gone_comes_last_by_its_last_name(world: World) -> None:
    scene, gone = await scene_of(world), UUID(int=1)
    own = {"_id": gone, "account_id": world.account.id, "name": "Old"}
    await world.services.stores.mongodb["choices"].insert_one(own)
    scene.visits(gone, 5, converted=1)
    scene.visits(scene.second, 1)
    await scene.store()
    assert await scene.counts() == [("A", 0, 0, 0), ("B", 1, 1, 0), ("Old", 5, 5, 1)]
    last = (await scene.ask())["variants"][-1]
    assert (last["weight"], last["active"], last["conclusion"]) == (
        None,
        False,
        "cannot_be_told_apart",
    )


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [("2026-01-30", "2026-01-30", 0), ("2026-01-31", "2026-01-31", 4), (None, "2026-02-05", 4)],
)
async def test_the_days_are_those_of_the_clicks(
    world: World, first: str | None, last: str, found: int
) -> None:
    scene = await scene_of(world)
    scene.visits(scene.first, 4, converted=4)
    await scene.store()
    assert await scene.counts(**{"from": first, "to": last}) == [
        ("A", found, found, found),
        ("B", 0, 0, 0),
    ]


@each_case(
    "query, message",
    [
        ("from=2026-01-02&to=2026-01-01", "from: must not be after to"),
        ("from=2020-01-01&to=2026-01-01", "to: at most 731 days, from and to included"),
        ("from=x", "from: must be a date such as 2026-01-31"),
        ("rule_id=x", "rule_id: must be a UUID"),
    ],
)
async def test_what_cannot_be_is_refused(world: World, query: str, message: str) -> None:
    link = await create_link(world.services, world.account.id, slug=None)
    answer = await world.api.get(f"/api/short-links/{link.id}/experiment?{query}")
    assert (answer.status, message in answer.error) == (400, True), answer.error


async def test_a_link_without_a_split_has_no_variants(world: World) -> None:
    link = await create_link(world.services, world.account.id)
    answer = await world.api.get(f"/api/short-links/{link.id}/experiment")
    assert answer.json()["variants"] == []


async def test_only_conversions_of_the_variants_are_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And many of them only with the permit of reports that read every click."""
    monkeypatch.setattr(limits, "FEW_DOCUMENTS", 3)
    scene = await scene_of(world)
    scene.visits(scene.first, 9, converted=5)
    scene.visits(scene.of_rule, 20, converted=20, rule_id=scene.rule.id)
    await scene.store()
    async with profiled(world.services.stores.mongodb.database) as reads:
        assert await scene.counts() == [("A", 9, 9, 5), ("B", 0, 0, 0)]
    examined = examined_in(reads, "events")
    assert examined and max(examined) <= 5


def examined_in(reads: Sequence[dict[str, Any]], collection: str) -> list[int]:
    return [one.get("docsExamined", 0) for one in reads if one["ns"].endswith(f".{collection}")]


async def test_visitors_of_a_link_that_was_made_by_the_api_are_in_its_experiment(
    world: World,
) -> None:
    variants = [
        {"name": name, "destination_url": f"https://{name}.example/", "weight": 1} for name in "ab"
    ]
    answer = await world.api.post(
        "/api/short-links",
        accountId=str(world.account.id),
        destination_url="https://example.com/",
        internal_name="Test",
        slug="test",
        split={"variants": variants},
    )
    opened: Counter[str] = Counter()
    for number in range(20):
        visited = await world.client.get("/c/test", User_Agent=f"{CHROME} {number}")
        opened[visited.headers["Location"][len("https://")]] += 1
    await drained(world.services)
    clicks = [row async for row in world.services.stores.mongodb["clicks"].find()]
    await applied(
        world.services,
        [
            make_conversion(number, one["_id"].bytes, account_id=world.account.id.bytes)
            for number, one in enumerate(clicks)
        ],
    )
    shown = await world.api.get(f"/api/short-links/{answer.json()['id']}/experiment")
    found = [tuple(map(one.get, COUNTS)) for one in shown.json()["variants"]]
    assert found == [(name, opened[name], opened[name], opened[name]) for name in "ab"]
