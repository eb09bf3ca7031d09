"""Metrics of several processes: each counts in a file, and a scrape of any process adds them up.

`run.py` enters `multiprocess_metrics` before it imports `tracker.metrics`. Guarantee: no counter
ever falls, because a replaced worker's file is continued.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, values
from prometheus_client.multiprocess import MultiProcessCollector

_FOLDER_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"

SetWorker = Callable[[int], None]
"""A function that a worker calls with its number before it counts."""


@contextlib.contextmanager
def multiprocess_metrics(processes: int) -> Iterator[SetWorker]:
    """Yield the function that sets a worker's number. One process counts in memory."""
    if processes == 1:
        yield lambda number: None
        return
    worker = "parent"

    def set_worker(number: int) -> None:
        nonlocal worker
        worker = str(number)

    folder = tempfile.mkdtemp(prefix="tracker-metrics-")
    try:
        os.environ[_FOLDER_VARIABLE] = folder
        # Not documented in prometheus-client: values.ValueClass. Files are named after the number
        # of a worker, not after its process id. Guarded by tests/test_multiprocess_metrics.py.
        values.ValueClass = values.MultiProcessValue(lambda: worker)  # type: ignore[no-untyped-call]
        yield set_worker
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def aggregated(own: CollectorRegistry) -> CollectorRegistry:
    """Return the registry to expose: `own`, or the sum of all processes."""
    if _FOLDER_VARIABLE not in os.environ:
        return own
    together = CollectorRegistry()
    MultiProcessCollector(together)  # type: ignore[no-untyped-call]
    return together
