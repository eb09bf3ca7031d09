"""The Location of a redirect: the destination with what is passed on, byte for byte."""

import pytest

from tracker.links.destination import Destination, utm_of
from tracker.links.macros import MACRO_NAMES
from tracker.links.utm import MAX_RAW_CHARACTERS, UTM, utm_values

CLICK = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"


def location(url: str, query: str = "", macros: dict[str, str] | None = None) -> str:
    return Destination(url, MACRO_NAMES).location(query, CLICK, macros or {})


@pytest.mark.parametrize("query", ["", "&", "&&&", "s=abc", "s=abc&d=go.example.net&click_id=1"])
def test_nothing_to_pass_on_leaves_only_the_click_id(query: str) -> None:
    assert location("https://x.example/p", query) == f"https://x.example/p?click_id={CLICK}"


@pytest.mark.parametrize(
    ("query", "passed_on"),
    [
        ("a=\xc3\xa9", "a=%C3%A9"),
        ("a=b c", "a=b%20c"),
        ("a=1#b", "a=1%23b"),
        ("a=1%0d%0aSet-Cookie:x", "a=1%0d%0aSet-Cookie:x"),
        ("a=\x00\x1f\x7f\x85\xa0", "a=%00%1F%7F%85%A0"),
        ("s\r\n=1&s=2", "s%0D%0A=1"),
        ("s=\xe9&%73=\xe9&t=\xe9", "t=%E9"),
        ("a=1&qr=1&qr=10&qr=2&aqr=1", "a=1&qr=10&qr=2&aqr=1"),
    ],
)
def test_characters_that_a_url_cannot_hold_are_percent_encoded(query: str, passed_on: str) -> None:
    assert location("https://x.example/", query) == (
        f"https://x.example/?{passed_on}&click_id={CLICK}"
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://x.example", "https://x.example?v=1&click_id=ID"),
        ("HTTPS://X.Example./A%2fb//c/../d;e", "HTTPS://X.Example./A%2fb//c/../d;e?v=1&click_id=ID"),
        ("http://[2001:DB8::1]:8080/p", "http://[2001:DB8::1]:8080/p?v=1&click_id=ID"),
        ("https://x.example/?", "https://x.example/?v=1&click_id=ID"),
        ("https://x.example/?#", "https://x.example/?v=1&click_id=ID#"),
        ("https://x.example/#/a?b=1&c#d", "https://x.example/?v=1&click_id=ID#/a?b=1&c#d"),
        ("https://x.example/?b=+%20&a=&a", "https://x.example/?b=+%20&a=&a&v=1&click_id=ID"),
        ("https://x.example/?&a=1&&b=2", "https://x.example/?&a=1&&b=2&v=1&click_id=ID"),
        ("https://x.example/?s=1&d=2#f", "https://x.example/?s=1&d=2&v=1&click_id=ID#f"),
        ("https://x.example/%(slug)s?a=%s&b=100%", "https://x.example/%(slug)s?a=%s&b=100%&v=1&click_id=ID"),
    ],
)  # fmt: skip
def test_the_destination_keeps_its_own_query_and_fragment(url: str, expected: str) -> None:
    assert location(url, "v=1") == expected.replace("ID", CLICK)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://x.example/é/€?ü=ß#ñ", "https://x.example/%C3%A9/%E2%82%AC?%C3%BC=%C3%9F&click_id=ID#%C3%B1"),
        ("https://Bücher.example:8443/é", "https://xn--bcher-kva.example:8443/%C3%A9?click_id=ID"),
        ("https://I❤\ufe0f.example:/", "https://xn--i-7iq.example/?click_id=ID"),
        ("https://faß.example。/", "https://xn--fa-hia.example./?click_id=ID"),
        ("https://x.example/é/{slug}?ü={slug}", "https://x.example/%C3%A9/?%C3%BC=&click_id=ID"),
    ],
)  # fmt: skip
def test_a_destination_that_is_not_ascii_is_encoded(url: str, expected: str) -> None:
    assert location(url) == expected.replace("ID", CLICK)


VALUES = {
    "slug": "spring",
    "country": "DE",
    "browser": "Mobile Safari/&=?#%",
    "os": "{slug}",
    "domain_name": "é\r\n",
    "device": "click_id",
}


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://x.example/{country}/{country}?a={slug}#{slug}", "https://x.example/DE/DE?a=spring&v=1&click_id=ID#spring"),
        ("https://x.example/?sub={click_id}", "https://x.example/?sub=ID&v=1&click_id=ID"),
        ("https://x.example/?a={browser}", "https://x.example/?a=Mobile%20Safari%2F%26%3D%3F%23%25&v=1&click_id=ID"),
        ("https://x.example/{os}", "https://x.example/%7Bslug%7D?v=1&click_id=ID"),
        ("https://x.example/?a={domain_name}", "https://x.example/?a=%C3%A9%0D%0A&v=1&click_id=ID"),
        ("https://x.example/{unknown}?a={Slug}&b={}&c={slug", "https://x.example/{unknown}?a={Slug}&b={}&c={slug&v=1&click_id=ID"),
        ("https://x.example/{{slug}}", "https://x.example/{spring}?v=1&click_id=ID"),
        ("https://x.example/%(os)s/%{slug}%s?a=%%{slug}", "https://x.example/%(os)s/%spring%s?a=%%spring&v=1&click_id=ID"),
        ("https://x.example/?{slug}=1", "https://x.example/?spring=1&v=1&click_id=ID"),
        ("https://x.example/?{device}=1&a=2", "https://x.example/?a=2&v=1&click_id=ID"),
        ("https://x.example/?a=1&{link_id}", "https://x.example/?a=1&v=1&click_id=ID"),
    ],
)  # fmt: skip
def test_macros_are_filled_in_once_and_encoded(url: str, expected: str) -> None:
    assert location(url, "v=1", VALUES) == expected.replace("ID", CLICK)


def test_every_macro_of_the_table_is_filled_in() -> None:
    for name in MACRO_NAMES:
        destination = Destination(f"https://x.example/{{{name}}}", MACRO_NAMES)
        value = CLICK if name == "click_id" else "value"
        assert destination.used_macros == {name}
        assert destination.location("", CLICK, {name: value}) == (
            f"https://x.example/{value}?click_id={CLICK}"
        )


@pytest.mark.parametrize(
    ("url", "utm"),
    [
        ("https://x.example/?utm_id=1&xutm_source=a&UTM_SOURCE=b#utm_source=c", ""),
        ("https://x.example/?utm_source=a&utm_source=b&utm_term=", "utm_source=a&utm_term="),
        ("https://x.example/?utm_source=%ff+\u00e9%", "utm_source=%ff+%C3%A9%"),
        ("https://x.example/?utm_source=%s%(slug)s", "utm_source=%s%(slug)s"),
        ("https://x.example/?utm_term={slug}%25{nothing}", "utm_term=a%26b%20c%25{nothing}"),
        ("https://x.example/?utm_term={country}", "utm_term="),
        ("https://x.example/?utm_term=a{click_id}&utm_source=b", "utm_source=b"),
        ("https://x.example/?utm_term={click_timestamp}&utm_term=b", ""),
        (f"https://x.example/?utm_term={'x' * 1300}&b=1", f"utm_term={'x' * 1200}"),
    ],
    ids=lambda text: text[:60],
)
def test_a_click_counts_by_the_utm_parameters_as_its_location_has_them(url: str, utm: str) -> None:
    assert Destination(url, MACRO_NAMES).utm({"slug": "a&b c", "click_id": CLICK}) == utm


def test_the_values_of_a_link_are_those_that_a_click_counts_by() -> None:
    url = "https://x.example/?utm_source=%C3%A9+%zz&utm_medium=\u00fc%20&utm_content=\u4e2d&a=1#x"
    found = {name: value for name, value in utm_of(url).items() if value}
    assert found == utm_values(Destination(url, MACRO_NAMES).utm({}))
    assert found == {"utm_source": "\u00e9 %zz", "utm_medium": "\u00fc", "utm_content": "\u4e2d"}


def test_values_that_macros_make_long_are_cut_where_they_are_read_to() -> None:
    query = "&".join(f"{name}=%C3%A9{'{slug}' * 190}" for name in UTM)
    macros = {"slug": "x" * 64}
    destination = Destination(f"https://x.example/?{query}", MACRO_NAMES)
    found = destination.utm(macros)
    assert len(found) == sum(len(f"&{name}=") + MAX_RAW_CHARACTERS for name in UTM) - 1
    in_full = query.replace("{slug}", macros["slug"])
    assert utm_values(found) == utm_values(in_full)
    assert found.split("&")[0] == in_full.split("&")[0][: len(f"{UTM[0]}=") + MAX_RAW_CHARACTERS]
