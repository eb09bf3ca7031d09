"""The index that a list of links is read by, for each filter and order."""

import pytest

from tracker.ids import new_id
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder
from tracker.links.lists.plan import plan_of
from tracker.stores.mongodb.indexes import INDEXES
from tracker.stores.mongodb.list_indexes import LINK_LISTS, LISTS

TAGS = [new_id(), new_id()]
UTM = {"utm_source": ["none"]}


@pytest.mark.parametrize(
    ("wanted", "indexes"),
    [
        (LinkFilter(), ["by_account", "in_order_of_names"]),
        (LinkFilter(active=True, archived=True), ["by_account", "in_order_of_names"]),
        (LinkFilter(active=False, tags=TAGS), ["inactive", "inactive_in_order_of_names"]),
        (LinkFilter(tags=TAGS, active=True), ["by_tag", "by_tag_in_order_of_names"]),
        (LinkFilter(slug="abc", tags=TAGS), ["in_order_of_slugs", "in_order_of_slugs"]),
        (LinkFilter(search="a", utm=UTM), ["by_account", "in_order_of_names"]),
    ],
)
def test_a_list_is_read_in_the_order_of_its_index(wanted: LinkFilter, indexes: list[str]) -> None:
    orders: list[LinkOrder] = ["newest", "name"]
    assert [plan_of(new_id(), wanted, order).hint for order in orders] == indexes


@pytest.mark.parametrize("order", ORDERS)
def test_words_lead_to_links_but_a_slug_does_sooner(order: LinkOrder) -> None:
    wanted = LinkFilter(search="a", tags=TAGS, active=False)
    assert plan_of(new_id(), wanted, order, by_words=True).hint == "by_words"
    wanted = LinkFilter(search="a", slug="a")
    assert plan_of(new_id(), wanted, order, by_words=True).hint == "in_order_of_slugs"


@pytest.mark.parametrize(("by_words", "field"), [(True, "words"), (False, "utm_source")])
def test_links_in_the_order_of_a_list_are_compared_by_the_fields_of_their_utm_values(
    by_words: bool, field: str
) -> None:
    matching = plan_of(new_id(), LinkFilter(utm=UTM), "name", by_words).matching
    compared = matching if by_words else matching["$and"][0]
    assert {"words", "utm_source"} & compared.keys() == {field}


def test_the_index_of_each_list_exists() -> None:
    for collection, name in {("links", name) for name in LINK_LISTS.values()} | set(LISTS.items()):
        assert name in {one.document["name"] for one in INDEXES[collection]}
