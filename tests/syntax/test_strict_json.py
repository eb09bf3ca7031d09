"""Text that is JSON gives its value; anything else, whatever it is, a BadRequest with a reason."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import bounded_work
from tracker.errors import BadRequest
from tracker.syntax.strict_json import MAX_DEPTH, MAX_DIGITS, is_deeper, parse_json

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.decimals(allow_nan=False, allow_infinity=False, places=6).map(abs)
    | st.text(CHARACTERS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS), inner),
    max_leaves=20,
)
ALMOST_JSON = st.text(alphabet='[]{}",:\\u0d8fcNaInity-+.eE1 \0\ud800\ue000', max_size=60)


def parse(text: bytes) -> Any:
    return parse_json("field", text)


def refused(text: bytes) -> str:
    with pytest.raises(BadRequest) as error:
        parse(text)
    prefix, _, reason = error.value.message.partition(": ")
    assert prefix == "field"
    return reason


def written(value: Any) -> str:
    """Return the JSON text of `value`, with every digit of a Decimal."""
    if isinstance(value, dict):
        inner = (f"{json.dumps(key)}:{written(item)}" for key, item in value.items())
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return f"{value:f}" if isinstance(value, Decimal) else json.dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        *(b"{}", b' {"a" : [1, "x", null, true, false]}\r\n\t', b"0", b"-7", b"9" * MAX_DIGITS),
        *(b"1.10", b"-0.0", b"1e400", b'""', b'"\\u00fc\xc3\xbc\\n\\/\\""', b'"\\ud83d\\ude00"'),
        *(b'"\x7f\xc2\x80\xef\xbf\xbf"', b'{"$where":1,"a.b":2,"":3}', b'{"a":{"a":1},"A":2}'),
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
    ],
)
def test_json_gives_its_value_digit_by_digit(text: bytes) -> None:
    assert repr(parse(text)) == repr(json.loads(text, parse_float=Decimal))


BROKEN = [
    *(b"", b" ", b"{", b"}", b"[1,]", b'{"a":}', b'{"a":1,}', b"{'a':1}", b"{a:1}", b"{}{}"),
    *b"nul True undefined 01 +1 .5 5. 1e 0x10 1_0 --1".split(),
    *(b'"', b'"\\x"', b'"\\u12"', b'"a\nb"', b'"a\0b"', b'"a\x1fb"', b"\0", b"\xef\xbb\xbf{}"),
    *(b"\xc2\xa01", b"/* */1", b"1 // one"),
]
NOT_UTF8 = [
    b"\xff",
    b'"\xc3"',
    b'"\xc0\x80"',
    b'"\xed\xa0\x80"',
    b'"\xf4\x90\x80\x80"',
    b"\xff\xfe1\0",
]
OUT_OF_RANGE = [
    *(b"9" * (MAX_DIGITS + 1), b"-" + b"9" * MAX_DIGITS, b"9" * 100_000),
    *(b"1e99999999999999999999", b"1e-99999999999999999999", b"0e99999999999999999999"),
]
REPEATED = [
    (b'{"a":1,"a":1}', "'a'"),
    (b'{"b":1,"a":1,"\\u0061":2}', "'a'"),
    (b'[{"x":{"":1,"":2}}]', "''"),
    (b'{"%s":1,"%s":2}' % (b"a" * 100, b"a" * 100), f"'{'a' * 64}'"),
]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *((text, "must be valid JSON (") for text in BROKEN),
        *((text, "must be UTF-8") for text in NOT_UTF8),
        *((text, "a number is out of range") for text in OUT_OF_RANGE),
        *((text, f"the name {name} is repeated") for text, name in REPEATED),
        *((b'{"a":%s}' % one, f"{one.decode()} is not") for one in (b"NaN", b"Infinity")),
    ],
    ids=lambda value: repr(value[:12]),
)
def test_text_that_is_no_json_is_refused_with_the_reason(text: bytes, reason: str) -> None:
    assert refused(text).startswith(reason)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b"[" * 500_000 + b"]" * 500_000,
        b"9" * 1_000_000,
        b"1." + b"1" * 1_000_000,
        b'"' + b"\\u0061" * 170_000 + b'"',
        b"[" + b"1," * 500_000 + b"1]",
        b"{" + b",".join(b'"%d":0' % n for n in range(100_000)) + b',"0":1}',
    ],
    ids=lambda text: repr(text[:12]),
)
def test_a_hostile_megabyte_is_read_or_refused_at_once(text: bytes) -> None:
    with bounded_work():
        try:
            parse(text)
        except BadRequest as error:
            assert len(error.message) < 200


@given(VALUES)
def test_any_value_survives_being_written_and_read(value: Any) -> None:
    text = written(value)
    assert written(parse(text.encode())) == text


@given(st.binary() | ALMOST_JSON.map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_give_a_value_or_a_reason(text: bytes) -> None:
    try:
        value = parse(text)
    except BadRequest as error:
        assert error.message.startswith("field: ")
        assert error.message.encode()
    else:
        assert json.loads(text) is not None or value is None


ESCAPES = [
    *(r"\u0000", r"\ud83d", r"\uDE00", r"\ud800", r"\udc00"),
    *(r"\\", r"\u0041", r"\n", "u", "d83d", "0000"),
]


@given(st.lists(st.sampled_from(ESCAPES), max_size=8).map("".join))
def test_escapes_are_checked_by_the_characters_they_stand_for(escapes: str) -> None:
    text = f'"{escapes}"'
    value = json.loads(text)
    bad = "\0" in value or any("\ud800" <= character <= "\udfff" for character in value)
    if bad:
        assert refused(text.encode()) == "no null characters and no lone surrogates"
    else:
        assert parse(text.encode()) == value


@pytest.mark.parametrize("levels", [1, 8, 32])
@pytest.mark.parametrize(
    ("text", "depth"),
    [
        (b"", 0),
        (b"1", 0),
        (b"[[[]]]" * 100, 3),
        (b"[" * 9, 9),
        (b"[{" * 17, 34),
        (b"]]]" + b"[" * 9, 6),
        (b'"' + b"[" * 100, 0),
        (b"[" + b"[]," * 1000 + b'"' + b"[{" * 1000 + b'"]', 2),
        (b'["\\"' + b"[" * 100 + b'"]', 1),
        (b'["\\\\",' + b"[" * 40, 41),
        (b'["' + b"[" * 100 + b"\\", 1),
    ],
)
def test_depth_is_found_without_parsing(text: bytes, depth: int, levels: int) -> None:
    assert is_deeper(text, levels) == (depth > levels)
    if depth > MAX_DEPTH:
        assert refused(text) == f"at most {MAX_DEPTH} levels deep"
