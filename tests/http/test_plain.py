"""Plain heads: what `wild` shows of any bytes, and what only a table can show."""

import pytest

from tracker.http.plain import PlainHeads

NAMES = ("user-agent", "accept")
HEAD = b"GET /c/abc?a=1 HTTP/1.1\r\nHost: tracker.test\r\n"


@pytest.mark.parametrize("name", [b"X", b"Accept"])
@pytest.mark.parametrize("blanks", [b" " * 60, b" \t" * 30, b" a" * 30])
def test_a_head_that_fails_at_its_end_is_not_tried_in_many_ways(name: bytes, blanks: bytes) -> None:
    """It would be in more ways than there are atoms; nobody would see this test end."""
    others = b"".join(b"X-%d:%b\r\n" % (number, blanks) for number in range(60))
    fields = others + name + b":" + blanks
    heads = PlainHeads(NAMES)
    assert heads.read(HEAD + fields + b"\r\n\r\n") is not None
    for _ in range(2):
        assert heads.read(HEAD + fields + b"\x01\r\n\r\n") is None


def test_more_layouts_than_are_remembered_are_read_alike() -> None:
    heads = PlainHeads(NAMES)
    for _ in range(2):
        for number in range(300):
            for other in range(5):
                fields = b"X-%d: 1\r\nY-%d: 1\r\nuser-AGENT: %d\r\n" % (number, other, number)
                head = heads.read(HEAD + fields + b"\r\n")
                assert head is not None
                assert head.values == [str(number), ""]
