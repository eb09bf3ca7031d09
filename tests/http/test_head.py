"""Heads: the fields are Tornado's HTTPHeaders in every way, whatever was read before."""

import copy
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders, HTTPInputError

from tests.http.conformance import ROWS
from tests.http.exchange_record import LIMITS
from tracker.http.head import Head, HeadReader, check_partial
from tracker.http.limits import Limits
from tracker.http.rejection import RejectedRequest

WIDE = Limits(fields=1000)
TOKEN = "!#$%&'*+-.^_`|~019AaZz"
OWN = ("host", "content-length", "transfer-encoding", "connection", "upgrade", "proxy-connection")

names = st.text(TOKEN, min_size=1, max_size=12) | st.sampled_from(
    [
        "Accept",
        "accept",
        "ACCEPT",
        "X-Forwarded-For",
        "Set-Cookie",
        "etag",
        "TE",
        "www-authenticate",
    ]
)
values = st.text(
    st.characters(max_codepoint=255, blacklist_categories=["Cc"], whitelist_characters="\t"),
    max_size=30,
)
fields = st.lists(
    st.tuples(names.filter(lambda name: name.lower() not in OWN), values), max_size=12
)


def raw_of(pairs: list[tuple[str, str]]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in pairs)
    return f"GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n".encode("latin-1")


def read(reader: HeadReader, raw: bytes, limits: Limits = WIDE) -> Head:
    return reader.read(raw, 0, raw.index(b"\r\n\r\n") + 4, limits)


def tornados(raw: bytes) -> HTTPHeaders | None:
    """None if Tornado refuses them."""
    lines = raw.decode("latin-1").partition("\r\n")[2]
    try:
        return HTTPHeaders.parse(lines)
    except HTTPInputError:
        return None


def all_that_shows(headers: HTTPHeaders) -> object:
    keys = list(headers)
    return (
        list(headers.get_all()),
        [(key, headers[key], headers.get_list(key), key.lower() in headers) for key in keys],
        list(headers.items()),
        len(headers),
        str(headers),
        "Missing" in headers,
        headers.get("Missing"),
        list(copy.copy(headers).get_all()),
        headers == HTTPHeaders(headers),
    )


@given(fields)
def test_received_fields_are_as_tornado_reads_them(pairs: list[tuple[str, str]]) -> None:
    raw = raw_of(pairs)
    expected = tornados(raw)
    assert expected is not None
    assert all_that_shows(read(HeadReader(), raw).headers) == all_that_shows(expected)


@given(fields, names)
def test_they_are_looked_up_as_tornados(pairs: list[tuple[str, str]], absent: str) -> None:
    raw = raw_of(pairs)
    ours, expected = read(HeadReader(), raw).headers, tornados(raw)
    assert expected is not None
    for name in ("host", absent, *(name for name, _ in pairs)):
        assert ours.get(name) == expected.get(name)
        assert ours.get(name, "default") == expected.get(name, "default")
        if name in expected:
            assert ours[name] == expected[name]
        else:
            with pytest.raises(KeyError):
                ours[name]
    assert all_that_shows(ours) == all_that_shows(expected)


CHANGES: dict[str, Callable[[HTTPHeaders], object]] = {
    "add": lambda headers: headers.add("a", "3"),
    "add another": lambda headers: headers.add("b", "3"),
    "set": lambda headers: headers.update({"a": "3"}),
    "delete": lambda headers: headers.pop("a"),
    "clear": lambda headers: headers.clear(),
    "change a list": lambda headers: headers.get_list("a").append("3"),
    "parse a line": lambda headers: headers.parse_line("A: 3"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda headers: headers])
def test_the_first_thing_done_to_them_may_be_a_change(
    change: Callable[[HTTPHeaders], object], again: Callable[[HTTPHeaders], HTTPHeaders]
) -> None:
    raw = raw_of([("A", "1"), ("a", "2")])
    ours, expected = read(HeadReader(), raw).headers, tornados(raw)
    assert expected is not None
    ours = again(ours)
    change(ours)
    change(expected)
    assert (ours.get("a"), ours.get("b")) == (expected.get("a"), expected.get("b"))
    assert all_that_shows(ours) == all_that_shows(expected)


@given(fields, names, values)
def test_they_can_be_changed_as_tornados(
    pairs: list[tuple[str, str]], name: str, value: str
) -> None:
    raw = raw_of(pairs)
    ours, expected = read(HeadReader(), raw).headers, tornados(raw)
    assert expected is not None
    for headers in (ours, expected):
        headers.get(name)
        headers.add(name, value.strip(" \t") or "x")
        headers["X-New"] = "new"
        del headers["Host"]
    assert all_that_shows(ours) == all_that_shows(expected)


WHOLE = [row.raw for row in ROWS if b"\r\n\r\n" in row.raw.lstrip(b"\r\n")]


def outcome(reader: HeadReader, raw: bytes) -> object:
    try:
        head = read(reader, raw.lstrip(b"\r\n"), LIMITS)
    except RejectedRequest as rejected:
        return rejected.status, rejected.reason
    return head._replace(headers=HTTPHeaders(head.headers)), str(head.headers)


@given(st.lists(st.sampled_from(WHOLE), min_size=1, max_size=8))
def test_what_was_read_before_makes_no_difference(raws: list[bytes]) -> None:
    reader = HeadReader()
    assert [outcome(reader, raw) for raw in raws] == [outcome(HeadReader(), raw) for raw in raws]


def test_every_head_of_the_table_leaves_its_reader_as_it_was() -> None:
    reader = HeadReader()
    plain = raw_of([("A", "b")])
    expected = outcome(HeadReader(), plain)
    for raw in WHOLE:
        outcome(reader, raw)
        assert outcome(reader, plain) == expected, raw


@pytest.mark.parametrize("name", ["Connection", "Proxy-Connection"])
@pytest.mark.parametrize("value", ["close", "keep-alive", "upgrade", "close, keep-alive", ""])
def test_no_option_of_a_connection_reaches_the_next(name: str, value: str) -> None:
    reader = HeadReader()
    read(reader, raw_of([(name, value)]))
    assert read(reader, raw_of([])).keep_alive


class Watched(bytes):
    """Notes how many of its bytes were searched or copied."""

    looked_at = 0

    def find(self, sub, start=0, end=None):  # type: ignore[no-untyped-def]
        self.looked_at += max(0, min(len(self), len(self) if end is None else end) - start)
        return super().find(sub, start, end)

    def __getitem__(self, key):  # type: ignore[no-untyped-def]
        piece = super().__getitem__(key)
        self.looked_at += len(piece) if isinstance(piece, bytes) else 1
        return piece


def test_a_long_target_that_comes_byte_by_byte_is_looked_at_once() -> None:
    raw = b"GET /" + b"a" * 5_000
    looked_at = 0
    for length in range(1, len(raw)):
        data = Watched(raw[:length])
        check_partial(data, 0, length - 1, Limits())
        looked_at += data.looked_at
    assert looked_at <= 3 * len(raw)


NARROW = Limits(target_bytes=20, head_bytes=60, fields=3)
HOST = b"Host: a\r\n"


def status_of(raw: bytes) -> int:
    """Return the status that rejects the head, 200 if it is accepted."""
    try:
        read(HeadReader(), raw, NARROW)
    except RejectedRequest as rejected:
        return rejected.status
    return 200


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 414)])
def test_a_target_may_be_as_long_as_its_limit(more: int, status: int) -> None:
    target = b"/" + b"a" * (NARROW.target_bytes - 1 + more)
    assert status_of(b"GET %b HTTP/1.1\r\n%b\r\n" % (target, HOST)) == status


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 431)])
def test_a_head_may_be_as_long_as_its_limit(more: int, status: int) -> None:
    start = b"GET / HTTP/1.1\r\n%bA: " % HOST
    value = b"a" * (NARROW.head_bytes - len(start) - len(b"\r\n\r\n") + more)
    assert status_of(b"%b%b\r\n\r\n" % (start, value)) == status


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 431)])
def test_a_head_may_have_as_many_fields_as_its_limit(more: int, status: int) -> None:
    others = b"A: b\r\n" * (NARROW.fields - 1 + more)
    assert status_of(b"GET / HTTP/1.1\r\n%b%b\r\n" % (HOST, others)) == status


def partial_status(data: bytes, limits: Limits) -> int:
    """Return the status that rejects the beginning of a head, 200 if more may come."""
    try:
        check_partial(data, 0, 0, limits)
    except RejectedRequest as rejected:
        return rejected.status
    return 200


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 414)])
def test_a_request_line_that_is_not_complete_may_be_64_bytes_longer_than_a_target(
    more: int, status: int
) -> None:
    limits = Limits(target_bytes=20)
    assert partial_status(b"GET /".ljust(20 + 64 + more, b"a"), limits) == status


@pytest.mark.parametrize(("more", "status"), [(0, 200), (1, 431)])
def test_a_head_that_is_not_complete_may_be_as_long_as_its_limit(more: int, status: int) -> None:
    start = b"GET / HTTP/1.1\r\n%bA: " % HOST
    assert partial_status(start.ljust(NARROW.head_bytes + more, b"a"), NARROW) == status


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("CONNECT a:80", "a:80"),
        ("CONNECT *", "*"),
        ("OPTIONS *", "*"),
        ("OPTIONS http://b", "*"),
        ("OPTIONS http://b/x", "/x"),
        ("GET http://b", "/"),
        ("GET http://b?x", "/?x"),
    ],
)
def test_a_target_need_not_be_a_path_where_the_method_allows_it(line: str, target: str) -> None:
    head = read(HeadReader(), f"{line} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    assert head.start_line.path == target
    assert head.headers["Host"] == ("b" if "http" in line else "a")


@pytest.mark.parametrize("line", ["GET *", "OPTIONS *a", "OPTIONS a:80", "GET http://u@b"])
def test_no_other_target_than_a_path_is_accepted(line: str) -> None:
    with pytest.raises(RejectedRequest) as rejected:
        read(HeadReader(), f"{line} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    assert rejected.value.status == 400
