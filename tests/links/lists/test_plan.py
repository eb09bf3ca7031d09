"""The index that a list of links is read by, for each filter and order."""

import pytest

from tracker.ids import new_id
from tracker.links.lists.filter import ORDERS, LinkFilter, LinkOrder, plan_of
from tracker.stores.mongodb.indexes import INDEXES, LISTS
from tracker.stores.mongodb.link_lists import LINK_LISTS

TAGS = [new_id(), new_id()]
UTM = {"utm_source": ["none"]}


@pytest.mark.parametrize(
    ("wanted", "indexes"),
    [
        (LinkFilter(), ["by_account", "in_order_of_names"]),
        (LinkFilter(active=True, archived=True), ["by_account", "in_order_of_names"]),
        (LinkFilter(active=False, tags=TAGS), ["inactive", "inactive_in_order_of_names"]),
        (LinkFilter(state="expired", tags=TAGS), ["expired", "expired_in_order_of_names"]),
        (LinkFilter(state="scheduled"), ["scheduled", "scheduled_in_order_of_names"]),
        (LinkFilter(state="used_up"), ["used_up", "used_up_in_order_of_names"]),
        (LinkFilter(state="protected"), ["protected", "protected_in_order_of_names"]),
        (LinkFilter(tags=TAGS, active=True), ["by_tag", "by_tag_in_order_of_names"]),
        (LinkFilter(slug="abc", tags=TAGS), ["in_order_of_slugs", "in_order_of_slugs"]),
        (LinkFilter(search="a", utm=UTM), ["by_account", "in_order_of_names"]),
    ],
)
def test_a_list_is_read_in_the_order_of_its_index(wanted: LinkFilter, indexes: list[str]) -> None:
    orders: list[LinkOrder] = ["newest", "name"]
    assert [plan_of(new_id(), wanted, order).hint for order in orders] == indexes


def test_links_of_a_state_are_sorted_by_their_last_clicks() -> None:
    plans = [
        plan_of(new_id(), wanted, "last_click").hint
        for wanted in (LinkFilter(), LinkFilter(active=False), LinkFilter(state="expired"))
    ]
    found = ["in_order_of_last_clicks", "inactive_in_order_of_last_clicks", "expired"]
    assert plans == found


@pytest.mark.parametrize("order", ORDERS)
def test_a_leading_word_is_looked_up(order: LinkOrder) -> None:
    wanted = LinkFilter(search="a b", tags=TAGS, active=False)
    for leading in range(2):
        plan = plan_of(new_id(), wanted, order, leading)
        assert plan.hint == "by_words"
        assert plan.matching["words"]["$in"][0].pattern == ("^a", "^b")[leading]


@pytest.mark.parametrize(("leading", "field"), [(0, "words"), (None, "utm_source")])
def test_links_in_the_order_of_a_list_are_compared_by_the_fields_of_their_utm_values(
    leading: int | None, field: str
) -> None:
    matching = plan_of(new_id(), LinkFilter(utm=UTM), "name", leading).matching
    compared = matching["$and"][0] if leading is None else matching
    assert {"words", "utm_source"} & compared.keys() == {field}


def test_the_index_of_each_list_exists() -> None:
    for collection, name in {("links", name) for name in LINK_LISTS.values()} | set(LISTS.items()):
        assert name in {one.document["name"] for one in INDEXES[collection]}
