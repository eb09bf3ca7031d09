"""Every rule for what a sender may say of a conversion, as JSON and as text."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

import msgspec
import pytest
from bson import Decimal128

from tests.conversions.parsing import from_json
from tests.waiting import bounded_work
from tracker.conversions.postbacks.parameters import ConversionParameters, parse_text
from tracker.errors import BadRequest

CLICK_ID = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"


def said(**fields: Any) -> ConversionParameters:
    return from_json(json.dumps({"pbk": "k", **fields}).encode())


def queried(**fields: str) -> ConversionParameters:
    return parse_text(urlencode({"pbk": "k", **fields}).encode())


def known(read: ConversionParameters) -> ConversionParameters:
    """Return what was read of our own parameters."""
    return msgspec.structs.replace(read, others=None)


def nested(levels: int, opening: str = '{"a":', closing: str = "}") -> str:
    return opening * levels + "1" + closing * levels


def test_every_field_is_read_from_json_and_from_text() -> None:
    fields = f'"pbk":"k","click_id":"{CLICK_ID}","value":12.50,"transaction_id":"t"'
    metadata = '{"a":[1,"x"]}'
    query = f"pbk=k&click_id={CLICK_ID}&value=12.50&metadata={quote(metadata)}&transaction_id=t"
    from_text, from_body = parse_text(query.encode()), f'{{{fields},"metadata":{metadata}}}'
    assert from_text == ConversionParameters(
        pbk="k",
        click_id=UUID(CLICK_ID),
        value=Decimal("12.50"),
        metadata=metadata,
        transaction_id="t",
    )
    assert from_json(from_body.encode()) == from_text
    assert said(transaction_id=2**63).transaction_id == str(2**63)


@pytest.mark.parametrize("name", ["click_id", "value", "metadata", "transaction_id", "txid"])
def test_an_empty_parameter_counts_as_not_sent(name: str) -> None:
    nothing = ConversionParameters(
        pbk="k", click_id=None, value=None, metadata=None, transaction_id=None
    )
    assert queried(**{name: ""}) == nothing
    assert said(**{name: ""}) == nothing
    assert said(**{name: None}) == nothing


@pytest.mark.parametrize(
    "fields", [{}, {"value": 1}, {"pbk": "", "click_id": ""}, {"pbk": None}, {"PBK": "k"}]
)
def test_a_conversion_without_pbk_and_click_id_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="pbk or click_id"):
        from_json(json.dumps(fields).encode())
    with pytest.raises(BadRequest, match="pbk or click_id"):
        parse_text(urlencode({name: value or "" for name, value in fields.items()}).encode())


@pytest.mark.parametrize(
    "value", ["x", CLICK_ID[:-1], CLICK_ID + "0", CLICK_ID.replace("-", ""), f"{{{CLICK_ID[2:]}}}"]
)
def test_a_malformed_click_id_is_refused(value: str) -> None:
    with pytest.raises(BadRequest, match=r"^click_id: "):
        queried(click_id=value)
    with pytest.raises(BadRequest, match=r"^click_id: "):
        said(click_id=value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"),
        ("12.50", "12.50"),
        ("-3", "-3"),
        ("1e3", "1E+3"),
        ("1.5E-3", "0.0015"),
        ("1000000000000000", "1000000000000000"),
        ("-1000000000000000", "-1000000000000000"),
        ("0.000000000000000000000000000001", "1E-30"),
        ("1e-30", "1E-30"),
        ("0.1", "0.1"),
        ("123456789012345.123456789012345", "123456789012345.123456789012345"),
    ],
)
def test_a_number_keeps_every_digit(text: str, value: str) -> None:
    for read in (
        queried(value=text),
        said(value=text),
        from_json(b'{"pbk":"k","value":%s}' % text.encode()),
    ):
        assert read.value == Decimal(value)
        assert str(read.value) == value
        assert Decimal128(Decimal(value)).to_decimal() == read.value


OUT_OF_BOUNDS = (
    *("1000000000000000.000000000000001", "1000000000000001", "1e16", "-1e16", "1e-31", "1e-9999"),
    *("0e999", "1e99999999999999999999", "0.1234567890123456789012345678901", "9" * 5000),
)
NO_NUMBERS = (
    *("NaN", "sNaN", "-Infinity", "inf", "1_000", "1,5", "0x10", "12 ", " 1", "1e", "e5", ".", "-"),
    *("--1", "1.2.3", "true", "{value}", "\u0661", "1\n", "1\0"),
)


@pytest.mark.parametrize("text", [*OUT_OF_BOUNDS, *NO_NUMBERS], ids=lambda text: text[:30])
def test_a_value_that_is_no_number_within_bounds_is_refused(text: str) -> None:
    with pytest.raises(BadRequest, match=r"^value: "):
        queried(value=text)
    if text in OUT_OF_BOUNDS:
        with pytest.raises(BadRequest, match=r"^(value|body): "):
            from_json(b'{"pbk":"k","value":%s}' % text.encode())


@pytest.mark.parametrize("value", [True, False, "12,50", "NaN", [], [1], {}, {"a": 1}])
def test_a_json_value_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(BadRequest, match=r"^value: "):
        said(value=value)


@pytest.mark.parametrize("size", [200_000, 900_000])
@pytest.mark.parametrize("pattern", ["1{}x", "1.{}x", "{}", "-.{}x", "1e{}"])
def test_a_number_of_a_megabyte_is_refused_at_once(pattern: str, size: int) -> None:
    text = pattern.format("1" * size)
    with bounded_work(), pytest.raises(BadRequest, match=r"^value: "):
        queried(value=text)


@pytest.mark.parametrize("name", ["transaction_id", "txid"])
@pytest.mark.parametrize("text", ["t", "A-1:2/3", "x" * 255, "größe 1", "订单", "$ne", "a.b"])
def test_a_transaction_id_is_kept_as_it_is(name: str, text: str) -> None:
    assert said(**{name: text}).transaction_id == text
    assert queried(**{name: text}).transaction_id == text


@pytest.mark.parametrize("name", ["transaction_id", "txid", "pbk"])
@pytest.mark.parametrize("value", ["x" * 256, "a\0b", "a\nb", "\u202e", "\u200b", "\x7f"])
def test_a_name_of_unprintable_or_too_many_characters_is_refused(name: str, value: str) -> None:
    with pytest.raises(BadRequest, match=r"^body: " if "\0" in value else rf"^{name}: "):
        said(**{name: value})
    with pytest.raises(BadRequest, match=rf"^{name}: "):
        queried(**{name: value})


@pytest.mark.parametrize("name", ["transaction_id", "txid", "pbk", "click_id"])
@pytest.mark.parametrize("value", [True, 1.5, [], ["a"], {}, {"$ne": None}])
def test_a_name_that_is_not_text_is_refused(name: str, value: Any) -> None:
    with pytest.raises(BadRequest, match=rf"^{name}: "):
        said(**{name: value})


def test_both_names_of_the_transaction_id_may_agree_but_not_differ() -> None:
    assert queried(transaction_id="t", txid="t").transaction_id == "t"
    assert queried(transaction_id="", txid="t").transaction_id == "t"
    assert said(transaction_id="", txid="t").transaction_id == "t"
    for read in (said, queried):
        with pytest.raises(BadRequest, match=r"^transaction_id: differs from txid"):
            read(transaction_id="t", txid="u")


@pytest.mark.parametrize(
    "rest", ["utm_source=x", "value2=NaN", "$where=1", "=1", "&&&", "x", "name=%E9", "%FF=1", "%zz"]
)
def test_unknown_text_parameters_are_ignored(rest: str) -> None:
    assert known(parse_text(f"pbk=k&{rest}".encode())) == queried()


def test_unknown_json_fields_are_ignored() -> None:
    read = said(utm_source="x", nested={"a": [1]}, **{"$where": "1", "": None})
    assert known(read) == said()
    assert read.others == {"utm_source": "x", "nested": {"a": [1]}, "$where": "1"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("pbk", "%FF"), ("click_id", "%FF"), ("txid", "caf%E9"), ("transaction_id", "%ED%A0%80")),
        *(("value", "1%FF"), ("metadata", "%7B%22a%22:%22%FF%22%7D"), ("metadata", "%ED%A0%80")),
    ],
)
def test_a_known_parameter_that_is_not_utf8_is_refused(name: str, text: str) -> None:
    with pytest.raises(BadRequest, match=rf"^{name}: "):
        parse_text(f"click_id={CLICK_ID if name != 'click_id' else ''}&{name}={text}".encode())


def test_the_first_value_that_is_not_empty_counts_if_a_text_parameter_repeats() -> None:
    read = parse_text(b"pbk=k&value=&value=5&value=NaN&txid=a&txid=b&pbk=other")
    assert (read.pbk, read.value, read.transaction_id) == ("k", Decimal(5), "a")


def test_more_parameters_than_anyone_sends_are_refused() -> None:
    assert parse_text(b"pbk=k" + b"&a=1" * 199).pbk == "k"
    with pytest.raises(BadRequest, match=r"^parameters: "):
        parse_text(b"pbk=k" + b"&a=1" * 200)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"{}{}", b'{"pbk":}', b"{'pbk':'k'}", b'{"pbk":"k",}', b"\xef\xbb\xbf{}"),
        *(b"pbk=k", b'{"pbk":"\xff"}', b'{"pbk":"k","x":"\xed\xa0\x80"}', b'{"pbk":"\x00"}'),
        *(b'{"pbk":"\\ud800"}', b'{"pbk":"k","x":"\\udfff"}', b'{"pbk":"\\ud800\\u0041"}'),
        *(b"[]", b'"k"', b"1", b"null", b"true", b'{"pbk":"k","pbk":"b"}', b'{"pbk":"k","x":NaN}'),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^body: "):
        from_json(body)


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ("{}", "{}"),
        (' { "a" : 1 } ', '{"a":1}'),
        ('{"$where":"1","a.b":{"$gt":0},"":1}', '{"$where":"1","a.b":{"$gt":0},"":1}'),
        ('{"a":1.10,"b":-0.0,"c":1e400}', '{"a":1.10,"b":-0.0,"c":1E+400}'),
        (
            '{"a":18446744073709551616,"b":-9223372036854775809}',
            '{"a":18446744073709551616,"b":-9223372036854775809}',
        ),
        ('{"a":"\\ud83d\\ude00ü"}', '{"a":"\U0001f600ü"}'),
        ('{"a":null,"b":[true,false]}', '{"a":null,"b":[true,false]}'),
    ],
)
def test_metadata_is_kept_as_json_text(metadata: str, text: str) -> None:
    assert queried(metadata=metadata).metadata == text
    assert from_json(f'{{"pbk":"k","metadata":{metadata}}}'.encode()).metadata == text


@pytest.mark.parametrize(
    "metadata", ["[]", "1", '"{}"', "true", "x", "{", '{"a":1,"a":2}', '{"a":NaN}']
)
def test_metadata_that_is_no_json_object_is_refused(metadata: str) -> None:
    with pytest.raises(BadRequest, match=r"^metadata: "):
        queried(metadata=metadata)
    with pytest.raises(BadRequest, match=r"^(metadata|body): "):
        from_json(f'{{"pbk":"k","metadata":{metadata}}}'.encode())


@pytest.mark.parametrize(
    ("opening", "closing"), [('{"a":', "}"), ('{"a":[', "]}"), ('{"a":[{"b":', "}]}")]
)
def test_metadata_is_at_most_eight_levels_deep(opening: str, closing: str) -> None:
    each = opening.count("{") + opening.count("[")
    most = nested(8 // each, opening, closing) if each != 3 else f'{{"a":{nested(7)}}}'
    assert queried(metadata=most).metadata == most
    with pytest.raises(BadRequest, match=r"^metadata: at most 8 levels"):
        queried(metadata=nested(9, opening, closing))


def test_metadata_is_at_most_16_kilobytes() -> None:
    frame = len('{"a":""}')
    most = {"a": "x" * (16 * 1024 - frame)}
    assert len(said(metadata=most).metadata or "") == 16 * 1024
    assert queried(metadata=json.dumps(most, indent=4)).metadata == said(metadata=most).metadata
    for over in ({"a": most["a"] + "x"}, {"a": "ü" * 8200}):
        with pytest.raises(BadRequest, match=r"^metadata: at most 16384 bytes"):
            said(metadata=over)
        with pytest.raises(BadRequest, match=r"^metadata: at most 16384 bytes"):
            queried(metadata=json.dumps(over))


def test_a_plus_is_a_space_and_a_percent_sequence_its_character() -> None:
    read = parse_text(b"pbk=k&txid=a+b%2Bc%26" + quote("ü").encode() + "é".encode())
    assert read.transaction_id == "a b+c&üé"
