"""The fields that every answer carries, whoever makes it: rendered once a second."""

import time
from email.utils import formatdate
from functools import lru_cache


def own_fields() -> bytes:
    """`Date` and `Server`, each with its line end."""
    return _rendered(int(time.time()))


@lru_cache(maxsize=1)
def _rendered(second: int) -> bytes:
    return f"Date: {formatdate(second, usegmt=True)}\r\nServer: tracker\r\n".encode()
