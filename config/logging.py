"""Structured logs on standard error: one line a record, JSON or text.

Fields bound with `structlog.contextvars`, such as the request id, go into every record of their
task. The standard library's loggers (Tornado's, the drivers') pass through the same formatter.

Guarantee: logging never waits for a reader of standard error. Within `background_writer` a thread
writes the lines. Elsewhere a line that cannot be written in a tenth of a second is dropped. The
supervisor has no such thread, because it forks.
"""

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, TextIO

import structlog

from config.log_text import TextRenderer
from config.log_writer import LogWriter, write_within
from config.request_line import RequestLine, json_line, text_line
from config.settings import Settings

FLUSH_SECONDS: Final = 2.0
"""A process that ends waits so long until its last lines are read."""

_DIRECT_WRITE_SECONDS: Final = 0.1
"""The time limit for writing a line without a thread."""

WriteRequest = Callable[[str, str, int, float, str | None], None]
"""Writes the line of a request (`config/request_line`)."""


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
        # The filter is first, so that a record below the level costs next to nothing.
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer, request_line = _rendering(settings)
    handler = LineHandler(LineOutput(sys.stderr), request_line)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    # Below WARNING these loggers write user data: commands, a client's address.
    for name in ("pymongo", "asyncio", "tornado.general"):
        logging.getLogger(name).setLevel(logging.WARNING)


@contextlib.contextmanager
def background_writer(on_drop: Callable[[int], None]) -> Iterator[None]:
    """Write log lines from a thread while the body runs, which must not fork.

    `on_drop` is called with the number of lines that were dropped because nobody read them. On
    exit the queued lines are written, for at most FLUSH_SECONDS.
    """
    outputs = [handler.output for handler in _line_handlers()]
    for output in outputs:
        output.start(on_drop)
    try:
        yield
    finally:
        for output in outputs:
            output.stop()


def request_writer() -> WriteRequest:
    """Return the function that writes a request's line, whatever the level of others.

    Before `configure` it writes nothing.
    """
    for handler in _line_handlers():
        return handler.write_request
    return lambda *_: None


def notify_operator(message: str) -> None:
    """Write `message` as a line to standard error, for at most FLUSH_SECONDS."""
    LineOutput(sys.stderr).write(f"{message}\n", FLUSH_SECONDS)


class LineOutput:
    """Writes lines to `stream`, by its descriptor if it has one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._fd = _descriptor(stream)
        self._writer: LogWriter | None = None

    def start(self, on_drop: Callable[[int], None]) -> None:
        """Start a thread, which writes from now on."""
        if self._fd is not None and self._writer is None:
            self._writer = LogWriter(self._fd, on_drop, _log_dropped)

    def stop(self) -> None:
        """Write the queued lines for at most FLUSH_SECONDS, then end the thread."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.stop(FLUSH_SECONDS)

    def write(self, line: str, seconds: float = _DIRECT_WRITE_SECONDS) -> None:
        """Write `line`. Without a thread this takes at most `seconds`."""
        if self._fd is None:
            self._stream.write(line)
            return
        data = line.encode(errors="backslashreplace")
        if self._writer is not None:
            self._writer.put(data)
        else:
            write_within(self._fd, data, seconds)


class LineHandler(logging.Handler):
    """Writes each record to `output` as a line. Requests need no record."""

    def __init__(self, output: LineOutput, request_line: RequestLine) -> None:
        super().__init__()
        self.output = output
        self._request_line = request_line

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception as error:
            line = f"a log record of {record.name} cannot be formatted: {error!r}"
        self.output.write(f"{line}\n")

    def write_request(
        self, method: str, path: str, status: int, seconds: float, request_id: str | None
    ) -> None:
        """Write the line of an answered request."""
        self.output.write(self._request_line(method, path, status, seconds, request_id))


def _log_dropped(lines: int) -> None:
    structlog.get_logger(__name__).warning("log lines dropped: nobody read them", lines=lines)


def _line_handlers() -> list[LineHandler]:
    return [one for one in logging.getLogger().handlers if isinstance(one, LineHandler)]


def _descriptor(stream: TextIO) -> int | None:
    try:
        return stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None


def _rendering(settings: Settings) -> tuple[Any, RequestLine]:
    """Return the renderer of records, and the formatter of request lines."""
    terminal = sys.stderr.isatty()
    if settings.log_format == "text" or (settings.log_format == "auto" and terminal):
        text = TextRenderer(terminal)
        return text, text_line(text)
    json = structlog.processors.JSONRenderer()
    return json, json_line(json)
