"""The header fields that every answer of a server has, rendered once a second."""

import time
from email.utils import formatdate


class DefaultHeaders:
    """The fields `Date`, `Server`, and fields that never change. Called for every answer."""

    def __init__(self, **others: str) -> None:
        """Names have `_` for `-`; a field without a value is left out."""
        self._others = "".join(
            f"{name.replace('_', '-')}: {value}\r\n" for name, value in others.items() if value
        )
        self._second = 0
        self._rendered = b""

    def __call__(self) -> bytes:
        second = int(time.time())
        if second != self._second:
            date = formatdate(second, usegmt=True)
            self._rendered = f"Date: {date}\r\nServer: tracker\r\n{self._others}".encode()
            self._second = second
        return self._rendered
