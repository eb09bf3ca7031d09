"""A name in braces that no click fills is refused; braces around anything else are no macro."""

import pytest

from tracker.errors import BadRequest
from tracker.links.macros import MACRO_NAMES, check_macros
from tracker.visitor_dimensions import NAMES

pytestmark = pytest.mark.redis

KNOWN = (
    "known: {click_id} {click_timestamp} {slug} {link_id} {account_id} {domain_name} "
    + " ".join(f"{{{name}}}" for name in NAMES)
    + "; write %7B for a brace that begins no macro"
)


def refused(place: str) -> str:
    with pytest.raises(BadRequest) as error:
        check_macros("destination_url", f"https://shop.example/{place}")
    field, _, rule = error.value.message.partition(": ")
    assert field == "destination_url"
    return rule


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("?c={clickid}", "{clickid} (did you mean {click_id}?)"),
        ("?c={Click_ID}", "{Click_ID} (did you mean {click_id}?)"),
        ("?c={click-id}&s={slug}", "{click-id} (did you mean {click_id}?)"),
        ("{Country}/a", "{Country} (did you mean {country}?)"),
        ("?c={country|lower}", "{country|lower} (did you mean {country}?)"),
        ("#k={keyword}", "{keyword}"),
        ("?k={{campaign.name}}", "{campaign.name}"),
        ("?b={sub2}&a={_x}", "{_x} {sub2}"),
        ("?a={größe}", "{größe}"),
        ("?q={user{id}}", "{id}"),
    ],
)
def test_an_unknown_name_in_braces_is_refused_with_the_known_ones(place: str, named: str) -> None:
    assert refused(place) == f"unknown macro {named}; {KNOWN}"


@pytest.mark.parametrize(
    "place",
    [
        *(f"{{{name}}}?a={{{name}}}{{{name}}}#{{{name}}}" for name in MACRO_NAMES),
        *("?a={}", "?a={1}", "?a={1,2}", "?a={a:1}", '?a={"a":1}', '?a={"a":{"b":"{slug}"}}'),
        *("?a={click_id", "?a=click_id}", "?a=}{", "?a={a,b}", "?a={a/b}", "?a={a=b}", "?a={.a}"),
        *("?a=%7Bclickid%7D", "?a=%7Bclickid}", "?a={click%20id}", "?a={{slug}}", "?a={-a}", ""),
    ],
)
def test_known_macros_and_other_braces_are_taken(place: str) -> None:
    check_macros("destination_url", f"https://shop.example/{place}")
