"""A parameter that looks like one of ours is named in the answer, and a foreign one is not."""

import json
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conversions.parsing import from_json
from tracker.conversions.postbacks.aliases import (
    MAX_WARNINGS,
    AliasedParameter,
    is_alias_now,
    warnings_of,
    with_aliases,
)
from tracker.conversions.postbacks.fields import NAMES
from tracker.conversions.postbacks.parameters import parse_text


def warned(query: str) -> tuple[str, ...]:
    return warnings_of(parse_text(query.encode()))


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        *((name, "click_id") for name in ("cid", "clickid", "Click_ID", "clickId", "click-id")),
        *((name, "click_id") for name in ("CID", "subid", "sub_id", "SUBID", "CLICK_ID")),
        *((name, "transaction_id") for name in ("tid", "txn_id", "transactionId", "TXID")),
        *((name, "transaction_id") for name in ("order_id", "orderId", "Transaction_Id")),
        *((name, "value") for name in ("payout", "amount", "Value", "revenue")),
        ("Metadata", "metadata"),
        *(
            (name, "status")
            for name in ("Status", "conversion_status", "conversionStatus", "state")
        ),
        ("Currency", "currency"),
        ("occurredAt", "occurred_at"),
    ],
)
def test_a_similar_name_is_told_with_the_right_one(name: str, parameter: str) -> None:
    warning = f"{name}: ignored; did you mean {parameter}?"
    assert warned(f"pbk=k&{name}=x") == (warning,)
    assert warnings_of(from_json(json.dumps({"pbk": "k", name: 1}).encode())) == (warning,)


def test_a_similar_name_of_the_postback_key_is_told() -> None:
    click_id = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"
    assert warned(f"click_id={click_id}&PBK=k") == ("PBK: ignored; did you mean pbk?",)


@pytest.mark.parametrize(
    "rest",
    [
        *("gclid=x", "fbclid=x", "utm_source=x", "sub1=x", "aff_sub=x", "s2=x", "campaign=x"),
        *("clickid_of_yours=x", "cid=", "country=DE", "value=7&payout=7", "txid=1&tid=2", ""),
        f"{'c_' * 30}id=x",
    ],
)
def test_a_foreign_name_and_one_whose_parameter_was_sent_are_not_told(rest: str) -> None:
    assert warned(f"pbk=k&{rest}") == ()


def test_a_filler_under_an_alias_is_still_told_where_other_ignored_names_are_not() -> None:
    aliases = {"oid": AliasedParameter.TRANSACTION_ID, "amount": AliasedParameter.VALUE}
    [filler] = warnings_of(with_aliases(parse_text(b"pbk=k&oid=-"), aliases))
    [other] = warned("pbk=k&amount=1")
    assert (is_alias_now(filler, aliases), is_alias_now(other, aliases)) == (False, True)


def test_the_warnings_are_few() -> None:
    names = ("cid", "clickid", "subid", "tid", "txn", "payout", "amount", "Metadata")
    assert len(warned("pbk=k&" + "&".join(f"{name}=x" for name in names))) == MAX_WARNINGS


@given(st.dictionaries(st.text().filter(lambda name: name not in NAMES), st.text(), max_size=9))
def test_warnings_are_few_and_short_whatever_is_sent(fields: dict[str, str]) -> None:
    read = parse_text(urlencode({**fields, "pbk": "k"}, errors="surrogatepass").encode())
    found = warnings_of(read)
    assert len(found) <= MAX_WARNINGS
    assert all(len(one) <= 100 for one in found)
    assert json.loads(json.dumps(found).encode()) == list(found)
