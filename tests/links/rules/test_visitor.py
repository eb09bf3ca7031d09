"""The parts that a visitor brings: preferred languages, and clocks of zones."""

from zoneinfo import ZoneInfo

import pytest

from tracker.clicks.visit import MAX_LANGUAGE_CHARACTERS, ClientHeaders
from tracker.links.rules.visitor import Clock, clock_in, preferred_languages


@pytest.mark.parametrize(
    ("header", "preferred"),
    [
        ("de", {"de"}),
        ("es-AR", {"es", "es-ar"}),
        ("ZH-hant-TW", {"zh", "zh-hant", "zh-hant-tw"}),
        ("de, en;q=0.9", {"de", "en"}),
        ("de, en;q=0.89", {"de"}),
        ("de;q=0.95, en;q=0.9, fr;q=0.8", {"de", "en"}),
        ("de;q=0.8, en;q=0.8", set()),
        ("*, en;q=0.9", {"en"}),
        ("*", set()),
        ("en;q=0, de", {"de"}),
        ("en ; q = 1", {"en"}),
        ("en;q=2, fr;q=-1, it;q=x, es;q=nan", set()),
        ("en;level=1;q=0.5, de", {"de"}),
        ("en;q=0.1, en", set()),
        ("-, a--b, e!, abcdefghi, en_GB", set()),
        ("", set()),
        (",;,;q=1,", set()),
        (",".join(["en"] * 20 + ["de"]), {"en"}),
        ("-".join("abcdefghijklmnopqrs"), set()),
    ],
)
def test_languages_of_nearly_the_best_quality_are_preferred(
    header: str, preferred: set[str]
) -> None:
    assert preferred_languages(header) == preferred


@pytest.mark.parametrize("entry", ["fr;q=0.1", "fr-CA", "a" * 300])
def test_no_language_of_a_header_that_is_cut_loses_its_quality(entry: str) -> None:
    whole = preferred_languages(f"de,{entry}")
    for spaces in range(MAX_LANGUAGE_CHARACTERS):
        header = f"de,{' ' * spaces}{entry}"
        cut = ClientHeaders.from_headers("", "", "", "", languages=header).languages
        assert preferred_languages(cut) in ({"de"}, whole)


@pytest.mark.parametrize(
    ("minutes", "zone", "clock"),
    [
        (0, "UTC", Clock(4, 0, 0)),
        (0, "America/New_York", Clock(3, 19, 19 * 60)),
        (29_579_220, "Asia/Kathmandu", Clock(7, 8, 8 * 60 + 45)),
        (29_579_220, "UTC", Clock(7, 3, 3 * 60)),
    ],
)
def test_a_clock_is_that_of_the_zone(minutes: int, zone: str, clock: Clock) -> None:
    assert clock_in(ZoneInfo(zone), minutes) == clock
