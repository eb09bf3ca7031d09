"""Random bytes, splits, ends and mutations: nothing fails, hangs, leaks or is confused."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from tornado.platform.asyncio import AsyncIOLoop

from tests.http.conformance import ROWS
from tests.http.wild import check_plain, requests_seen

FEW = settings(max_examples=150)

SYNTAX = (
    b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b"\0", b",", b";", b"0", b"5", b"chunked",
    b"HTTP/1.1", b"GET / HTTP/1.1\r\n", b"Host: a\r\n", b"Content-Length: 5\r\n",
    b"Connection: close\r\n", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n",
    b"\r\n\r\n", b"0\r\n\r\n",
)  # fmt: skip
"""Pieces of requests."""

wild_bytes = st.binary(max_size=300) | st.lists(
    st.sampled_from(SYNTAX) | st.binary(max_size=3), max_size=30
).map(b"".join)
rows = st.lists(st.sampled_from([row.raw for row in ROWS]), min_size=1, max_size=3).map(b"".join)


def cut(raw: bytes, places: list[int]) -> list[bytes]:
    """Return `raw` in parts, none of them empty."""
    ends = sorted({place % (len(raw) + 1) for place in places} | {0, len(raw)})
    return [raw[start:end] for start, end in pairwise(ends)]


places = st.lists(st.integers(0, 10_000), max_size=8)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    raw = bytearray(draw(rows))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(raw)))
        until = at + draw(st.integers(0, 4))
        raw[at:until] = draw(st.sampled_from(SYNTAX) | st.binary(max_size=2))
    return bytes(raw)


@settings(max_examples=400)
@given(raw=rows | mutated() | wild_bytes, places=places, with_fast_path=st.booleans())
def test_any_bytes_have_the_same_outcome_however_they_are_cut(
    io_loop: AsyncIOLoop, raw: bytes, places: list[int], with_fast_path: bool
) -> None:
    def seen(parts: list[bytes]) -> object:
        return io_loop.run_sync(lambda: requests_seen(parts, with_fast_path=with_fast_path))

    assert seen(cut(raw, places)) == seen([raw])


@FEW
@given(
    raw=rows | mutated() | wild_bytes,
    places=places,
    end=st.integers(0, 10_000),
    with_fast_path=st.booleans(),
)
def test_a_client_may_disconnect_at_any_moment(
    io_loop: AsyncIOLoop, raw: bytes, places: list[int], end: int, with_fast_path: bool
) -> None:
    parts = cut(raw[: end % (len(raw) + 1)], places)
    io_loop.run_sync(lambda: requests_seen(parts, lost=True, with_fast_path=with_fast_path))


@FEW
@given(raw=rows | mutated())
def test_a_plain_head_is_read_as_the_parser_reads_it(raw: bytes) -> None:
    check_plain(raw)
