"""The access log: a line for each answered request, or for a share of them.

Every request is counted, logged or not.
"""

import logging
import random
from typing import Final

import structlog

from tracker.metrics import requests

log = structlog.get_logger("tracker.access")
_is_enabled = logging.getLogger("tracker.access").isEnabledFor

_ALL: Final = 1.0
_MAX_PATH_CHARACTERS: Final = 1024
"""Longer paths are cut: one of 56 KiB would push other lines out of the log's queue."""


class AccessLog:
    """A log with a line for a `share` of the requests: 0 for none, 1 for all."""

    def __init__(self, share: float) -> None:
        self._share = share

    def record(
        self,
        method: str,
        route: str,
        path: str,
        status: int,
        seconds: float,
        request_id: str | None,
    ) -> None:
        """Count a request, and log it if it is in the share.

        `route` and `method` are labels of a metric, so they have few values. The query is not
        logged, because it may hold personal data.
        """
        requests(route, method, status).inc()
        if not self._share or not _is_enabled(logging.INFO):
            return
        if self._share < _ALL and random.random() >= self._share:  # noqa: S311
            return
        log.info(
            "request",
            method=method,
            path=path if len(path) <= _MAX_PATH_CHARACTERS else f"{path[:_MAX_PATH_CHARACTERS]}...",
            status=status,
            milliseconds=round(seconds * 1000, 1),
            request_id=request_id,
        )
