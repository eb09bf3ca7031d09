"""The limit on the open files of this process, of which every connection is one."""

import contextlib
import resource
import sys


def raise_limit() -> None:
    """Raise the limit as far as allowed. Many systems begin with 1,024."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def max_open_files() -> int:
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if files == resource.RLIM_INFINITY else files
