"""The stored click: its address if it has one, its cost, and the ids of ad platforms."""

from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import make_click
from tracker.clicks import enrich
from tracker.clicks.country import Countries
from tracker.clicks.enrich import AD_IDS, MAX_OWN_CHARACTERS, AccountParameters, Enrichment
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
        make_click(query=query, cost=of_link), AccountParameters(name)
    )
    assert (str(made["cost"]) if "cost" in made else None, "cost_unknown" in made) == (cost, False)


@pytest.mark.parametrize(
    "sent", ["", "{cost}", "%7Bbid%7D", "-1", "0,05", "$1", "1e3", "nan", "1000000.01", "9" * 99]
)
def test_a_cost_that_is_no_amount_is_unknown_and_no_zero(sent: str) -> None:
    click = make_click(query=f"cost={sent}&a=1", cost="0.25")
    made: Any = Enrichment(Countries(""), False).document(click)
    assert (made["cost_unknown"], "cost" in made) == (True, False)


@pytest.mark.parametrize(
    "query, host",
    [
        ("qr=1", "qr"),
        ("a=1&qr=1&utm_source=b", "qr"),
        ("qr=2", "example.com"),
        ("aqr=1", "example.com"),
        ("qr=10", "example.com"),
    ],
)
def test_a_click_by_a_qr_code_has_it_as_its_referrer(query: str, host: str) -> None:
    made = Enrichment(Countries(""), False).document(make_click(query=query))
    assert made["referrer_host"] == host


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


@pytest.mark.parametrize(
    "query, stored",
    [
        ("sub1=a&zone=7", {"parameter_0": "sub1=a", "parameter_2": "zone=7"}),
        ("zone=7", {"parameter_2": "zone=7"}),
        ("sub1=first&sub1=second", {"parameter_0": "sub1=first"}),
        ("sub1=%C3%BC+%E2%98%82&a=b", {"parameter_0": "sub1=ü ☂"}),
        ("sub1=a%3Db%26c", {"parameter_0": "sub1=a=b&c"}),
        ("sub1=%0Aa%0A", {"parameter_0": "sub1=a"}),
        ("sub1=\xc3\xbc", {"parameter_0": "sub1=ü"}),
        (f"sub1={'a' * 257}", {"parameter_0": f"sub1={'a' * MAX_OWN_CHARACTERS}"}),
        (f"sub1={'%F0%9F%98%80' * 300}", {"parameter_0": f"sub1={'😀' * MAX_OWN_CHARACTERS}"}),
        ("sub1=&zone=7", {"parameter_2": "zone=7"}),
        ("sub1={sub1}&zone=[ZONE_ID]", {}),
        ("sub1=%7Bsub1%7D&zone=null", {}),
        ("asub1=a&sub=b&sub11=c&Sub1=d&x=sub1", {}),
        ("sub1", {}),
        ("", {}),
    ],
)
def test_a_click_has_the_values_of_the_senders_own_parameters(
    query: str, stored: dict[str, str]
) -> None:
    own = {"sub1": "parameter_0", "zone": "parameter_2"}
    made: Any = Enrichment(Countries(""), False).document(
        make_click(query=query), AccountParameters(own=own)
    )
    assert {name: one for name, one in made.items() if name.startswith("parameter_")} == stored


@given(st.text(st.characters(max_codepoint=255)))
def test_any_value_of_an_own_parameter_is_stored_as_one_short_line(query: str) -> None:
    own = {"sub1": "parameter_0"}
    made = Enrichment(Countries(""), False).document(
        make_click(query=f"sub1={query}"), AccountParameters(own=own)
    )
    text = made.get("parameter_0", "sub1=")
    assert text.startswith("sub1=")
    assert len(text) <= MAX_OWN_CHARACTERS + len("sub1=")
    assert "\n" not in text.encode().decode()
