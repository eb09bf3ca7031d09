"""The positions of the sender's own parameters."""

from hypothesis import given
from hypothesis import strategies as st

from tracker.accounts.parameters import Position, Positions, names_of, placed
from tracker.clicks.document import OWN_PARAMETERS

NAMES = st.lists(st.sampled_from("abcdefghijklmn"), max_size=len(OWN_PARAMETERS), unique=True)


def test_a_name_has_its_position_again_after_it_was_removed() -> None:
    positions = placed(placed(placed((), ["a", "b"]), ["b", "c"]), ["c", "a"])
    assert positions == (Position("a"), Position("b", removed=True), Position("c"))


@given(st.lists(NAMES))
def test_names_keep_their_positions_and_all_that_are_asked_for_have_one(
    changes: list[list[str]],
) -> None:
    positions: Positions = ()
    for names in changes:
        before, positions = positions, placed(positions, names)
        assert sorted(names_of(positions)) == sorted(names)
        assert len(before) <= len(positions) <= len(OWN_PARAMETERS)
        for old, new in zip(before, positions, strict=False):
            assert old.name == new.name or old.name not in names
