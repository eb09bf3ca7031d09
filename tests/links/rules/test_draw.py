"""Draws: by weight, the same each time, and changed for no more visitors than they must be."""

from collections.abc import Sequence
from uuid import UUID

import pytest
from msgspec.structs import replace

from tests.factories import CHROME
from tracker.links.rules.draw import Draw
from tracker.links.rules.rule import Split, Variant

NUMBER = 20_000


def split_of(*weights: int, secret: str = "5e" * 16) -> Split:
    variants = [
        Variant(id=UUID(int=number), name=f"{number}", destination_url="", weight=weight)
        for number, weight in enumerate(weights)
    ]
    return Split(variants=variants, secret=secret)


def name_of(draw: Draw, address: str, agent: str = CHROME) -> str | None:
    found = draw.variant(address, agent)
    return None if found is None else found.name


def drawn(split: Split) -> list[str | None]:
    draw = Draw(split)
    addresses = (f"8.{number >> 16}.{number >> 8 & 255}.{number & 255}" for number in range(NUMBER))
    return [name_of(draw, one) for one in addresses]


def share(names: Sequence[str | None], name: str) -> float:
    return names.count(name) / NUMBER


def test_visitors_are_drawn_by_weight() -> None:
    names = drawn(split_of(700, 200, 100, 0))
    found = [share(names, one) for one in "0123"]
    assert found == pytest.approx([0.7, 0.2, 0.1, 0], abs=0.015)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((500, 500), (600, 400)),
        ((500, 500), (1000, 500)),
        ((700, 200, 100), (700, 200, 0)),
        ((100, 100, 100), (100, 100, 100, 100)),
        ((1, 1), (1, 1000)),
        ((10,) * 9, (10,) * 10),
    ],
)
def test_a_change_moves_the_changed_share_and_no_other_visitor(
    before: tuple[int, ...], after: tuple[int, ...]
) -> None:
    """A visitor moves only from a variant with a smaller share to one with a larger one."""
    old, new = drawn(split_of(*before)), drawn(split_of(*after))
    gained = sum(
        max(0.0, weight / sum(after) - (before[at] / sum(before) if at < len(before) else 0))
        for at, weight in enumerate(after)
    )
    moved = sum(one != other for one, other in zip(old, new, strict=True)) / NUMBER
    assert moved <= gained + 0.01


def test_a_paused_variant_gives_its_visitors_to_the_others_and_gets_them_back() -> None:
    split = split_of(500, 300, 200)
    first, *others = split.variants
    before = drawn(split)
    paused = drawn(replace(split, variants=[replace(first, active=False), *others]))
    assert "0" not in paused
    assert [one for one in before if one != "0"] == [
        one for one, old in zip(paused, before, strict=True) if old != "0"
    ]


def test_a_visitor_is_a_network_and_an_agent_and_draws_anew_in_another_split() -> None:
    draw = Draw(split_of(*[1] * 10))

    def variants(*addresses: str, agent: str = CHROME) -> set[str | None]:
        return {name_of(draw, one, agent) for one in addresses}

    network = [f"2001:db8::{number:x}" for number in range(100)]
    assert len(variants(*network)) == 1
    assert len(variants("8.8.8.8", "::ffff:8.8.8.8")) == 1
    assert len(variants(*(f"2001:db8:0:{number:x}::1" for number in range(100)))) == 10
    agents = [variants("8.8.8.8", agent=f"{CHROME} {number}") for number in range(100)]
    assert len(set.union(*agents)) == 10
    same, other = drawn(split_of(1, 1)), drawn(split_of(1, 1, secret="0f" * 16))
    assert share([f"{one}{two}" for one, two in zip(same, other, strict=True)], "01") == (
        pytest.approx(0.25, abs=0.015)
    )


def test_nobody_draws_a_variant_without_weight_or_that_is_not_active() -> None:
    split = split_of(0, 0)
    assert name_of(Draw(split), "8.8.8.8") is None
    paused = [replace(one, active=False, weight=1) for one in split.variants]
    assert name_of(Draw(replace(split, variants=paused)), "8.8.8.8") is None
