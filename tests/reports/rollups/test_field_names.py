"""Any value of a visitor becomes a safe field name of a rollup."""

import pytest

from tracker.reports.rollups.layout import encoded


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
