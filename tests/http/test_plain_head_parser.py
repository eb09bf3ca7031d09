"""Plain heads: cases beside those that `wild` generates."""

import pytest

from tests.http.wild import values_of
from tracker.http.fast_path import PlainHead, PlainHeadParser

NAMES = ("user-agent", "accept")
LINE = b"GET /c/abc?a=1 HTTP/1.1\r\n"
HEAD = LINE + b"Host: tracker.test\r\n"


def heads() -> PlainHeadParser[list[str]]:
    return PlainHeadParser(NAMES, values_of)


def read(plain: PlainHeadParser[list[str]], raw: bytes) -> PlainHead[list[str]] | None:
    return plain.read(raw, 0, len(raw))


@pytest.mark.parametrize("name", [b"X", b"Accept"])
@pytest.mark.parametrize("blanks", [b" " * 60, b" \t" * 30, b" a" * 30])
def test_a_long_head_that_fails_at_its_end_is_rejected_in_linear_time(
    name: bytes, blanks: bytes
) -> None:
    """A pattern that backtracks would never end here."""
    others = b"".join(b"X-%d:%b\r\n" % (number, blanks) for number in range(60))
    fields = others + name + b":" + blanks
    plain = heads()
    assert read(plain, HEAD + fields + b"\r\n\r\n") is not None
    for _ in range(2):
        assert read(plain, HEAD + fields + b"\x01\r\n\r\n") is None


@pytest.mark.parametrize(
    "fields",
    [
        b"X-%d: 1\r\nHost: a.test\r\nAccept: a\r\n\r\n",
        b"Host: go%d.test\r\nAccept: a\r\n\r\n",
        b"Host: a.test\r\nUser-Agent: %d\r\n\r\n",
    ],
    ids=["names", "hosts", "headers"],
)
def test_more_than_is_cached_is_read_the_same(fields: bytes) -> None:
    plain = heads()
    for _ in range(2):
        for number in range(3000):
            raw = LINE + fields % number
            assert read(plain, raw) == read(heads(), raw) is not None


def test_a_known_header_is_reused_with_any_request_line() -> None:
    made: list[str] = []

    def make(values: list[str]) -> str:
        made.append(values[0])
        return values[0]

    plain = PlainHeadParser(NAMES, make)
    for path in (b"/a", b"/b?c=d", b"/a", b"/e"):
        for host in ("one.test", "another.test"):
            raw = b"HEAD %b HTTP/1.1\r\nHost: %b\r\nUser-Agent: curl\r\n\r\n"
            sent = raw % (path, host.encode())
            assert plain.read(sent, 0, len(sent)) == PlainHead("HEAD", *_parts(path), host, "curl")
    assert made == ["curl"] * 2, "once more when its lines were known"


@pytest.mark.parametrize(
    ("fields", "host"),
    [
        (b"Host: tracker.test\r\nAccept: a\r\n", "tracker.test"),
        (b"host: tracker.test\r\nAccept: a\r\n", "tracker.test"),
        (b"Accept: a\r\nHost: tracker.test\r\n", "tracker.test"),
        (b"Accept: a\r\n", None),
        (b"Host: tracker.test\r\nHost: tracker.test\r\n", None),
        (b"Host: tracker.test\r\nAccept: a\r\nhOST: tracker.test\r\n", None),
        (b"Host:\r\nAccept: a\r\n", None),
        (b"Host:\r\nHost: tracker.test\r\n", None),
        (b"Host: tracker.test\r\nHost:\r\n", None),
        (b"Host: tracker.test, other.test\r\nAccept: a\r\n", None),
    ],
)
def test_a_head_has_one_host_wherever_it_stands(fields: bytes, host: str | None) -> None:
    plain = heads()
    for known in (b"Host: tracker.test\r\nAccept: a\r\n", b"Accept: a\r\n"):
        for _ in range(2):
            read(plain, LINE + known + b"\r\n")
    for _ in range(3):
        head = read(plain, LINE + fields + b"\r\n")
        assert (head and head.host) == host


@pytest.mark.parametrize(
    "line",
    [
        *(b"GET  /c/abc HTTP/1.1\r\n", b"GET /c/\xff HTTP/1.1\r\n", b"GET /c/abc HTTP/1.0\r\n"),
        *(b"POST /c/abc HTTP/1.1\r\n", b"GET /c/abc\n HTTP/1.1\r\n"),
        *(b"GET c/abc HTTP/1.1\r\n", b"GET /c/abc HTTP/1.1 \r\n", b"GET /c/a\x7f HTTP/1.1\r\n"),
        *(b"GET /c/abc\r\n", b" GET /c/abc HTTP/1.1\r\n", b"GET /c/a\tb HTTP/1.1\r\n"),
        *(b"GET /c/a#b HTTP/1.1\r\n", b"GET /c/a?%b HTTP/1.1\r\n" % (b"&" * 201), b"\r\n"),
        b"GET /c/%b HTTP/1.1\r\n" % (b"a" * 8192),
    ],
)
def test_a_known_header_does_not_make_a_request_line_plain(line: bytes) -> None:
    plain, fields = heads(), b"Host: tracker.test\r\n\r\n"
    for _ in range(3):
        assert read(plain, LINE + fields) is not None
    assert read(plain, line + fields) is None


def _parts(target: bytes) -> tuple[str, str]:
    path, _, query = target.decode().partition("?")
    return path, query


def test_a_name_may_be_given_twice_even_host() -> None:
    """An operator may choose any header to name the country."""
    plain = PlainHeadParser(("accept", "host", "connection", "accept"), values_of)
    fields = b"Connection: keep-alive\r\nAccept: a\r\n\r\n"
    for _ in range(3):
        head = read(plain, HEAD + fields)
        assert head is not None
        assert head.header == ["a", "tracker.test", "keep-alive", "a"]
    assert read(plain, HEAD + b"Connection: close\r\n\r\n") is None
