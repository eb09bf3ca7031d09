"""The figures of `make growth`: medians, factors, bounds, the choice of rows and the table."""

import pytest

from lab.growth.figures import FAILED, Figures, Samples, figures, table
from lab.growth.rows import Row

FREE = Row("free", "lists", "no bound", "ms")


def found(row: Row, small: list[float], large: list[float]) -> Figures:
    samples = Samples()
    for sample in small:
        samples.add(row.key, "small", sample)
    for sample in large:
        samples.add(row.key, "large", sample)
    [one] = figures([row], samples)
    return one


def test_a_factor_is_that_of_the_medians() -> None:
    one = found(FREE, [1, 100, 2], [3, 5, 900])
    assert (one.small, one.large, one.factor) == (2, 5, 2.5)


@pytest.mark.parametrize(
    ("row", "small", "large", "holds"),
    [
        (FREE, [1], [9], None),
        (FREE._replace(max_factor=1.5), [2], [3.1], False),
        (FREE._replace(min_factor=0.8), [10], [7.9], False),
        (FREE._replace(max_large=25), [1], [26], False),
        (FREE._replace(min_large=400), [1], [400], True),
        (FREE._replace(min_large=400), [1], [399], False),
        (FREE._replace(max_factor=1.5, max_large=25), [10], [20], False),
        (FREE._replace(max_factor=1.5), [], [1], False),
        (FREE._replace(max_factor=1.5), [FAILED], [1], False),
        (FREE._replace(max_large=25), [1], [FAILED, FAILED, 1], False),
    ],
)
def test_a_bound_holds_up_to_itself_and_never_without_a_figure(
    row: Row, small: list[float], large: list[float], holds: bool | None
) -> None:
    assert found(row, small, large).holds is holds


def test_the_table_has_the_bound_and_whether_it_holds() -> None:
    bounded = FREE._replace(key="bounded", max_factor=1.5, max_large=25)
    lines = table([found(FREE, [], [1234]), found(bounded, [2], [30]), found(bounded, [2], [3])])
    heads, *rows = (" ".join(line.split()) for line in lines.splitlines())
    assert heads == "row small large factor bounds"
    assert rows == [
        "free no bound - 1,234 - ms -",
        "bounded no bound 2 30 15.00 ms <= 1.5 x, <= 25 ms DOES NOT HOLD",
        "bounded no bound 2 3 1.50 ms <= 1.5 x, <= 25 ms holds",
    ]
