"""Room for as many open files as a test needs: most systems give a process 1,024 unless it asks."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def room_for(files: int) -> Iterator[None]:
    """In this process, and in those that it starts meanwhile. Skips the test if it may not be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != hard < files:
        pytest.skip(f"no process may have {files} open files here")
    if resource.RLIM_INFINITY != soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
