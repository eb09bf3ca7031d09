"""Any value of a visitor becomes a safe field name of a rollup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.reports.rollups.layout import encoded


@given(st.text())
def test_a_field_name_is_safe(value: str) -> None:
    name = encoded(value)
    assert name
    assert not set(name) & {".", "$", "\0"}


@given(st.text(), st.text())
def test_two_values_never_share_a_field(one: str, other: str) -> None:
    assert (encoded(one) == encoded(other)) == (one == other)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("", "%"),
        ("%", "%25"),
        ("Mobile Safari", "Mobile Safari"),
        ("a.b", "a%2Eb"),
        ("$a", "%24a"),
        ("münchen.example", "m%C3%BCnchen%2Eexample"),
        ("0", "0"),
    ],
)
def test_a_field_name_is_readable_where_it_can_be(value: str, name: str) -> None:
    assert encoded(value) == name
