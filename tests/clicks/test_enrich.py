"""The stored click: its address if it has one, its cost, and the ids of ad platforms."""

from typing import Any
from unittest.mock import Mock

import pytest

from tests.factories import make_click
from tracker.clicks import enrich
from tracker.clicks.country import Countries
from tracker.clicks.enrich import AD_IDS, Enrichment
from tracker.clicks.visit import MAX_QUERY_CHARACTERS


@pytest.mark.parametrize("store_ip", [False, True])
def test_the_address_is_kept_only_if_the_operator_asks(store_ip: bool) -> None:
    click = make_click()
    document = Enrichment(Countries(""), store_ip).document(click)
    assert document.get("address") == (click.address if store_ip else None)
    assert (click.address in str(document)) == store_ip


@pytest.mark.parametrize(
    "query, of_link, name, cost",
    [
        ("cost=0.05", None, "cost", "0.05"),
        ("a=1&cost=1.20", "7", "cost", "1.2"),
        ("cost=.0123456789", None, "cost", "0.012345679"),
        ("cost=0", "7", "cost", "0"),
        ("bid=0.3&cost=9", None, "bid", "0.3"),
        ("cost=9", "0.25", "bid", "0.25"),
        ("cost=9", "0.25", None, "0.25"),
        ("a=1", "0.25", "cost", "0.25"),
        ("cost=9", None, None, None),
        ("mycost=9", None, "cost", None),
        ("c=cost", None, "cost", None),
    ],
)
def test_a_click_costs_what_its_parameter_says_else_what_its_link_says(
    query: str, of_link: str | None, name: str | None, cost: str | None
) -> None:
    made: Any = Enrichment(Countries(""), False).document(
        make_click(query=query, cost=of_link), name
    )
    assert (str(made["cost"]) if "cost" in made else None, "cost_unknown" in made) == (cost, False)


@pytest.mark.parametrize(
    "sent", ["", "{cost}", "%7Bbid%7D", "-1", "0,05", "$1", "1e3", "nan", "1000000.01", "9" * 99]
)
def test_a_cost_that_is_no_amount_is_unknown_and_no_zero(sent: str) -> None:
    click = make_click(query=f"cost={sent}&a=1", cost="0.25")
    made: Any = Enrichment(Countries(""), False).document(click)
    assert (made["cost_unknown"], "cost" in made) == (True, False)


def test_the_ids_of_ad_platforms_are_kept_with_the_click() -> None:
    enrichment = Enrichment(Countries(""), False)
    query = "&".join(f"{name}=Id-{name}%21" for name in AD_IDS)
    made: Any = enrichment.document(make_click(query=f"a=1&{query}&gclid=second"))
    assert made["ad_ids"] == {name: f"Id-{name}!" for name in AD_IDS}
    for none in ("xgclid=a&id=7", "gclid=", "gclid={gclid}", f"gclid={'a' * 513}", "gclid=a%0Ab"):
        assert "ad_ids" not in enrichment.document(make_click(query=none)), none


def test_an_amount_or_an_id_that_may_have_been_cut_is_not_read() -> None:
    enrichment = Enrichment(Countries(""), False)
    before = "a" * (MAX_QUERY_CHARACTERS - len("&gclid=G&cost=12"))
    made: Any = enrichment.document(make_click(query=f"{before}&gclid=G&cost=12", cost="0.25"))
    assert (made["ad_ids"], made["cost_unknown"], "cost" in made) == ({"gclid": "G"}, True, False)
    made = enrichment.document(make_click(query=f"{before}&cost=12&gclid=G"))
    assert (str(made["cost"]), "ad_ids" in made) == ("12", False)


def test_an_id_that_is_repeated_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Mock(return_value="G")
    monkeypatch.setattr(enrich, "parameter", looked)
    Enrichment(Countries(""), False).document(make_click(query="gclid=&" * 1000))
    assert looked.call_count == 1
