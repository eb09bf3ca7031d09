"""Ids: their texts."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tracker.ids import id_text


@given(st.uuids())
def test_the_text_of_the_bytes_of_an_id_is_that_of_the_id(one: UUID) -> None:
    assert id_text(one.bytes) == str(one)
