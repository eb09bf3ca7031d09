"""Counting in several processes as one: each counts in a file, and a scrape of any adds them up.

`run.py` enters `multiprocess_metrics` before `tracker.metrics` is imported, for metrics are made there in
the way that is set by then. A file belongs to a process's number: one that takes another's place
goes on where that stopped, so that no counter ever falls.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector

_FOLDER: Final = "PROMETHEUS_MULTIPROC_DIR"
"""Where the library keeps and finds the files."""

SetWorker = Callable[[int], None]
"""To be called by a process, with its number, before it counts."""


@contextlib.contextmanager
def multiprocess_metrics(processes: int) -> Iterator[SetWorker]:
    """One process counts in its memory."""
    if processes == 1:
        yield lambda number: None
        return
    who = "parent"

    def set_worker(number: int) -> None:
        nonlocal who
        who = str(number)

    with tempfile.TemporaryDirectory(prefix="tracker-metrics-") as folder:
        os.environ[_FOLDER] = folder
        values.ValueClass = values.MultiProcessValue(lambda: who)  # type: ignore[no-untyped-call]
        yield set_worker


def aggregated(own: CollectorRegistry) -> CollectorRegistry:
    """What there is to be told: `own`, or what all processes have counted."""
    if _FOLDER not in os.environ:
        return own
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return together
