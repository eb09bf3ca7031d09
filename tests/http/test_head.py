"""The reader of heads remembers nothing, and searches each byte once."""

from tornado.httputil import HTTPHeaders

from tests.http.conformance import ROWS
from tests.http.exchange_record import LIMITS
from tests.http.heads import raw_of, read
from tracker.http.head import HeadReader, check_partial
from tracker.http.limits import Limits
from tracker.http.rejection import RejectedRequest

WHOLE = [row.raw for row in ROWS if b"\r\n\r\n" in row.raw.lstrip(b"\r\n")]


def outcome(reader: HeadReader, raw: bytes) -> object:
    try:
        head = read(reader, raw.lstrip(b"\r\n"), LIMITS)
    except RejectedRequest as rejected:
        return rejected.status, rejected.reason
    return head._replace(headers=HTTPHeaders(head.headers)), str(head.headers)


def test_no_head_of_the_table_changes_how_the_next_is_read() -> None:
    reader = HeadReader()
    plain = raw_of([("A", "b")])
    expected = outcome(HeadReader(), plain)
    for raw in WHOLE:
        outcome(reader, raw)
        assert outcome(reader, plain) == expected, raw


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
