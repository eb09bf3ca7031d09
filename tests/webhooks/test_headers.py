"""Own headers are checked by name and value, and nothing gets past its own line."""

from collections.abc import Mapping
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.errors import BadRequest
from tracker.webhooks.headers import (
    check_headers,
    fill_headers,
    headers_text,
    mask_values,
    masked_headers,
    parsed_headers,
    with_stored_values,
)
from tracker.webhooks.limits import MAX_HEADERS, MAX_HEADERS_CHARACTERS
from tracker.webhooks.macros import Unfillable


def refused(headers: Mapping[str, str | None]) -> str:
    with pytest.raises(BadRequest) as error:
        check_headers(headers)
    return error.value.message


def test_a_name_is_a_token_and_a_value_printable_ascii_which_may_have_macros() -> None:
    for name in ("Authorization", "x-api-key", "X_Key.1", "!#$%&'*+-.^_`|~", "Cookie"):
        check_headers({name: "x"})
    for value in ("", "Bearer s3cret", "{click_id}", '{"a": "{value}"}', "a  b", "~"):
        check_headers({"X-A": value})


def test_any_other_name_or_value_is_refused() -> None:
    for name in ("", "a b", "a:", "ü", "a\r\nb", "a\n", "{x}", "a/b", '"', "(a)", "a\0"):
        rule = "a name has letters, digits and !#$%&'*+-.^_`|~"
        assert refused({name: "x"}) == f"headers.{name}: {rule}"
    for value in ("a\r\nb", "a\n", "\t", "a\0", "ü", " a", "a ", "\x7f", "{query.ü}"):
        rule = "printable ASCII, without spaces at its ends"
        assert refused({"X-A": value}) == f"headers.X-A: {rule}"


@pytest.mark.parametrize(
    "name",
    [
        *("Host", "content-length", "Content-Type", "Content-Encoding", "Transfer-Encoding"),
        *("Connection", "Keep-Alive", "TE", "Trailer", "Upgrade", "HTTP2-Settings", "Expect"),
        *("User-Agent", "Accept-Encoding", "Proxy-Authorization", "Proxy-Connection"),
        *("webhook-id", "Webhook-Signature", "WEBHOOK-TIMESTAMP", "webhook-other"),
    ],
)
def test_names_that_http_or_the_service_sets_are_refused(name: str) -> None:
    assert refused({name: "x"}) == f"headers.{name}: is set by HTTP or by the service"


def test_an_unknown_macro_is_named_with_its_header() -> None:
    message = refused({"X-A": "{clickid}"})
    assert message.startswith("headers.X-A: unknown macro {clickid} (did you mean {click_id}?); kn")


def test_names_differ_in_more_than_case_and_are_bounded_in_number() -> None:
    assert refused({"X-A": "1", "x-a": "2"}) == "headers.x-a: is repeated; case makes no difference"
    check_headers({f"X-{number}": "" for number in range(MAX_HEADERS)})
    assert (
        refused({f"X-{number}": "" for number in range(MAX_HEADERS + 1)}) == "headers: at most 20"
    )


def test_a_change_keeps_values_that_it_names_without_one_and_drops_the_rest() -> None:
    stored = {"Authorization": "Bearer 1", "X-Old": "2"}
    sent = {"authorization": None, "X-New": "3"}
    assert with_stored_values(stored, sent) == {"authorization": "Bearer 1", "X-New": "3"}
    assert with_stored_values(stored, {}) == {}
    assert parsed_headers(headers_text(stored)) == stored
    with pytest.raises(BadRequest) as error:
        with_stored_values(stored, {"X-New": None})
    assert error.value.message == "headers.X-New: has no stored value to keep; send one"


def test_all_headers_together_are_bounded_also_with_those_that_are_kept() -> None:
    longest = "x" * (MAX_HEADERS_CHARACTERS - 6)
    assert with_stored_values({"X-A": longest}, {"X-A": None, "X-B": ""})
    for headers in ({"X-A": longest + "xxxx"}, {"X-A": None, "X-B": "1"}):
        with pytest.raises(BadRequest, match=r"headers: at most 8,192 characters in total"):
            with_stored_values({"X-A": longest}, headers)
    with pytest.raises(Unfillable, match=r"headers: with their macros filled longer than 8,192"):
        fill_headers({"X-A": "{slug}"}, {"slug": longest + "xxxx"})


@pytest.mark.parametrize(
    ("value", "filled"),
    [
        ("Bearer {slug}", "Bearer a b"),
        ("{value}{browser}", "12.50"),
        ("{metadata}", '{"plan":"pro"}'),
        ("{internal_name}", "Gr%C3%BC%C3%9Fe%0D%0AX-Evil: 1"),
        ("100% {os}", "100% 50%25"),
        ("{gone} {}", "{gone} {}"),
    ],
)
def test_macros_are_filled_and_only_what_a_header_cannot_hold_is_encoded(
    value: str, filled: str
) -> None:
    texts = {
        "slug": "a b",
        "value": "12.50",
        "metadata": '{"plan":"pro"}',
        "internal_name": "Grüße\r\nX-Evil: 1",
        "os": "50%",
    }
    assert fill_headers({"X-A": value}, texts) == {"X-A": filled}


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_no_value_leaves_its_line_and_each_can_be_decoded(text: str) -> None:
    filled = fill_headers({"X-A": "a{slug}b"}, {"slug": text})["X-A"]
    assert filled.isascii()
    assert filled.isprintable()
    assert unquote(filled) == f"a{text}b"


def test_what_is_shown_has_the_values_of_macros_alone() -> None:
    headers = {
        "Authorization": "Bearer s3cret",
        "X-A": "{value}",
        "X-B": "k={slug};{os}",
        "X-C": "",
    }
    shown = masked_headers(headers, {"value": "1", "slug": "s", "os": "o"})
    assert shown == {"Authorization": "…", "X-A": "1", "X-B": "…s…o", "X-C": ""}


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ('{"got": "Bearer s3cret-token"}', '{"got": "Bearer …"}'),
        ("no such token: s3cret-token!", "no such token: …!"),
        ("abcdefgh and 0190b5a2", "… and 0190b5a2"),
        ("short", "short"),
        # The service reads the beginning of an answer, which may end within a value.
        ("padding, then Bearer s3cret-toke", "padding, then Bearer …"),
        ("padding, then Bearer s3cr", "padding, then Bearer …"),
        ("padding, then s3c", "padding, then s3c"),
    ],
)
def test_an_answer_is_shown_without_the_values_that_it_repeats(answer: str, shown: str) -> None:
    headers = {"Authorization": "Bearer s3cret-token", "X-A": "abcdefgh{click_id}", "X-B": "short"}
    assert mask_values(answer, headers) == shown
