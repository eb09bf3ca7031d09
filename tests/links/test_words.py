"""The words of links, and the conditions of searches for them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracker.ids import SLUG
from tracker.links.words import (
    MAX_WORD_CHARACTERS,
    MAX_WORDS,
    first_word,
    found_by,
    words_of,
)


@pytest.mark.parametrize(
    ("slug", "url", "name", "words"),
    [
        ("abc", "https://shop.example/", "abc", "abc shop example"),
        ("Spring-Sale_1", "http://www.shop.example/a/B", "x", "spring sale 1 shop example a b x"),
        ("a", "https://b.example/?utm_source=New%20s&q={slug}", "", "a new b example s q slug"),
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
    assert words_of(slug, url, name) == words.split()


def test_slug_campaign_and_beginning_of_the_destination_come_first() -> None:
    slug = "-".join(str(number) for number in range(12))
    url = f"https://host.example/{'/'.join(f'p{number}' for number in range(100))}"
    words = words_of(slug, f"{url}?utm_term=last+word", " ".join(f"n{n}" for n in range(60)))
    assert len(words) == MAX_WORDS
    assert words[:15] == [*slug.split("-"), "last", "host", "example"]
    assert "p17" in words
    assert "n0" in words


def is_found(search: str, slug: str, url: str, name: str) -> bool:
    found = found_by(search)
    if found is None:
        return False
    words = words_of(slug, url, name)
    return all(
        any(re.match(one.pattern, word) for word in words) for one in found["words"]["$all"]
    ) and (
        "destination_url" not in found or bool(found["destination_url"].try_compile().match(url))
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
        ("spri", True),
        ("pring", False),
        ("caf\u00c9 \u00fc", True),
        ("\u00dcber CAF", True),
        ("caf winter", False),
        ("100% off", True),
        ("shop.exam", True),
        ("www.shop.example", True),
        ("shop.example/P?q", True),
        ("https://www.shop.example/P?q={slug}&utm_source=News", True),
        (" HTTPS://www.shop.example/p ", True),
        ("https://shop.example/P", False),
        ("https://www.shop.example/q", False),
        ("utm_source=news", True),
        ("{slug}", True),
        ("", False),
        (" ", False),
        ("*", False),
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
    words = words_of(slug, url, name)
    assert is_found(slug, slug, url, name) == any(char.isalnum() for char in slug)
    assert len(words) <= MAX_WORDS
    assert all(len(word) <= MAX_WORD_CHARACTERS for word in words)


@pytest.mark.parametrize(
    ("value", "word"), [("News of today", "news"), ("-a b", "a"), ("-", None), ("", None)]
)
def test_a_utm_value_is_found_by_its_first_word(value: str, word: str | None) -> None:
    assert first_word(value) == word
    if word is not None:
        assert word in words_of("s", f"https://b.example/?utm_term={value}", "n" * 99)


def test_the_longest_word_decides_what_is_read() -> None:
    found = found_by("a shop in b")
    assert found is not None
    assert [one.pattern for one in found["words"]["$all"]] == ["^shop", "^in", "^a", "^b"]
