"""Parts of a batch: each record once, those of a link together."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import make_click, make_conversion
from tracker.clicks.click import Click
from tracker.conversions.conversion import Conversion
from tracker.ingest.batch_parts import apply_in_parts, parts_of
from tracker.ingest.record import Record

SIZE = 20


def clicks_of(number: int, links: int) -> list[Record]:
    """Return so many clicks, of so many links by turns."""
    ids = [bytes([*range(15), number]) for number in range(links)]
    return [make_click(link_id=ids[at % links]) for at in range(number)]


def split(records: Sequence[Record]) -> list[Sequence[Record]]:
    """Return the parts of `records`, without a loop: there is nothing to wait for."""
    splitting = parts_of(records, SIZE)
    while True:
        try:
            splitting.send(None)
        except StopIteration as end:
            found: list[Sequence[Record]] = end.value
            return found


@given(clicks=st.integers(0, 150), links=st.integers(1, 60), events=st.integers(0, 60))
def test_parts_have_each_record_once_and_are_bounded(clicks: int, links: int, events: int) -> None:
    made: list[Any] = clicks_of(clicks, links)
    named = [one.id for one in made] or [None]
    records = [
        *made,
        *(make_conversion(one, named[one % len(named)]) for one in range(1, events + 1)),
    ]
    parts = split(records)
    assert sorted(map(id, records)) == sorted(id(one) for part in parts for one in part)
    assert all(len(part) <= 1.5 * SIZE for part in parts) or len(parts) == 1


def test_clicks_of_a_link_are_in_one_part_in_their_order() -> None:
    records: list[Any] = clicks_of(100, 25)
    parts: list[Any] = split(records)
    assert len(parts) > 2
    for link in {one.link_id for one in records}:
        [holding] = [part for part in parts if any(one.link_id == link for one in part)]
        of_link = [one for one in holding if one.link_id == link]
        assert of_link == [one for one in records if one.link_id == link]


def test_an_event_is_in_the_part_of_its_click() -> None:
    records: list[Any] = clicks_of(60, 60)
    records += [make_conversion(number, one.id) for number, one in enumerate(records, 1)]
    for part in split(records):
        clicks = {one.id for one in part if isinstance(one, Click)}
        assert {one.click_id for one in part if isinstance(one, Conversion)} == clicks


async def test_parts_are_applied_one_after_another_until_one_fails() -> None:
    begun: list[Sequence[Record]] = []

    async def apply(records: Sequence[Record]) -> None:
        begun.append(records)
        if len(begun) == 3:
            raise OSError("third")

    with pytest.raises(OSError, match="third"):
        await apply_in_parts(apply, clicks_of(200, 100), SIZE)
    assert len(begun) == 3
