"""A higher limit on open files for a test: on most systems it is 1,024 by default."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def room_for(files: int) -> Iterator[None]:
    """Allow this process, and those that it starts, `files` open files; else skip the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if resource.RLIM_INFINITY != hard < files:
        pytest.skip(f"no process may have {files} open files here")
    if resource.RLIM_INFINITY != soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
