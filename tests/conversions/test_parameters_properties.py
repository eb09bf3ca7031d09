"""Whatever arrives is a conversion or a BadRequest, and a number stays the number it was."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from bson import Decimal128
from hypothesis import given
from hypothesis import strategies as st

from tests.conversions.parsing import from_json
from tracker.conversions.postbacks.parameters import (
    MAX_METADATA_BYTES,
    ConversionParameters,
    parse_text,
)
from tracker.errors import BadRequest

NAMES = st.sampled_from(["pbk", "click_id", "value", "metadata", "transaction_id", "txid", "x"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.just("0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b")
)
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
NUMBERS = st.from_regex(rb"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,25})?\Z")
WITHIN = st.decimals(min_value=-(10**15), max_value=10**15, places=14) | st.decimals(
    min_value=-1, max_value=1, places=29
)


def check(conversion: ConversionParameters) -> None:
    """Check the properties that the rest of the service relies on."""
    assert conversion.pbk or conversion.click_id
    if conversion.value is not None:
        assert conversion.value.is_finite()
        assert Decimal128(conversion.value).to_decimal() == conversion.value
        payout = conversion.value * Decimal("12.3456") / 100
        assert Decimal128(payout).to_decimal() == payout
    if conversion.metadata is not None:
        assert len(conversion.metadata.encode()) <= MAX_METADATA_BYTES
        assert isinstance(json.loads(conversion.metadata), dict)
    if conversion.transaction_id is not None:
        assert 1 <= len(conversion.transaction_id.encode()) <= 4 * 255


def read_or_refused(raw: bytes) -> None:
    for read in (parse_text, from_json):
        try:
            check(read(raw))
        except BadRequest as error:
            assert error.message.encode()


@given(st.binary())
def test_any_bytes_are_read_or_refused(raw: bytes) -> None:
    read_or_refused(raw)
    read_or_refused(b"pbk=k&" + raw)
    read_or_refused(b'{"pbk":"k",' + raw + b"}")


@given(st.dictionaries(NAMES, JSON))
def test_any_json_object_is_read_or_refused(fields: dict[str, Any]) -> None:
    read_or_refused(json.dumps(fields).encode())
    read_or_refused(json.dumps({"pbk": "k", "metadata": fields}).encode())


@given(st.lists(st.tuples(NAMES, st.text() | st.binary() | JSON.map(json.dumps))))
def test_any_parameters_are_read_or_refused(pairs: list[tuple[str, Any]]) -> None:
    read_or_refused(b"pbk=k&" + urlencode(pairs, errors="surrogatepass").encode())


PLAIN = st.lists(st.sampled_from(["pbk", "click_id", "value", "=", "&", "7", "1e3", "é", "\udcff"]))


@given(PLAIN.map("".join))
def test_parameters_mean_the_same_whether_or_not_one_of_them_is_encoded(query: str) -> None:
    raw = b"pbk=k&" + query.encode(errors="surrogateescape")
    assert outcome(raw + b"&ignored=x") == outcome(raw + b"&ignored=%78")


def outcome(raw: bytes) -> ConversionParameters | str:
    try:
        return parse_text(raw)
    except BadRequest as error:
        return error.message


@given(NUMBERS)
def test_any_number_is_read_or_refused(number: bytes) -> None:
    read_or_refused(b'{"pbk":"k","value":%s,"metadata":{"a":%s}}' % (number, number))
    read_or_refused(b"pbk=k&value=" + number.replace(b"+", b"%2B"))


@given(WITHIN)
def test_a_decimal_survives_exactly(number: Decimal) -> None:
    text = f"{number:f}"
    for read in (
        parse_text(urlencode({"pbk": "k", "value": text}).encode()),
        from_json(f'{{"pbk":"k","value":{text}}}'.encode()),
    ):
        assert str(read.value) == str(number)
        assert Decimal128(str(read.value)).to_decimal() == number


@given(WITHIN)
def test_a_decimal_within_metadata_survives_exactly(number: Decimal) -> None:
    read = from_json(f'{{"pbk":"k","metadata":{{"price":{number:f}}}}}'.encode())
    assert json.loads(read.metadata or "", parse_float=Decimal)["price"] == number
