"""A name that was damaged on its way is read as the parameter it can only be, or refused."""

from urllib.parse import quote

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conversions.parsing import from_json
from tracker.conversions.postbacks.aliases import MAX_WARNINGS, warnings_of
from tracker.conversions.postbacks.fields import fields_in_form
from tracker.conversions.postbacks.parameters import checked_parameters, parse_text
from tracker.errors import BadRequest

CLICK_ID = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"
DAMAGED = (
    *("amp;{}", "amp;amp;{}", "&amp;{}", "#038;{}", "[{}]", "{}[]", "{}[0]", "({})", '"{}"'),
    *("{{{}}}", "<{}>", "?{}", " {}", "{} ", "{}\r\n", "\n{}", "\t{}", "\ufeff{}", "{}\u200b"),
    *("{}=", "{}:", ";{}"),
)
FOREIGN = (
    *("order[value]", "items[0][value]", "address[state]", "data[metadata]", "订单value", "$value"),
    *("sub.1", "utm-source", "items[]", "[]", "1", "", "amp;utm_source", "x=y", "{sub1}", "amp;"),
)


@pytest.mark.parametrize("damage", DAMAGED)
def test_what_can_only_be_one_of_ours_is_read_as_it_with_a_warning(damage: str) -> None:
    names = {one: damage.format(one) for one in ("click_id", "value", "txid")}
    sent = "&".join(
        f"{quote(names[one])}={value}"
        for one, value in (("click_id", CLICK_ID), ("value", "20"), ("txid", "T-1"))
    )
    as_json = {"pbk": "k", names["click_id"]: CLICK_ID, names["value"]: 20, names["txid"]: "T-1"}
    for read in (parse_text(f"pbk=k&{sent}".encode()), from_json(orjson.dumps(as_json))):
        assert (str(read.click_id), str(read.value), read.transaction_id) == (CLICK_ID, "20", "T-1")
        assert type(read.transaction_id) is str
        assert [one.partition(":")[0] for one in read.warnings] == ["click_id", "value", "txid"]
        assert read.warnings[1] == (
            f"value: sent under the damaged name {names['value']!a}; it was read"
        )


def test_as_mailers_and_shops_damage_a_whole_address() -> None:
    for query in (
        f"pbk=k&amp;click_id={CLICK_ID}&amp;value=20",
        f"pbk=k&click_id%3D{CLICK_ID}&value%3D20",
        f"%EF%BB%BFpbk=k&click_id={CLICK_ID}&value=20",
        f"pbk=k&\r\nclick_id={CLICK_ID}&\r\nvalue=20",
        f"pbk=k&[click_id]={CLICK_ID}&value[]=20",
        f"pbk=k&amp;click_id={CLICK_ID}&click_id={CLICK_ID.upper()}&value=20",
    ):
        read = parse_text(query.encode())
        assert (read.pbk, str(read.click_id), str(read.value)) == ("k", CLICK_ID, "20"), query
        assert read.warnings, query


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("metadata[plan]=pro", "metadata: sent under the damaged name 'metadata[plan]', which"),
        ("event[click_id]=x", "click_id: sent under the damaged name 'event[click_id]', which"),
        ("value[eur]=5", "value: sent under the damaged name"),
        ("txid%20T-1=x", "txid: sent under the damaged name"),
        ("value=1&amp;value=2", "value: sent under the damaged name 'amp;value' too, with another"),
        ("[value]=1&value[]=2", "value: sent under the damaged name 'value[]' too, with another"),
        ("amp;txid=a&transaction_id=b", "transaction_id: differs from txid"),
        ("amp;value=x", "value: must be a finite number"),
    ],
)
def test_what_cannot_be_read_or_differs_is_refused_by_its_parameter(query: str, error: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_text(f"pbk=k&{query}".encode())
    assert refused.value.message.startswith(error)


def test_foreign_names_and_empty_damaged_ones_are_ignored_without_a_warning() -> None:
    for name in FOREIGN:
        assert warnings_of(parse_text(f"pbk=k&{quote(name)}=x".encode())) == (), name
    for query in ("amp;value=", "metadata={}&metadata[plan]=pro", "value=1&value[eur]=1"):
        assert parse_text(f"pbk=k&{query}".encode()).warnings == (), query


@pytest.mark.parametrize(
    "body",
    [
        b'{"pbk": "k", "value": 20}',
        b'\xef\xbb\xbf{"pbk":"k","value":"20"}',
        b' {\n"pbk":"k","value":20}',
    ],
)
def test_json_that_was_sent_as_a_form_is_read(body: bytes) -> None:
    read = checked_parameters(fields_in_form(body))
    assert (read.pbk, str(read.value)) == ("k", "20")


@pytest.mark.parametrize(
    "body",
    [
        *(b'{"pbk":', b'[{"pbk":"k"}]', b"\x1f\x8b\x08"),
        *(b"%7B%22pbk%22%3A%22k%22%7D", b"%7b%0a++%22pbk%22%3A+%22k%22%0A%7D"),
    ],
)
def test_a_body_that_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest, match=r"^body: "):
        fields_in_form(body)


MARKS = st.text("[]{}&;=%\n\ufeff\udcff x", max_size=60)


@given(MARKS, st.sampled_from(["pbk", "click_id", "value", "txid", "status", "sub1"]), MARKS)
def test_any_damage_is_read_refused_or_ignored(before: str, name: str, after: str) -> None:
    sent = quote(before + name + after, errors="surrogateescape")
    try:
        read = parse_text(f"pbk=k&{sent}=7".encode())
    except BadRequest:
        return
    found = warnings_of(read)
    assert len(found) <= MAX_WARNINGS
    assert all(len(one) <= 100 for one in found)
    assert orjson.loads(orjson.dumps(found)) == list(found)
