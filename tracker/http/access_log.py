"""The access log: a line for each answered request, or for a share of them."""

import logging
import random
from typing import Final

from config.logging import request_writer
from config.request_line import LOGGER_NAME
from tracker.metrics import requests

_MAX_PATH_CHARACTERS: Final = 1024
"""Longer paths are cut: one of 56 KiB would push other lines out of the log's queue."""


class AccessLog:
    """A log with a line for a `share` of the requests: 0 for none, 1 for all."""

    def __init__(self, share: float) -> None:
        self._share = share if logging.getLogger(LOGGER_NAME).isEnabledFor(logging.INFO) else 0.0
        self._write = request_writer()

    def record(
        self,
        method: str,
        route: str,
        path: str,
        status: int,
        seconds: float,
        request_id: str | None,
    ) -> None:
        """Count a request; log it without its query, which may hold personal data.

        `route` and `method` are labels of a metric, so they have few values.
        """
        requests(route, method, status).inc()
        if random.random() >= self._share:  # noqa: S311
            return
        if len(path) > _MAX_PATH_CHARACTERS:
            path = f"{path[:_MAX_PATH_CHARACTERS]}..."
        self._write(method, path, status, seconds, request_id)
