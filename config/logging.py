"""Structured logs: one line a record, JSON or text, on standard error.

Fields bound with `structlog.contextvars` (the request id) go into every record of that task. The
standard library's loggers (Tornado's, the drivers') pass through the same formatter.
"""

import logging
import sys
from typing import Any

import structlog

from config.settings import Settings


def configure(settings: Settings) -> None:
    """Set up logging for the process. Called once, by `run.py` and the scripts."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        # First of all, so that what is not logged costs next to nothing.
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _renderer(settings),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    # Their lesser records repeat what was sent: commands with user data, a client's address.
    for name in ("pymongo", "asyncio", "tornado.general"):
        logging.getLogger(name).setLevel(logging.WARNING)


def _renderer(settings: Settings) -> Any:
    as_text = settings.log_format == "text"
    if settings.log_format == "auto":
        as_text = sys.stderr.isatty()
    if as_text:
        return structlog.processors.KeyValueRenderer(
            key_order=["timestamp", "level", "event"], drop_missing=True
        )
    return structlog.processors.JSONRenderer()
