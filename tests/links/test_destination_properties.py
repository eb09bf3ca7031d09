from urllib.parse import unquote_to_bytes, urlsplit

from hypothesis import given
from hypothesis import strategies as st

from tracker.links.destination import DESTINATION_FIELD, Destination
from tracker.links.macros import MACRO_NAMES
from tracker.syntax.url import check_url

CLICK = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"
RESERVED = {b"s", b"d", b"click_id"}

raw_names = st.sampled_from(
    [
        "s",
        "%73",
        "d",
        "%64",
        "S",
        "%2573",
        "click_id",
        "click%5fid",
        "%63lick%5Fid",
        "click+id",
        "a",
    ]
)
safe_text = st.text("abcsdS019-._~!$'()*+,;:@/?%[]{}\"<>|^`", max_size=12)
pieces = st.one_of(
    safe_text,
    st.builds(lambda name, value: f"{name}={value}", raw_names | safe_text, safe_text),
    raw_names,
)
safe_queries = st.lists(pieces, max_size=8).map("&".join)
any_queries = st.binary(max_size=200).map(lambda raw: raw.decode("latin-1")) | safe_queries

macros_in_braces = st.sampled_from([f"{{{name}}}" for name in MACRO_NAMES])
allowed = st.characters(min_codepoint=0x21, exclude_categories=("Cc", "Cs", "Z")).filter(
    lambda char: char not in "\\?#"
)
url_text = st.lists(
    st.text(allowed, max_size=8) | macros_in_braces | raw_names | st.sampled_from("&="), max_size=6
).map("".join)
origins = st.sampled_from(
    [
        "https://x.example",
        "HTTP://X.example.:8080",
        "https://bücher.example",
        "http://[::1]:81",
        "https://192.0.2.1",
    ]
)
destinations = st.builds(
    lambda origin, path, query, fragment: origin + path + query + fragment,
    origins,
    st.just("") | url_text.map("/{}".format),
    st.just("") | url_text.map("?{}".format),
    st.just("") | url_text.map("#{}".format),
)
utm_pairs = st.builds(
    "utm_{}={}".format, st.sampled_from(["source", "term", "x"]), safe_text | macros_in_braces
)
plain_destinations = st.builds(
    lambda origin, path, pairs: origin + path + ("?" + "&".join(pairs) if pairs else ""),
    st.sampled_from(["https://x.example", "http://a-b.c_d.example:8080"]),
    st.just("")
    | st.text("aZ09%._~!$'()*+,;=:@&|}^`", max_size=8).map("/{}".format)
    | macros_in_braces.map("/{}".format),
    st.lists(pieces | utm_pairs, max_size=4),
)
values = st.fixed_dictionaries(
    dict.fromkeys(MACRO_NAMES, st.text(max_size=8).filter(lambda text: text.isprintable()))
)


def decoded_name(pair: str) -> bytes:
    return unquote_to_bytes(pair.partition("=")[0].replace("+", " "))


def pairs(query: str) -> list[str]:
    return [pair for pair in query.split("&") if pair]


@given(destinations, any_queries, values, st.booleans())
def test_a_location_is_printable_ascii_and_carries_one_click_id_at_the_end(
    url: str, query: str, macros: dict[str, str], clicked: bool
) -> None:
    location = Destination(url, MACRO_NAMES).location(query, CLICK if clicked else None, macros)
    assert location.isascii()
    assert location.isprintable()
    assert " " not in location
    sent = pairs(urlsplit(location).query)
    click_ids = [pair for pair in sent if decoded_name(pair) == b"click_id"]
    assert click_ids == ([f"click_id={CLICK}"] if clicked else [])
    assert not clicked or sent[-1] == click_ids[0]


@given(destinations, any_queries)
def test_a_location_keeps_the_scheme_host_path_and_fragment(url: str, query: str) -> None:
    destination = Destination(url, MACRO_NAMES)
    bare = urlsplit(destination.location("", None, {}))
    full = urlsplit(destination.location(query, None, {}))
    written = urlsplit(url)
    assert bare.scheme == full.scheme == written.scheme
    assert bare.netloc == full.netloc == written.netloc.replace("bücher", "xn--bcher-kva")
    assert bare.path == full.path
    assert bare.fragment == full.fragment
    assert full.query.startswith(bare.query)


@given(destinations, safe_queries)
def test_the_visitors_pairs_are_passed_on_byte_for_byte_in_order(url: str, query: str) -> None:
    destination = Destination(url, MACRO_NAMES)
    *own, click_id = pairs(urlsplit(destination.location("", CLICK, {})).query)
    sent = pairs(urlsplit(destination.location(query, CLICK, {})).query)
    passed_on = [pair for pair in pairs(query) if decoded_name(pair) not in RESERVED]
    assert sent == [*own, *passed_on, click_id]


@given(destinations.filter(lambda url: "{" not in url and url.isascii() and "lick" not in url))
def test_a_destination_without_macros_is_kept_byte_for_byte(url: str) -> None:
    assert Destination(url, MACRO_NAMES).location("", None, {}) == url


@given(plain_destinations, any_queries, values, st.sampled_from([None, CLICK]))
def test_a_destination_in_which_nothing_is_escaped_is_the_same_as_one_that_was_escaped(
    url: str, query: str, macros: dict[str, str], click_id: str | None
) -> None:
    plain, escaped = Destination(url, MACRO_NAMES), Destination(f"{url}#", MACRO_NAMES)
    assert f"{plain.location(query, click_id, macros)}#" == escaped.location(
        query, click_id, macros
    )
    assert (plain.utm(macros), plain.used_macros) == (escaped.utm(macros), escaped.used_macros)


@given(destinations)
def test_the_generated_destinations_are_good_ones(url: str) -> None:
    check_url(DESTINATION_FIELD, url)
