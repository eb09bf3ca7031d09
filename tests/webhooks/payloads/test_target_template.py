"""A target is filled for each event, and a value never changes more than its own place in it."""

import tracemalloc
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.errors import BadRequest
from tracker.webhooks.limits import MAX_FILLED_TARGET_CHARACTERS
from tracker.webhooks.macros import Unfillable
from tracker.webhooks.payloads.target_template import TargetTemplate, check_target_macros

TEXTS = {
    "click_id": "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b",
    "value": "12.50",
    "transaction_id": "a/b?c=d&e#f {value}%41",
    "internal_name": "Grüße",
    "metadata.a/b": "slash",
    "query.größe": "ü",
    "query.a&b": "and",
    "country|lower": "de",
}


def url_of(target: str, texts: Mapping[str, str] = TEXTS) -> str:
    return TargetTemplate(target).fill(texts)


def refused(target: str) -> str:
    with pytest.raises(BadRequest) as error:
        check_target_macros(target)
    field, _, rule = error.value.message.partition(": ")
    assert field == "target_url"
    return rule


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("HTTPS://A.Example.:443/B", "https://a.example/B"),
        ("http://a.example:80", "http://a.example/"),
        ("http://a.example:443/", "http://a.example:443/"),
        ("https://b\u00fccher.example:8443/ü", "https://xn--bcher-kva.example:8443/%C3%BC"),
        ("http://[2606:4700:0::1111]:8080/", "http://[2606:4700::1111]:8080/"),
        ("https://a.example/%2e%2E/../b|c", "https://a.example/%2e%2E/../b|c"),
        ("https://a.example/b?", "https://a.example/b"),
        ("https://a.example?a=b", "https://a.example/?a=b"),
        ("https://a.example/b?c=d#e?f", "https://a.example/b?c=d"),
        ("https://a.example/?q=%20ü", "https://a.example/?q=%20%C3%BC"),
    ],
)
def test_the_url_is_ascii_and_its_host_the_one_that_a_certificate_names(
    target: str, url: str
) -> None:
    assert url_of(target) == url


@pytest.mark.parametrize(
    ("place", "filled"),
    [
        ("pb?cid={click_id}&v={value}", f"pb?cid={TEXTS['click_id']}&v=12.50"),
        ("{click_id}/x", f"{TEXTS['click_id']}/x"),
        ("{transaction_id}", "a%2Fb%3Fc%3Dd%26e%23f%20%7Bvalue%7D%2541"),
        ("?n={internal_name}ü&{query.größe}=1", "?n=Gr%C3%BC%C3%9Fe%C3%BC&%C3%BC=1"),
        ("{metadata.a/b}?x={query.a&b}", "slash?x=and"),
        ("?c={country|lower}", "?c=de"),
        ("a/{browser}/b?none={os}", "a//b?none="),
        ("?{browser}", ""),
        ("?a={{value}}&b={value}{value}", "?a={12.50}&b=12.5012.50"),
        # What is no macro, or no longer one, is sent as it was written.
        (
            '?a={}&b={"x":1}&c={1}&d={clickid}&e={value',
            '?a={}&b={"x":1}&c={1}&d={clickid}&e={value',
        ),
        ("?a=%7Bvalue%7D", "?a=%7Bvalue%7D"),
    ],
)
def test_macros_in_path_and_query_are_filled_and_percent_encoded_once(
    place: str, filled: str
) -> None:
    assert url_of(f"https://a.example/{place}") == f"https://a.example/{filled}"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *(("{slug}", one) for one in (".", "..", "../x", "x/..", "a\\..", "a/./b")),
        ("a/{slug}/b", ".."),
        (".{slug}", "."),
        ("{slug}.", "."),
        ("%2e{slug}/", "."),
        ("../{slug}", ".."),
        (".{slug}/a", ""),
    ],
)
def test_a_value_that_would_make_a_dot_segment_of_the_path_is_never_sent(
    path: str, value: str
) -> None:
    with pytest.raises(Unfillable, match=r"a segment \. or \.\. of its path"):
        url_of(f"https://a.example/{path}?q={{slug}}", {"slug": value})


def test_a_url_that_would_be_too_long_is_not_built_and_no_value_is_cut() -> None:
    frame = len("https://a.example/?q=")
    longest = "x" * (MAX_FILLED_TARGET_CHARACTERS - frame)
    assert url_of("https://a.example/?q={slug}", {"slug": longest}).endswith(longest)
    for value in (longest + "x", "ü" * (len(longest) // 6 + 1)):
        with pytest.raises(
            Unfillable, match="target_url: with its macros filled longer than 8,192"
        ):
            url_of("https://a.example/?q={slug}", {"slug": value})
    tracemalloc.start()
    with pytest.raises(Unfillable):
        url_of("https://a.example/" + "{slug}" * 100, {"slug": "ü" * 5000})
    assert tracemalloc.get_traced_memory()[1] < 30 * MAX_FILLED_TARGET_CHARACTERS
    tracemalloc.stop()


def test_a_target_without_macros_is_sent_however_long_it_is_once_it_is_escaped() -> None:
    """Such a target may be stored from a time when none was filled."""
    target = "https://a.example/?q=" + "€" * 2000
    assert unquote(url_of(target)) == target


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        ("https://a.example/?c={clickid}", "unknown macro {clickid} (did you mean {click_id}"),
        ("https://a.example/?a#{click_id}", "macros only in the path and in the query, each as"),
        ("https://a.example/{query.a?b}", "macros only in the path and in the query, each as"),
        ("https://a.example/{metadata.a#b}", "macros only in the path and in the query, each as"),
        ("https://{slug}.example/", "the host must be a hostname"),
        ("https://a.example:{value}/", "the port must be"),
        ("{value}://a.example/", "must be an absolute http or https URL"),
        ("https://{click_id}@a.example/", "no user info before the host"),
    ],
)
def test_a_macro_that_is_unknown_or_in_another_part_is_refused(target: str, rule: str) -> None:
    assert refused(target).startswith(rule)


ANY_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text("./\\%2eE&=?#{}:@\r\n\0 ü", max_size=12),
)


@given(ANY_TEXT, ANY_TEXT)
def test_no_value_adds_a_segment_a_parameter_or_another_host(first: str, second: str) -> None:
    target = TargetTemplate("https://a.example:8443/a/{slug}/z?x={os}&y=1&{slug}=2")
    assert target.macros == {"slug", "os"}
    try:
        url = target.fill({"slug": first, "os": second})
    except Unfillable:
        decoded = first.replace("\\", "/").split("/")
        assert {".", ".."} & set(decoded)
        return
    assert url.isascii()
    assert url.isprintable()
    parts = urlsplit(url)
    assert (parts.scheme, parts.netloc, parts.fragment) == ("https", "a.example:8443", "")
    assert [unquote(one) for one in parts.path.split("/")] == ["", "a", first, "z"]
    assert parse_qsl(parts.query, keep_blank_values=True) == [
        ("x", second),
        ("y", "1"),
        (first, "2"),
    ]
