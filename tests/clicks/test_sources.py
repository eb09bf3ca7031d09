"""Source dimensions: the referrer's host and the `utm_` parameters, whatever strangers send."""

import re
from typing import Any, get_type_hints
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.factories import make_click
from tracker.clicks.country import Countries
from tracker.clicks.document import SourceFields
from tracker.clicks.enrich import Enrichment
from tracker.clicks.sources import (
    FIELDS,
    SOURCES,
    referrer_host,
)
from tracker.links.hostnames import MAX_HOSTNAME_CHARACTERS
from tracker.links.utm import MAX_UTM_CHARACTERS, utm_values

BYTES = st.text(st.characters(max_codepoint=255), max_size=400)


def raw(text: str) -> str:
    """Return `text` as it is received: with one character for each byte."""
    return text.encode().decode("latin-1")


@pytest.mark.parametrize(
    ("referrer", "host"),
    [
        ("https://example.com/", "example.com"),
        ("http://www.Example.COM:8080/path?q=https://other.example/", "www.example.com"),
        ("HTTPS://t.co", "t.co"),
        ("https://example.com.", "example.com"),
        ("https://user:secret@example.com/", "example.com"),
        ("https://a@b@example.com?x", "example.com"),
        ("https://example.com#top", "example.com"),
        (r"https://example.com\@other.example/", "example.com"),
        ("https://xn--mnchen-3ya.de/", "xn--mnchen-3ya.de"),
        (raw("https://münchen.de/"), "xn--mnchen-3ya.de"),
        ("http://localhost:3000/", "localhost"),
        ("http://192.0.2.1:80/", "192.0.2.1"),
        ("http://[2001:DB8::1]:80/", "[2001:db8::1]"),
        ("android-app://com.google.android.gm/", "com.google.android.gm"),
        ("android-app://com.example.my_app", "com.example.my_app"),
    ],
)
def test_a_referrer_has_the_host_of_its_page_or_the_name_of_its_app(
    referrer: str, host: str
) -> None:
    assert referrer_host(referrer) == host


@pytest.mark.parametrize(
    "referrer",
    [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "https://",
        "https://user@/",
        "https://exa mple.com/",
        "https://example..com/",
        "https://ex%61mple.com/",
        "https://$where/",
        "http://[::1/",
        " https://example.com/",
        "https://\xff\xfe/",
        "https://" + "a." * 130 + "com/",
    ],
)
def test_anything_else_has_no_host(referrer: str) -> None:
    assert referrer_host(referrer) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("news", "news"),
        ("e-mail", "e-mail"),
        ("Spring%20sale+2026", "Spring sale 2026"),
        ("a%2Bb%26c%3Dd=e", "a+b&c=d=e"),
        ("%C3%A9t%C3%A9", "été"),
        (raw("été"), "été"),
        ("%F0%9F%91%A9%E2%80%8D%F0%9F%92%BB", "👩\u200d💻"),
        ("100%", "100%"),
        ("%zz", "%zz"),
        ("%ff%fe", "\ufffd\ufffd"),
        ("%ED%A0%80", "\ufffd\ufffd\ufffd"),
        ("a%00b%0D%0Ac%09d%7Fe%C2%85f", "abcdef"),
        ("a%E2%80%AEb%E2%80%A8c%E2%81%A6d", "abcd"),
        ("+%20%C2%A0news%09+", "news"),
        ("%E2%80%8Bnews%EF%BB%BF+", "news"),
        ("x" * 101, "x" * 100),
        ("%F0%9F%98%80" * 101, "😀" * 100),
        ("x" * 99 + "++x", "x" * 99),
        ("$where", "$where"),
        ("a.b", "a.b"),
    ],
)
def test_a_utm_parameter_is_short_decoded_text_without_control_characters(
    value: str, text: str
) -> None:
    assert utm_values(f"utm_campaign={value}") == {"utm_campaign": text}


@pytest.mark.parametrize("value", ["", "+", "%20", "%00%0A", "%E2%80%AE", "+" * 8000])
def test_an_empty_utm_parameter_is_none(value: str) -> None:
    assert utm_values(f"a=1&utm_source={value}&b=2") == {}


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("a=1&utm_source=x&b=2", {"utm_source": "x"}),
        ("utm_source=first&utm_source=second", {"utm_source": "first"}),
        ("utm_source=&utm_source=second", {}),
        ("utm_source", {}),
        ("utm_sources=x&xutm_source=x&amp;utm_source=x&UTM_SOURCE=x&utm_id=1", {}),
        ("url=https://a.example/?utm_source=x", {}),
        (
            "utm_content=5&utm_term=4&utm_campaign=3&utm_medium=2&utm_source=1",
            {name: str(number) for number, name in enumerate(FIELDS) if number},
        ),
    ],
)
def test_the_first_parameter_of_exactly_that_name_counts(
    query: str, values: dict[str, str]
) -> None:
    assert utm_values(query) == values


def test_the_table_names_the_fields_of_documents() -> None:
    assert set(FIELDS) == get_type_hints(SourceFields).keys()
    assert [one.name for one in SOURCES if one.absent == "direct"] == ["referrer"]


@given(
    st.one_of(BYTES, BYTES.map("https://".__add__), BYTES.map("android-app://".__add__)),
    st.one_of(
        BYTES,
        st.lists(st.tuples(st.sampled_from(FIELDS), BYTES), max_size=9).map(
            lambda pairs: "&".join(f"{name}={text}" for name, text in pairs)
        ),
        st.text(max_size=300).map(lambda text: f"utm_term={raw_quoted(text)}"),
    ),
)
def test_whatever_is_sent_values_are_bounded_text_without_control_characters(
    referrer: str, query: str
) -> None:
    host = referrer_host(referrer)
    found = utm_values(query)
    assert host is None or re.fullmatch(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]", host)
    assert len(host or "") <= MAX_HOSTNAME_CHARACTERS
    assert found.keys() <= set(FIELDS)
    for text in found.values():
        assert 1 <= len(text) <= MAX_UTM_CHARACTERS
        assert text == text.strip()
        assert not {category(one) for one in text} & {"Cc", "Cs", "Zl", "Zp"}
        assert text.encode().decode() == text


def raw_quoted(text: str) -> str:
    """Return `text` with each byte percent-encoded; lone surrogates become invalid UTF-8."""
    return "".join(f"%{byte:02X}" for byte in text.encode(errors="surrogatepass"))


def test_a_document_has_only_the_fields_with_a_value() -> None:
    enrichment = Enrichment(Countries(""), store_ip=False)
    query = "utm_source=news&utm_medium=&a=1"
    made: Any = enrichment.document(make_click(referrer="https://t.co/x", query=query))
    assert {name: made[name] for name in FIELDS if name in made} == {
        "referrer_host": "t.co",
        "utm_source": "news",
    }
    assert (made["referrer"], made["query"]) == ("https://t.co/x", query)
    plain = enrichment.document(make_click(referrer="", query="a=1"))
    assert not set(FIELDS) & plain.keys()
    assert not set(FIELDS) & enrichment.document(make_click(referrer="x", query="")).keys()
