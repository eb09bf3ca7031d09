"""Fields of a multipart body are read as they were sent, or the body is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.errors import BadRequest
from tracker.syntax.form_data import text_fields

KIND = "Multipart/Form-Data; boundary=----x"


def part(name: str, value: bytes) -> bytes:
    head = f'------x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
    return head.encode() + value + b"\r\n"


NAMES = st.from_regex(r"[a-z_]{1,8}", fullmatch=True)
VALUES = st.binary(max_size=30).filter(lambda raw: b"----x" not in raw)


@given(st.lists(st.tuples(NAMES, VALUES), max_size=6))
def test_every_value_comes_back_but_empty_ones(pairs: list[tuple[str, bytes]]) -> None:
    body = b"".join(part(*pair) for pair in pairs) + b"------x--\r\n"
    found = [
        (name, value.encode(errors="surrogateescape")) for name, value in text_fields(KIND, body)
    ]
    names = dict.fromkeys(name for name, _ in pairs)
    assert found == [(a, b) for name in names for a, b in pairs if a == name and b]


@given(st.text(max_size=30), st.binary(max_size=200))
def test_any_body_is_read_or_refused(rest: str, body: bytes) -> None:
    for kind, sent in ((KIND, body), (f"{KIND}; {rest}", part("a", body) + b"------x--")):
        try:
            fields = list(text_fields(kind, sent))
        except BadRequest as error:
            assert error.message.startswith("body: ")
        else:
            assert all(name and value for name, value in fields)


def test_the_parts_are_limited() -> None:
    assert len(list(text_fields(KIND, part("a", b"1") * 200 + b"------x--"))) == 200
    with pytest.raises(BadRequest):
        text_fields(KIND, part("a", b"1") * 201 + b"------x--")
