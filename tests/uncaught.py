"""The errors that reach the event loop because nothing catches them."""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def uncaught_errors() -> Iterator[list[dict[str, Any]]]:
    """Yield the list to which the loop adds the context of each error that nothing caught."""
    loop = asyncio.get_running_loop()
    uncaught: list[dict[str, Any]] = []
    handler = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, context: uncaught.append(context))
    try:
        yield uncaught
    finally:
        loop.set_exception_handler(handler)
