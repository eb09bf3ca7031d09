import pytest

from tracker.limits.oldest import drop_oldest


@pytest.mark.parametrize(
    ("entries", "limit", "left"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "bcd"),
        ("abcdef", 3, "def"),
        ("a", 0, ""),
    ],
)
def test_the_entries_inserted_first_are_dropped(entries: str, limit: int, left: str) -> None:
    held = dict.fromkeys(entries)
    drop_oldest(held, limit)
    assert "".join(held) == left


def test_of_a_large_dict_some_are_dropped_at_once() -> None:
    held = dict.fromkeys(range(6401))
    drop_oldest(held, 6400)
    assert list(held) == list(range(101, 6401))
