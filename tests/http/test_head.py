"""Heads: limits at their exact bound, forms of targets, and a reader that remembers nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders

from tests.http.conformance import ROWS
from tests.http.exchange_record import LIMITS
from tests.http.heads import raw_of, read
from tracker.http.head import HeadReader, body_length, check_partial
from tracker.http.limits import Limits
from tracker.http.rejection import RejectedRequest

WHOLE = [row.raw for row in ROWS if b"\r\n\r\n" in row.raw.lstrip(b"\r\n")]


def outcome(reader: HeadReader, raw: bytes) -> object:
    try:
        head = read(reader, raw.lstrip(b"\r\n"), LIMITS)
    except RejectedRequest as rejected:
        return rejected.status, rejected.reason
    return head._replace(headers=HTTPHeaders(head.headers)), str(head.headers)


@given(st.lists(st.sampled_from(WHOLE), min_size=1, max_size=8))
def test_a_head_is_read_the_same_whatever_was_read_before(raws: list[bytes]) -> None:
    reader = HeadReader()
    assert [outcome(reader, raw) for raw in raws] == [outcome(HeadReader(), raw) for raw in raws]


def test_no_head_of_the_table_changes_how_the_next_is_read() -> None:
    reader = HeadReader()
    plain = raw_of([("A", "b")])
    expected = outcome(HeadReader(), plain)
    for raw in WHOLE:
        outcome(reader, raw)
        assert outcome(reader, plain) == expected, raw


@pytest.mark.parametrize("name", ["Connection", "Proxy-Connection"])
@pytest.mark.parametrize("value", ["close", "keep-alive", "upgrade", "close, keep-alive", ""])
def test_the_connection_options_of_a_request_do_not_affect_the_next(name: str, value: str) -> None:
    reader = HeadReader()
    read(reader, raw_of([(name, value)]))
    assert read(reader, raw_of([])).keep_alive


class Watched(bytes):
    """Bytes that count how many of them were searched or copied."""

    looked_at = 0

    def find(self, sub, start=0, end=None):  # type: ignore[no-untyped-def]
        self.looked_at += max(0, min(len(self), len(self) if end is None else end) - start)
        return super().find(sub, start, end)

    def __getitem__(self, key):  # type: ignore[no-untyped-def]
        piece = super().__getitem__(key)
        self.looked_at += len(piece) if isinstance(piece, bytes) else 1
        return piece


def test_a_long_target_that_arrives_byte_by_byte_is_searched_once() -> None:
    raw = b"GET /" + b"a" * 5_000
    looked_at = 0
    for length in range(1, len(raw)):
        data = Watched(raw[:length])
        check_partial(data, 0, length - 1, Limits())
        looked_at += data.looked_at
    assert looked_at <= 3 * len(raw)


NARROW = Limits(target_bytes=20, head_bytes=60, fields=3)
HOST = b"Host: a\r\n"


def status_of(raw: bytes, limits: Limits = NARROW) -> int:
    """Return the status that rejects the head, or 200 if it is accepted."""
    try:
        read(HeadReader(), raw, limits)
    except RejectedRequest as rejected:
        return rejected.status
    return 200


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 414)])
def test_a_target_may_have_exactly_the_limit(more: int, status: int) -> None:
    target = b"/" + b"a" * (NARROW.target_bytes - 1 + more)
    assert status_of(b"GET %b HTTP/1.1\r\n%b\r\n" % (target, HOST)) == status


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 431)])
def test_a_head_may_have_exactly_the_limit_of_bytes(more: int, status: int) -> None:
    start = b"GET / HTTP/1.1\r\n%bA: " % HOST
    value = b"a" * (NARROW.head_bytes - len(start) - len(b"\r\n\r\n") + more)
    assert status_of(b"%b%b\r\n\r\n" % (start, value)) == status


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 431)])
def test_a_head_may_have_exactly_the_limit_of_fields(more: int, status: int) -> None:
    others = b"A: b\r\n" * (NARROW.fields - 1 + more)
    assert status_of(b"GET / HTTP/1.1\r\n%b%b\r\n" % (HOST, others)) == status


def partial_status(beginning: bytes, limits: Limits, before: bytes = b"", checked: int = 0) -> int:
    """Return the status that rejects the beginning of a head, or 200 if more may come.

    `before` is in the same buffer, and was read already.
    """
    try:
        check_partial(before + beginning, len(before), checked, limits)
    except RejectedRequest as rejected:
        return rejected.status
    return 200


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.0\r\n\r\n"])
@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 414)])
def test_an_incomplete_request_line_may_be_64_bytes_longer_than_a_target(
    before: bytes, more: int, status: int
) -> None:
    limits = Limits(target_bytes=20)
    assert partial_status(b"GET /".ljust(20 + 64 + more, b"a"), limits, before) == status


@pytest.mark.parametrize("before", [b"", b"GET / HTTP/1.0\r\n\r\n"])
@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 431)])
def test_an_incomplete_head_may_have_exactly_the_limit_of_bytes(
    before: bytes, more: int, status: int
) -> None:
    start = b"GET / HTTP/1.1\r\n%bA: " % HOST
    assert partial_status(start.ljust(NARROW.head_bytes + more, b"a"), NARROW, before) == status


def test_an_incomplete_head_may_be_longer_than_its_request_line() -> None:
    data = b"GET / HTTP/1.1\r\nA: " + b"a" * 200
    check_partial(data, 0, len(data) - 1, Limits(target_bytes=20))


@pytest.mark.parametrize(("more", "status"), [(0, 400), (1, 414)])
def test_a_malformed_request_line_beyond_its_limit_is_too_long(more: int, status: int) -> None:
    line = b"GET /".ljust(NARROW.target_bytes + 64 + more, b"a")
    assert status_of(line + b"\r\n\r\n", Limits(target_bytes=20)) == status


@pytest.mark.parametrize(
    ("beginning", "status"),
    [
        (b"GET / HTTP/1.1\r\nHos", 200),
        (b"GET / HTTP/1.1\r", 200),
        (b"GET / HTTP/2.0\r\nHos", 505),
        (b"GET\r\n", 400),
        (b"GET /%b HTTP/1.1\r\n" % (b"a" * 20), 414),
        (b"GET /\0", 400),
        (b"GET / HTTP/1.1\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\rc", 400),
    ],
)
def test_an_incomplete_head_is_refused_once_it_is_malformed(beginning: bytes, status: int) -> None:
    limits = Limits(target_bytes=20)
    assert partial_status(beginning, limits) == status
    byte_by_byte = (
        partial_status(beginning[:length], limits, checked=length - 1)
        for length in range(1, len(beginning) + 1)
    )
    assert next((one for one in byte_by_byte if one != 200), 200) == status


def test_a_length_has_ascii_digits_alone() -> None:
    with pytest.raises(RejectedRequest):
        body_length("HTTP/1.1", {"Content-Length": "\u0661"})
