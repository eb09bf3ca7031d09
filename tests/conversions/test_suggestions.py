"""A parameter that looks like one of ours is named in the answer, and a foreign one is not."""

import json
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conversions.parsing import from_json
from tracker.conversions.postbacks.aliases import (
    MAX_WARNINGS,
    REJECTIONS,
    AliasedParameter,
    RejectedConversion,
    check_status,
    is_alias_now,
    warnings_of,
    with_aliases,
)
from tracker.conversions.postbacks.fields import NAMES, fields_in_text, merged
from tracker.conversions.postbacks.parameters import checked_parameters, parse_text


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


@pytest.mark.parametrize(
    "name", ["status", "Status", "conversion_status", "conversionStatus", "state"]
)
def test_a_status_is_told_and_one_that_means_rejected_is_refused(name: str) -> None:
    known = "&".join(f"sub{number}=x" for number in range(3))
    for value in ("approved", "{status}", "2", "rejected-not"):
        read = parse_text(f"pbk=k&{known}&{name}={value}".encode())
        check_status(read)
        assert warnings_of(read) == (f"{name}: ignored; only words such as rejected are read",)
    for word in (*REJECTIONS, "Rejected", " FRAUD "):
        sent = word.encode() if word in REJECTIONS else quote(word).encode()
        reads = [parse_text(b"pbk=k&%b=%b" % (name.encode(), sent))]
        reads.append(from_json(json.dumps({"pbk": "k", name: word}).encode()))
        reads.append(parse_text(b"pbk=k&%b=%b" % (quote(f"[{name}]").encode(), sent)))
        both = merged(fields_in_text(b"pbk=k&%b=%b" % (name.encode(), sent)), {name: "approved"})
        for read in (*reads, checked_parameters(both)):
            with pytest.raises(RejectedConversion) as refused:
                check_status(read)
            assert refused.value.message == (
                f"status: {word.strip().lower()}, so nothing is recorded"
            )


@pytest.mark.parametrize("rest", ["value=1", "stated=rejected", "statuses=rejected", "a=rejected"])
def test_what_is_no_status_refuses_nothing(rest: str) -> None:
    check_status(parse_text(f"pbk=k&{rest}".encode()))


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
