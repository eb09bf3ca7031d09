"""The rarest words lead to the links of a list, so that a common one costs nothing."""

from collections.abc import Mapping
from typing import Any

import pytest
from pymongo.errors import ExecutionTimeout

from tests.clock import Clock
from tests.factories import LANDING, make_new_link
from tests.stores.mongodb.profiler import profiled
from tracker.ids import new_id
from tracker.links.counts.recount import LinkRecount
from tracker.links.lists import list_counts, totals, word_sizes
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.plan import Rarest
from tracker.links.lists.totals import Total
from tracker.links.lists.word_sizes import KNOWN_SECONDS, WordSizes
from tracker.service.services import Services

ACCOUNT, TAG = new_id(), new_id()
LINKS = 200
RARE = (77, 133)


async def test_the_condition_of_the_fewest_links_is_known_for_ten_seconds(
    monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    monkeypatch.setattr(word_sizes, "COUNTED_LINKS", 50)
    known, sizes = WordSizes(clock), {"a": 51, "b": 30, "c": 51}
    asked: list[int] = []

    async def count(condition: Mapping[str, Any], limit: int) -> int:
        asked.append(limit)
        return min(limit, sizes[condition["words"]])

    words = [{"words": one} for one in sizes]
    assert await known.rarest("list", words, count) == Rarest(1, 30)
    sizes["b"] = 60
    assert await known.rarest("list", words, count) == Rarest(1, 30)
    assert asked == 3 * [51]
    clock.seconds += KNOWN_SECONDS
    assert await known.rarest("list", words, count) == Rarest(0), "all have too many"


async def test_the_first_condition_leads_if_counting_takes_too_long() -> None:
    async def count(condition: Mapping[str, Any], limit: int) -> int:
        raise ExecutionTimeout("too long", 50)

    assert await WordSizes().rarest("list", [{}, {}], count) == Rarest(0)


async def fill(services: Services) -> None:
    """Make links with a common word, tag and campaign, a few of which have rare ones too."""
    for first in range(0, LINKS, 100):
        numbers = range(first, first + 100)
        await services.links.links.create_all(list(map(_link, numbers)))
    await LinkRecount(services.stores.mongodb).correct(ACCOUNT)


def _link(number: int) -> Any:
    campaign = "Spring+sale" if number in RARE else "Spring"
    source = "" if number in RARE else "utm_source=post&"
    name = "commonplace rare" if number in RARE else "commonplace"
    url = f"{LANDING}?{source}utm_campaign={campaign}"
    return make_new_link(ACCOUNT, internal_name=name, destination_url=url, tags=[TAG])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "wanted",
    [
        LinkFilter(search="commonplace rare"),
        LinkFilter(search="rare", tags=[TAG]),
        LinkFilter(utm={"utm_source": ["none"]}),
        LinkFilter(utm={"utm_source": ["none"]}, tags=[TAG], active=True),
        LinkFilter(utm={"utm_source": ["none"], "utm_medium": ["none"]}),
        LinkFilter(utm={"utm_campaign": ["Spring sale"]}),
        LinkFilter(utm={"utm_campaign": ["Spring sale"]}, search="commonplace"),
    ],
)
async def test_links_that_are_not_in_the_list_are_not_read(
    services: Services, order: LinkOrder, wanted: LinkFilter
) -> None:
    await fill(services)
    async with profiled(services.stores.mongodb.database) as rows:
        page = await services.links.lists.page(ACCOUNT, wanted, 1, 25, order)
    assert len(page.links) == len(RARE)
    found = [row for row in rows if row["ns"].endswith(".links")]
    assert sum(row["docsExamined"] for row in found) <= 2 * len(RARE), "counted, and read"
    of_pages = [row for row in found if row["op"] == "query"]
    assert max(row["keysExamined"] for row in of_pages) <= 50


@pytest.mark.parametrize("order", ORDERS)
async def test_the_last_page_of_a_counted_list_is_read_from_its_end(
    services: Services, order: LinkOrder
) -> None:
    await fill(services)
    wanted = LinkFilter(utm={"utm_campaign": ["Spring"]})
    pages = [await services.links.lists.page(ACCOUNT, wanted, n, 30, order) for n in (1, 7)]
    assert [len(page.links) for page in pages] == [30, LINKS - len(RARE) - 180]
    async with profiled(services.stores.mongodb.database) as rows:
        await services.links.lists.page(ACCOUNT, wanted, 7, 30, order)
    [read] = [row for row in rows if row["op"] == "query" and row["ns"].endswith(".links")]
    assert read["docsExamined"] <= 20
    [counted] = [row for row in rows if row["op"] == "command" and row["ns"].endswith(".links")]
    assert counted["docsExamined"] == 0


async def test_of_links_without_a_value_the_few_others_are_counted(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(totals, "COUNTED_LINKS", 20)
    monkeypatch.setattr(list_counts, "COUNTED_LINKS", 20)
    await fill(services)
    sent = [make_new_link(ACCOUNT, destination_url=f"{LANDING}?utm_term=none"), _link(RARE[0])]
    await services.links.links.create_all(sent)
    wanted = LinkFilter(utm={"utm_term": ["none"]})
    async with profiled(services.stores.mongodb.database) as rows:
        page = await services.links.lists.page(ACCOUNT, wanted, 1, 5)
    assert page.total == Total(LINKS + 2)
    counted = [row for row in rows if row["op"] == "command" and row["ns"].endswith(".links")]
    assert sum(row["keysExamined"] for row in counted) <= 50
    assert sum(row["docsExamined"] for row in counted) == 0


async def test_links_that_were_created_a_moment_ago_are_in_the_total(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kept counts that choose an index may be older, and are not what the others are of."""
    monkeypatch.setattr(totals, "COUNTED_LINKS", 20)
    monkeypatch.setattr(list_counts, "COUNTED_LINKS", 20)
    await fill(services)
    await services.links.lists.page(ACCOUNT, LinkFilter(search="rare"), 1, 5)
    await services.links.links.create_all([_link(RARE[0]) for _ in range(30)])
    page = await services.links.lists.page(ACCOUNT, LinkFilter(utm={"utm_term": ["none"]}), 1, 5)
    assert page.total == Total(LINKS + 30)


@pytest.mark.parametrize("order", ORDERS)
async def test_a_value_with_a_character_that_no_pattern_takes_finds_nothing(
    services: Services, order: LinkOrder
) -> None:
    await fill(services)
    wanted = LinkFilter(utm={"utm_campaign": ["Spring\0", "Spring sale"]}, tags=[TAG])
    page = await services.links.lists.page(ACCOUNT, wanted, 1, 5, order)
    assert page.total == Total(len(RARE))
