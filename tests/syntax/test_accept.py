import pytest

from tracker.syntax.accept import MAX_CHARACTERS, prefers

# What curl, fetch and XMLHttpRequest send.


PAGE = [
    *("text/html", "text/*", "TEXT/HTML", "application/json;q=0.9, text/html", "text/html;q=0.001"),
    *("text/html;q=0.002, application/json;q=0.001", "*/*, application/json;q=0"),
    *("*/*, application/*;q=0.5", "*/*;q=0.1, text/*;q=0.2", ",, text/html ,,", "text/html;"),
    "text/html ; q=0.5\t,\tapplication/json ;q=0.4",
    *("text/html;Q=0.5, application/json;q=0.4", "text/html;;q=0.5;"),
    "text/html;q=0.1, text/html;q=0.9, application/json;q=0.5",
    *("text/html;q=1.000, application/json;q=0.999", "text/html;q=1., application/json;q=0."),
]
NO_PAGE = [
    *("", "*/*", "application/json, text/html", "text/html;q=0.9, application/json"),
    *("text/html;q=0", "text/html;q=0.000, text/*", "text/html;q=0, */*"),
    *("text/html;q=0.4, text/*, application/json;q=0.5", "text/*;q=0.2, application/*;q=0.3"),
]


def test_the_most_specific_range_gives_the_quality() -> None:
    assert [one for one in PAGE if not prefers(one, "text/html", "application/json")] == []
    assert [one for one in NO_PAGE if prefers(one, "text/html", "application/json")] == []


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
