"""A transaction id that was never filled in is recognized, and no number of an order is."""

from itertools import product
from urllib.parse import quote, unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conversions.parsing import from_json
from tracker.conversions.postbacks.parameters import parse_text
from tracker.errors import BadRequest
from tracker.syntax.unfilled import is_filler, unfilled

MACROS = (
    *("{transaction_id}", "{x}", "{aff_sub2}", "{order.id}", "{Order-Number}", "{$order_id}"),
    *("{{x}}", "{{ order.number }}", "{{Transaction ID}}", "{{{x}}}", "{ x }", "{_id}"),
    *("${x}", "${orderId}", "#{x}", "%{x}", "{}", "{{}}", "${}", "{ }"),
    *("[TID]", "[tid]", "[[TID]]", "[ORDER_ID]", "[object Object]", "[]"),
    *("%X%", "%%X%%", "%%order_id%%", "%ORDER_ID%", "<x>", "<ORDER-ID>", "<<x>>", "<>"),
    *("#tid#", "__TXID__", "__order_id__"),
    *("{transaction_id|upper}", "{{ order_id | lower }}", "[tid|raw]"),
    # Several, as templates of networks join them.
    *(
        "{tid}-null",
        "N/A/[CID]",
        "{tid}{cid}",
        "{tid}_{cid}",
        "{{tid}}-{{cid}}",
        "${tid}:${cid}",
        "[TID]-[CID]",
    ),
    *("%%A%%_%%B%%", "<a>/<b>", "#a#-#b#", "{a}-[B]-%C%", "{tid}-", "({tid})", "#{tid}#"),
)
SAMPLES = ("ORDER_ID", "order_id", "TRANSACTION_ID", "ORDER_ID-null", "(Order_Id)")
WORDS = (
    *("undefined", "null", "None", "NaN", "nil", "N/A", "NA", "(not set)", "not_set", "notset"),
    *("null-null", "undefined_undefined", "N/A N/A", "null--", "%28not%20set%29", "[null]"),
)
NOTHING = ("-", " ", "--", "/", "...", "()", "_", "%2D", "%20", "\u2013", "{}-{}")
DOUBTFUL = (
    "0",
    "-1",
    "unknown",
    "0-0",
    "null0",
    "nullable",
    "nothing",
    "not settled",
    "null1-null",
)
ORDERS = (
    *("1", "1001", "T-1", "order-1001", "#1001", "#1001#", "A{B}", "[2024]-17", "{A}17"),
    *(
        "[1001]",
        "{1001}",
        "{A1001}",
        "[INV-2024-0017]",
        "<1001>",
        "%1001%",
        "{a}b",
        "a[b]",
        "[",
        "}",
    ),
    *("{a190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b}", "{deadbeef-dead-beef-dead-beefdeadbeef}"),
    *("__1__", "_a_", "50%", "%", "%%", "a%20b", "ORDER_ID-7", "nullable", "undefined1", "x>y"),
    *("größe 1", "订单", "{订单}", "$ne", "a.b", "tid", "transaction", "0", "-"),
)


@pytest.mark.parametrize("text", MACROS)
def test_a_macro_of_any_notation_is_no_transaction_id(text: str) -> None:
    for sent in (text, text.upper(), f" {text}\t", quote(text, safe="")):
        assert unfilled(sent) == "an unfilled macro", sent


@pytest.mark.parametrize("text", SAMPLES)
def test_a_sample_is_no_transaction_id(text: str) -> None:
    for sent in (text, text.lower(), f" {text} "):
        assert unfilled(sent) == "a placeholder", sent
        assert not is_filler(sent)


def test_a_filler_counts_as_not_sent_with_a_warning_and_a_doubtful_id_as_one() -> None:
    for text in (*WORDS, *NOTHING, *(f" {one.upper()}\t" for one in WORDS)):
        assert is_filler(text), text
    for name, text in product(("transaction_id", "txid"), (*WORDS, *NOTHING)):
        read = parse_text(f"pbk=k&{name}={quote(text)}".encode())
        warning = f"{name}: ignored, because it stands for no value"
        assert (read.transaction_id, read.warnings) == (None, (warning,)), text
    for text in (*DOUBTFUL, *ORDERS):
        assert is_filler(text) == (not any(map(str.isalnum, text))), text
    both = parse_text(b"pbk=k&transaction_id=-&txid=T-1")
    assert (both.transaction_id, len(both.warnings)) == ("T-1", 1)
    assert from_json(b'{"pbk":"k","txid":" "}').transaction_id is None
    assert from_json(b'{"pbk":"k","txid":0}').transaction_id == "0"


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("click_id={subid}", "click_id: an unfilled macro, {subid}; send the click_id of the"),
        (f"click_id={{{'sub' * 20}}}", "click_id: an unfilled macro, {subsub"),
        ("click_id=%7Bsubid%7D", "click_id: an unfilled macro, {subid}; send"),
        ("click_id=null", "click_id: a placeholder, null; send"),
        ("click_id=7", "click_id: must be a UUID such as"),
        (f"click_id={{{'sub' * 200}}}", "click_id: must be text of 1 to 36 printable"),
        ("pbk=k&value={payout}", "value: an unfilled macro, {payout}; send a number such as"),
        ("pbk=k&value=much", "value: must be a finite number"),
    ],
)
def test_a_macro_of_another_parameter_is_refused_as_one(query: str, error: str) -> None:
    with pytest.raises(BadRequest) as refused:
        parse_text(query.encode())
    assert refused.value.message.startswith(error)


@pytest.mark.parametrize("text", ORDERS)
def test_a_number_that_an_order_may_have_is_a_transaction_id(text: str) -> None:
    assert unfilled(text) is None


NUMBERS = st.from_regex(r"[A-Za-z]{0,3}[-#./ ]?[0-9]{3,12}(-[0-9A-Za-z]{1,4})?", fullmatch=True)
BRACKETS = st.sampled_from(["{}", "[]", "<>", "##", "%%", "()", "  "])


@given(NUMBERS, BRACKETS)
def test_whatever_has_three_digits_in_a_row_is_a_transaction_id(number: str, marks: str) -> None:
    for text in (number, f"{marks[0]}{number}{marks[1]}"):
        assert unfilled(text) is None, text


@given(
    st.sampled_from(MACROS),
    st.from_regex(r"-?[0-9A-Za-z]{0,3}[0-9][0-9A-Za-z-]{0,4}", fullmatch=True),
    st.booleans(),
)
def test_a_macro_with_a_letter_or_digit_beside_it_is_a_transaction_id(
    macro: str, beside: str, before: bool
) -> None:
    text = beside + macro if before else macro + beside
    assume(unquote(text) == text)  # "%00" is a letter or digit no longer
    assert unfilled(text) is None
