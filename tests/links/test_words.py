"""The words of links, and the conditions of searches for them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.ids import SLUG
from tracker.links.utm import UTM
from tracker.links.words import (
    MAX_WORD_CHARACTERS,
    MAX_WORDS,
    UTM_SIGN,
    beginnings_of,
    begun_url,
    words_of,
    words_of_utm,
)


def texts_of(slug: str, url: str, name: str) -> list[str]:
    """Return the words of a link, without those of UTM values."""
    return [word for word in words_of(slug, url, name) if not word.startswith(UTM_SIGN)]


@pytest.mark.parametrize(
    ("slug", "url", "name", "words"),
    [
        ("abc", "https://shop.example/", "abc", "abc shop example"),
        ("Spring-Sale_1", "http://www.shop.example/a/B", "x", "spring sale 1 shop example a b x"),
        ("a", "https://b.example/?utm_source=New%20s&q={slug}", "", "a b example new s q slug"),
        (
            "a",
            "https://b.example/caf%C3%A9",
            "CAF\u00c9 \u00dcber",
            "a b example caf\u00e9 \u00fcber",
        ),
        ("a", "https://b.example", "\u6625\u306e offer 50%", "a b example \u6625\u306e offer 50"),
        ("a", "https://b.example", "Cafe\u0301 \ufb01", "a b example caf\u00e9 fi"),
        ("a", "https://b.example", "x" * 30, f"a b example {'x' * MAX_WORD_CHARACTERS}"),
    ],
)
def test_words_are_of_slug_destination_and_name(slug: str, url: str, name: str, words: str) -> None:
    assert texts_of(slug, url, name) == words.split()


def test_slug_and_beginning_of_the_destination_come_first() -> None:
    slug = "-".join(str(number) for number in range(12))
    url = f"https://host.example/{'/'.join(f'p{number}' for number in range(100))}"
    words = texts_of(slug, f"{url}?utm_term=last+word", " ".join(f"n{n}" for n in range(60)))
    assert len(words) == MAX_WORDS
    assert words[:14] == [*slug.split("-"), "host", "example"]
    assert "p17" in words
    assert "n0" in words


def is_found(search: str, slug: str, url: str, name: str) -> bool:
    found, begun = beginnings_of(search), begun_url(search)
    words = words_of(slug, url, name)
    return (
        bool(found)
        and all(any(re.match(one.pattern, word) for word in words) for one in found)
        and (begun is None or bool(begun.try_compile().match(url)))
    )


LINK = (
    "Spring-1",
    "https://www.shop.example/P?q={slug}&utm_source=News",
    "Caf\u00e9 \u00fcber 100% off",
)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("Spring-1", True),
        ("pring", False),
        ("caf\u00c9 \u00fc", True),
        ("100% off", True),
        ("www.shop.example", True),
        ("shop.example/P?q", True),
        ("https://www.shop.example/P?q={slug}&utm_source=News", True),
        (" HTTPS://www.shop.example/p ", True),
        ("https://shop.example/P", False),
        ("https://www.shop.example/q", False),
        ("utm_source=news", True),
        ("", False),
        (" ", False),
        (".*", False),
        ("https://", False),
    ],
)
def test_a_search_is_for_beginnings_of_words_and_of_urls(search: str, found: bool) -> None:
    assert is_found(search, *LINK) is found


@given(
    slug=st.from_regex(SLUG, fullmatch=True),
    name=st.text(max_size=255),
    query=st.text(st.characters(exclude_categories=["C"]), max_size=300),
)
def test_a_link_is_found_by_its_slug_and_its_url(slug: str, name: str, query: str) -> None:
    url = f"https://shop.example/path?{query}"
    words = texts_of(slug, url, name)
    assert is_found(slug, slug, url, name) == any(char.isalnum() for char in slug)
    assert len(words) <= MAX_WORDS
    assert all(len(word) <= MAX_WORD_CHARACTERS for word in words)


LANDING = "https://b.example/"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", ["==01234"]),
        ("?utm_source=News+of%20today", ["=0News of today", "==1234"]),
        ("?utm_term=none&utm_medium={slug}", ["=1{slug}", "=3none", "==024"]),
        ("&".join(["?", *(f"{name}=a" for name in UTM)]), [f"={number}a" for number in range(5)]),
    ],
)
def test_utm_values_are_words_of_their_own_and_those_without_one_are_one(
    query: str, words: list[str]
) -> None:
    assert [one for one in words_of("s", f"{LANDING}{query}", "n") if one[0] == UTM_SIGN] == words


@pytest.mark.parametrize("name", UTM)
@pytest.mark.parametrize("given_names", [(), UTM[:1], UTM[1:3], UTM[2:], UTM])
def test_links_are_found_by_each_utm_value_as_it_is_or_without_it(
    name: str, given_names: tuple[str, ...]
) -> None:
    query = "&".join(f"{one}=A+{'b' * 60}" for one in given_names)
    stored = words_of("s", f"{LANDING}?{query}", "n")

    def is_found(value: str) -> bool:
        return not set(stored).isdisjoint(words_of_utm(name, [value]))

    assert is_found(f"A {'b' * 60}") == (name in given_names)
    assert is_found("none") == (name not in given_names)
    assert not is_found("A")
    assert not is_found(f"a {'b' * 60}")
