"""Much work is done in a thread, little at once."""

import threading

import pytest

from tracker.reports.threads import FEW_ROWS, in_thread_if_large


async def test_only_work_on_many_rows_leaves_the_thread_of_the_loop() -> None:
    here = threading.get_ident()
    assert await in_thread_if_large(FEW_ROWS, threading.get_ident) == here
    assert await in_thread_if_large(FEW_ROWS + 1, threading.get_ident) != here


@pytest.mark.parametrize("rows", [0, FEW_ROWS + 1])
async def test_errors_of_the_work_are_raised(rows: int) -> None:
    with pytest.raises(ValueError, match="not a number"):
        await in_thread_if_large(rows, _fail, "not a number")


def _fail(message: str) -> None:
    raise ValueError(message)
