"""Which index a page of links is read from, and from which end."""

import math

import pytest

from tracker.ids import new_id
from tracker.links.counts.counts import KeptCounts, LinkCount
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.plan import (
    Density,
    Known,
    Rarest,
    Rows,
    counting_index_of,
    density_of,
    fallback_of,
    index_of,
    is_in_order,
    matching_of,
    rarest_first,
    rows_of,
)
from tracker.links.lists.totals import Total
from tracker.stores.mongodb.indexes import INDEXES
from tracker.stores.mongodb.list_indexes import LINK_LISTS, LISTS

RARE, HALF = new_id(), new_id()
FEW = Total(100)
COUNTS = KeptCounts(
    {
        None: LinkCount(900_000, 90_000, 10_000),
        RARE: LinkCount(100),
        HALF: LinkCount(500_000),
    },
    changes=1,
)
KNOWN = Known(COUNTS)


@pytest.mark.parametrize(
    ("skip", "limit", "total", "rows"),
    [
        (0, 26, 10, Rows(0, 26)),
        (0, 26, 1000, Rows(0, 26)),
        (475, 25, 1000, Rows(475, 25)),
        (500, 25, 1000, Rows(475, 25, is_reversed=True)),
        (975, 26, 1000, Rows(0, 25, is_reversed=True)),
        (990, 26, 1000, Rows(0, 10, is_reversed=True)),
        (1000, 26, 1000, Rows(0, 0, is_reversed=True)),
        (10**9, 26, 0, Rows(0, 0, is_reversed=True)),
    ],
)
def test_rows_are_skipped_from_the_nearer_end(
    skip: int, limit: int, total: int, rows: Rows
) -> None:
    assert rows_of(skip, limit, total) == rows


@pytest.mark.parametrize(
    ("wanted", "order", "index"),
    [
        (LinkFilter(), "newest", "by_account"),
        (LinkFilter(archived=True), "oldest", "by_account"),
        (LinkFilter(active=True), "name", "in_order_of_names"),
        (LinkFilter(active=False), "newest", "inactive"),
        (LinkFilter(active=False), "oldest", "inactive"),
        (LinkFilter(active=False), "name", "inactive_in_order_of_names"),
        (LinkFilter(active=False), "slug", "inactive_in_order_of_slugs"),
        (LinkFilter(slug="abc", active=False), "name", "in_order_of_slugs"),
        (LinkFilter(tags=[HALF]), "newest", "by_tag"),
        (LinkFilter(tags=[HALF, RARE], active=False), "oldest", "inactive"),
        (LinkFilter(tags=[HALF, RARE], all_tags=True, active=False), "oldest", "by_tag"),
        (LinkFilter(tags=[HALF], active=True), "newest", "by_tag"),
        (LinkFilter(tags=[RARE], active=False), "newest", "by_tag"),
        (LinkFilter(tags=[RARE]), "name", "by_tag"),
        (LinkFilter(tags=[HALF]), "name", "in_order_of_names"),
        (LinkFilter(tags=[HALF, RARE]), "slug", "in_order_of_slugs"),
        (LinkFilter(tags=[HALF, RARE], all_tags=True), "slug", "by_tag"),
    ],
)
def test_a_list_has_its_index(wanted: LinkFilter, order: LinkOrder, index: str) -> None:
    assert index_of(wanted, order, KNOWN, 25, FEW) == index


@pytest.mark.parametrize(
    ("wanted", "order", "density"),
    [
        (LinkFilter(), "name", Density(1.0)),
        (LinkFilter(active=False), "slug", Density(1.0)),
        (LinkFilter(active=True), "slug", Density(10 / 11, "inactive_in_order_of_slugs")),
        (LinkFilter(active=True, archived=True), "oldest", Density(1.0, "inactive")),
        (LinkFilter(tags=[HALF], active=False), "newest", Density(1 / 900)),
        (LinkFilter(tags=[HALF], active=True), "newest", Density(1 / 5000)),
    ],
)
def test_of_the_links_in_an_index_a_list_has_a_part(
    wanted: LinkFilter, order: LinkOrder, density: Density
) -> None:
    index = index_of(wanted, order, KNOWN, 25, FEW)
    assert density_of(index, wanted, order, COUNTS, FEW) == density


def test_a_list_is_in_the_order_of_its_index_unless_it_is_sorted() -> None:
    assert is_in_order("by_tag", "oldest")
    assert is_in_order("inactive_in_order_of_names", "name")
    assert not is_in_order("by_tag", "name")


def test_without_counts_links_of_tags_are_sorted() -> None:
    assert index_of(LinkFilter(tags=[HALF]), "name", Known(None), 25, FEW) == "by_tag"


UTM_A = {"utm_source": ["a"]}


@pytest.mark.parametrize(
    ("wanted", "index", "of_many", "counted"),
    [
        (LinkFilter(search="a"), "by_words", "in_order_of_names", "by_words"),
        (LinkFilter(search="*"), "by_words", "in_order_of_names", "by_words"),
        (LinkFilter(utm=UTM_A), "by_words", "in_order_of_names", "by_words"),
        (LinkFilter(utm={"utm_source": ["none"]}), "by_words", "in_order_of_names", "by_words"),
        (LinkFilter(search="a", tags=[RARE]), "by_tag", "by_tag", "by_tag"),
        (LinkFilter(tags=[RARE, HALF], all_tags=True), "by_tag", "by_tag", "by_tag"),
        (LinkFilter(search="a", slug="a"), *3 * ["in_order_of_slugs"]),
    ],
)
def test_links_of_words_are_sorted_if_they_are_few(
    wanted: LinkFilter, index: str, of_many: str, counted: str
) -> None:
    assert index_of(wanted, "name", KNOWN, 25, FEW) == index
    for many in (Total(50_000), Total(0, is_exact=False)):
        assert index_of(wanted, "name", KNOWN, 25, many) == of_many
    assert counting_index_of(wanted, KNOWN) == counted
    assert fallback_of(wanted, KNOWN, FEW, counted) is None
    is_selective = wanted.slug is None
    fallback = fallback_of(wanted, KNOWN, FEW, "in_order_of_names")
    assert fallback == (counted if is_selective else None)


def test_no_list_falls_back_to_an_index_of_very_many_links() -> None:
    wanted = LinkFilter(search="a")
    assert fallback_of(wanted, KNOWN, Total(99_999), "by_account") == "by_words"
    assert fallback_of(wanted, KNOWN, Total(100_001), "by_account") is None
    assert fallback_of(wanted, KNOWN, Total(0, is_exact=False), "by_account") is None
    assert fallback_of(LinkFilter(tags=[HALF, RARE]), KNOWN, FEW, "in_order_of_names") is None


@pytest.mark.parametrize(
    ("wanted", "links", "order", "found", "index", "counted"),
    [
        # Of the links with one of the words, tags, and the state, the fewest are examined.
        (LinkFilter(utm=UTM_A, tags=[RARE]), 99, "name", 9, "by_words", "by_words"),
        (LinkFilter(utm=UTM_A, tags=[RARE]), 101, "name", 9, "by_tag", "by_tag"),
        (LinkFilter(utm=UTM_A, tags=[HALF]), 9_999, "newest", 9, "by_words", "by_words"),
        (LinkFilter(utm=UTM_A, tags=[HALF]), 9_999, "newest", 9_000, "by_tag", "by_words"),
        (LinkFilter(utm=UTM_A, tags=[HALF]), 9_999, "slug", 9_000, "in_order_of_slugs", "by_words"),
        (LinkFilter(utm=UTM_A, active=False), 9_999, "newest", 9, "by_words", "by_words"),
        (LinkFilter(utm=UTM_A, active=False), math.inf, "oldest", 9, "inactive", "inactive"),
        (LinkFilter(search="a b"), 99, "newest", 9, "by_words", "by_words"),
        (LinkFilter(search="a b"), math.inf, "newest", 9_000, "by_account", "by_words"),
    ],
)
def test_of_words_and_other_filters_the_one_with_the_fewest_links_leads_to_them(
    wanted: LinkFilter, links: float, order: LinkOrder, found: int, index: str, counted: str
) -> None:
    known = KNOWN._replace(rarest=Rarest(0, links))
    assert index_of(wanted, order, known, 25, Total(found)) == index
    assert counting_index_of(wanted, known) == counted


def test_of_several_tags_the_rarest_is_looked_up() -> None:
    wanted = LinkFilter(tags=[HALF, RARE], all_tags=True)
    assert rarest_first(wanted, COUNTS) == [RARE, HALF]


@pytest.mark.parametrize(("index", "field"), [("by_words", "words"), ("by_account", "utm_source")])
def test_links_in_another_order_are_compared_by_the_fields_of_their_utm_values(
    index: str, field: str
) -> None:
    wanted = LinkFilter(utm={"utm_source": ["none"]})
    matching = matching_of(new_id(), wanted, KNOWN, ORDERS["name"], index)
    compared = matching if index == "by_words" else matching["$and"][0]
    assert field in compared
    assert {"words", "utm_source"} - compared.keys() == {"words", "utm_source"} - {field}


def test_the_index_of_each_list_exists() -> None:
    named = {("links", name) for name in LINK_LISTS.values()} | set(LISTS.items())
    for collection, name in named:
        assert name in {one.document["name"] for one in INDEXES[collection]}
