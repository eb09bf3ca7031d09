"""The country of a click: the edge decides first, then the registries, and nothing ever raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.clicks.country import COUNTRIES, Countries
from tracker.visitor_dimensions import UNKNOWN

AMERICAN = "8.8.8.8"
IRISH = "2a00:1450:4001::1"


@pytest.mark.parametrize(
    ("address", "edge", "country"),
    [
        (AMERICAN, "DE", "DE"),
        (AMERICAN, "de", "DE"),
        (AMERICAN, " fr ", "FR"),
        (AMERICAN, "XK", "XK"),
        ("10.0.0.1", "BR", "BR"),
        ("not an address", "JP", "JP"),
    ],
)
def test_the_country_of_the_edge_wins(address: str, edge: str, country: str) -> None:
    assert Countries().look_up(address, edge) == country


@pytest.mark.parametrize(
    "edge",
    ["", " ", "XX", "ZZ", "T1", "A1", "A2", "EU", "AP", "QQ", "USA", "D", "-", "ß", "ﬁ", "D E"],
)
def test_an_edge_that_names_no_country_falls_back_to_the_address(edge: str) -> None:
    assert Countries().look_up(AMERICAN, edge) == "US"


@pytest.mark.parametrize(
    ("address", "country"),
    [
        (AMERICAN, "US"),
        ("193.0.6.139", "NL"),
        (IRISH, "IE"),
        (IRISH.upper(), "IE"),
        ("::ffff:8.8.8.8", "US"),
        ("::FFFF:8.8.8.8", "US"),
        ("::ffff:808:808", "US"),
        ("0:0:0:0:0:ffff:8.8.8.8", "US"),
    ],
)
def test_an_address_has_the_country_it_is_registered_in(address: str, country: str) -> None:
    assert Countries().look_up(address, "") == country


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.1",
        "127.0.0.1",
        "::1",
        "fe80::1%eth0",
        "::ffff:10.0.0.1",
        "",
        "garbage",
        "8.8.8.8:443",
        "\0",
        "\ud800",
    ],
)
def test_a_private_or_malformed_address_is_unknown(address: str) -> None:
    assert Countries().look_up(address, "") == UNKNOWN


@given(
    st.text(st.characters(exclude_categories=())) | st.ip_addresses().map(str),
    st.text(st.characters(exclude_categories=()), max_size=4),
)
def test_any_text_gives_a_country_or_unknown(address: str, edge: str) -> None:
    assert Countries().look_up(address, edge) in COUNTRIES | {UNKNOWN}


def test_the_countries_are_those_of_iso_3166_and_kosovo() -> None:
    assert len(COUNTRIES) == 249 + 1
    assert all(len(code) == 2 and code.isascii() and code.isupper() for code in COUNTRIES)
