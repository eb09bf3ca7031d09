"""The rows of the conformance table, and short ways to write them."""

from typing import NamedTuple

from tests.http.exchange_record import Outcome, Seen

HOST = b"Host: a.example\r\n"


class Row(NamedTuple):
    """A request and its outcome. `unlike` says why Tornado's own server differs, if it does."""

    name: str
    raw: bytes
    outcome: Outcome
    unlike: str = ""


def saw(method: str, target: str = "/", host: str = "a.example", body: bytes = b"") -> Seen:
    return Seen(method, target, host, body)


GET = saw("GET")


def get(fields: bytes = b"", line: bytes = b"GET / HTTP/1.1") -> bytes:
    return line + b"\r\n" + HOST + fields + b"\r\n"


def post(fields: bytes, body: bytes = b"") -> bytes:
    return b"POST / HTTP/1.1\r\n" + HOST + fields + b"\r\n" + body


def chunked(body: bytes, fields: bytes = b"") -> bytes:
    return post(b"Transfer-Encoding: chunked\r\n" + fields, body)


def kept(*seen: Seen, statuses: tuple[int, ...] = ()) -> Outcome:
    return Outcome(statuses or (200,) * len(seen), True, seen)


def closed(*seen: Seen, statuses: tuple[int, ...] = ()) -> Outcome:
    return Outcome(statuses or (200,) * len(seen), False, seen)


def refused(status: int = 400, *before: Seen) -> Outcome:
    return Outcome((200,) * len(before) + (status,), False, before)


def posted(body: bytes) -> Outcome:
    return kept(saw("POST", body=body))


WAITING = Outcome((), True, ())

STATUS = "Tornado answers 400 to whatever it refuses"
STRICT = "Tornado is laxer, and other readers of the same bytes may differ"
MENDED = "Tornado misreads it"
SILENT = "Tornado closes without an answer"
