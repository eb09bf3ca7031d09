"""Reading of the heads of requests."""

from tracker.http.head import Head, HeadReader
from tracker.http.limits import Limits

WIDE = Limits(fields=1000)


def raw_of(pairs: list[tuple[str, str]]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in pairs)
    return f"GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n".encode("latin-1")


def read(reader: HeadReader, raw: bytes, limits: Limits = WIDE) -> Head:
    return reader.read(raw, 0, raw.index(b"\r\n\r\n") + 4, limits)
