"""Documents and answers that have a click's visitor name every visitor dimension."""

from typing import Any, get_type_hints

import msgspec
import pytest

from tests.country_names import country_names
from tracker.clicks.document import ClickDocument, VisitorValues
from tracker.conversions.document import ConversionDocument
from tracker.feeds.api.conversion_schema import ConversionRecord
from tracker.feeds.conversions import StoredConversion
from tracker.visitor_dimensions import (
    COUNTRY_NAMES,
    NAMES,
    Agent,
    country_code,
    country_name,
    values_of,
)


@pytest.mark.parametrize("kind", [ClickDocument, ConversionDocument])
def test_a_document_names_the_dimensions_in_their_order(kind: type[Any]) -> None:
    assert tuple(name for name in get_type_hints(kind) if name in NAMES) == NAMES


@pytest.mark.parametrize("kind", [VisitorValues, StoredConversion, ConversionRecord])
def test_an_answer_has_the_dimensions_in_their_order(kind: type[msgspec.Struct]) -> None:
    assert tuple(name for name in kind.__struct_fields__ if name in NAMES) == NAMES


def test_a_visit_has_a_value_of_each_dimension() -> None:
    assert tuple(values_of("DE", Agent("mobile", "Chrome", "iOS"))) == NAMES


def test_countries_have_the_names_of_babel() -> None:
    assert COUNTRY_NAMES.read_text("utf-8") == country_names()


@pytest.mark.parametrize(("code", "name"), [("DE", "Germany"), ("AX", "Åland Islands"), ("?", "?")])
def test_a_country_is_shown_by_its_english_name(code: str, name: str) -> None:
    assert country_name(code) == name


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("Germany", "DE"),
        ("The Netherlands", "NL"),
        ("Bosnia and Herzegovina", "BA"),
        ("St Kitts and Nevis", "KN"),
        ("Saint Lucia", "LC"),
        ("Türkiye", "TR"),
        ("Turkey", "TR"),
        ("Ivory Coast", "CI"),
        ("Hong Kong", "HK"),
        ("Myanmar", "MM"),
        ("DR Congo", "CD"),
        ("Congo Republic", "CG"),
        ("São Tomé and Príncipe", "ST"),
        ("Åland Islands", "AX"),
        ("U.S. Virgin Islands", "VI"),
        ("Atlantis", ""),
        ("", ""),
    ],
)
def test_a_country_is_known_by_the_names_that_services_write(name: str, code: str) -> None:
    assert country_code(name) == code


def test_no_two_countries_share_a_name() -> None:
    codes = [row.split("\t") for row in COUNTRY_NAMES.read_text("utf-8").splitlines()[1:]]
    assert [(code, country_code(name)) for code, name in codes if country_code(name) != code] == []
