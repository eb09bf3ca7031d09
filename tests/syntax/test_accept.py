import pytest

from tracker.syntax.accept import MAX_CHARACTERS, prefers

# What curl, fetch and XMLHttpRequest send.


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/html", True),
        ("text/*", True),
        ("TEXT/HTML", True),
        ("application/json, text/html", False),
        ("application/json;q=0.9, text/html", True),
        ("text/html;q=0.9, application/json", False),
        ("text/html;q=0.001", True),
        ("text/html;q=0.002, application/json;q=0.001", True),
        ("text/html;q=0", False),
        ("text/html;q=0.000, text/*", False),
        ("text/html;q=0, */*", False),
        ("*/*, application/json;q=0", True),
        ("*/*, application/*;q=0.5", True),
        ("text/html;q=0.4, text/*, application/json;q=0.5", False),
        ("*/*;q=0.1, text/*;q=0.2", True),
        ("text/*;q=0.2, application/*;q=0.3", False),
        ("text/html ; q=0.5\t,\tapplication/json ;q=0.4", True),
        ("text/html;Q=0.5, application/json;q=0.4", True),
        (",, text/html ,,", True),
        ("text/html;", True),
        ("text/html;;q=0.5;", True),
        ("text/html;q=0.1, text/html;q=0.9, application/json;q=0.5", True),
        ("text/html;q=1.000, application/json;q=0.999", True),
        ("text/html;q=1., application/json;q=0.", True),
    ],
)
def test_the_most_specific_range_gives_the_quality(accept: str, expected: bool) -> None:
    assert prefers(accept, "text/html", "application/json") is expected


@pytest.mark.parametrize(
    "accept",
    [
        *(f"text/html;q={quality}" for quality in ("2", "1.001", "-1", ".5", "0.1234", "", "high")),
        *(f"text/html;q={quality}" for quality in ("nan", "\u0661", '"1"', "1;q=1")),
        *("text/html;q", "text/html;q =1", "text/html q=1", ";q=1", "\x00"),
        *("text", "text/", "/html", "*/html", "*", "text/html/x", "text / html"),
    ],
)
def test_a_malformed_range_is_ignored(accept: str) -> None:
    assert not prefers(accept, "text/html", "application/json")
    assert prefers(f"{accept}, text/*", "text/html", "application/json")


def test_a_header_of_excessive_length_is_ignored() -> None:
    longest = "text/html," + "x" * (MAX_CHARACTERS - 10)
    assert prefers(longest, "text/html", "application/json")
    assert not prefers(f"{longest}x", "text/html", "application/json")
