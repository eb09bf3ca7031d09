"""The rows of the conformance table, and short ways to write them."""

from typing import NamedTuple

from tests.http.exchange_record import Outcome, Seen

HOST = b"Host: a.example\r\n"


class Row(NamedTuple):
    """A request and its outcome."""

    name: str
    raw: bytes
    outcome: Outcome


def saw(method: str, target: str = "/", host: str = "a.example", body: bytes = b"") -> Seen:
    return Seen(method, target, host, body)


GET = saw("GET")
AB = saw("POST", body=b"ab")


def get(fields: bytes = b"", line: bytes = b"GET / HTTP/1.1") -> bytes:
    return line + b"\r\n" + HOST + fields + b"\r\n"


def line(start: bytes) -> bytes:
    """Return a request of HTTP/1.1 whose line begins with `start`."""
    return get(line=start + b" HTTP/1.1")


def post(fields: bytes, body: bytes = b"") -> bytes:
    return b"POST / HTTP/1.1\r\n" + HOST + fields + b"\r\n" + body


def sized(length: bytes, body: bytes = b"") -> bytes:
    """Return a request with this Content-Length."""
    return post(b"Content-Length: %b\r\n" % length, body)


def hosted(host: bytes) -> bytes:
    """Return a request with this Host alone."""
    return b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host


def old(connection: bytes) -> bytes:
    """Return a request of HTTP/1.0 with this Connection."""
    return get(b"Connection: %b\r\n" % connection, b"GET / HTTP/1.0")


def coded(coding: bytes) -> bytes:
    """Return a request with this Transfer-Encoding and an empty body in chunks."""
    return post(b"Transfer-Encoding: %b\r\n" % coding, b"0\r\n\r\n")


def chunked(body: bytes, fields: bytes = b"") -> bytes:
    return post(b"Transfer-Encoding: chunked\r\n" + fields, body)


def kept(*seen: Seen, statuses: tuple[int, ...] = ()) -> Outcome:
    return Outcome(statuses or (200,) * len(seen), True, seen)


def got(target: str = "/", host: str = "a.example") -> Outcome:
    return kept(saw("GET", target, host))


def closed(*seen: Seen, statuses: tuple[int, ...] = ()) -> Outcome:
    return Outcome(statuses or (200,) * len(seen), False, seen)


def refused(status: int = 400, *before: Seen) -> Outcome:
    return Outcome((200,) * len(before) + (status,), False, before)


def posted(body: bytes) -> Outcome:
    return kept(saw("POST", body=body))


UNKNOWN = kept(statuses=(405,))
WAITING = Outcome((), True, ())


def of_lines(outcome: Outcome, *starts: bytes) -> list[Row]:
    return [Row(f"{start!r}", line(start), outcome) for start in starts]


def of_whole_lines(outcome: Outcome, *lines: bytes) -> list[Row]:
    return [Row(f"{one!r}", get(line=one), outcome) for one in lines]


def of_fields(outcome: Outcome, *fields: bytes) -> list[Row]:
    return [Row(f"{one!r}", get(one), outcome) for one in fields]


def of_codings(outcome: Outcome, *codings: bytes) -> list[Row]:
    return [Row(f"coding {one!r}", coded(one), outcome) for one in codings]


def of_chunks(outcome: Outcome, *bodies: bytes) -> list[Row]:
    return [Row(f"chunks {body!r}", chunked(body), outcome) for body in bodies]
