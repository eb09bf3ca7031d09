"""Values of conditions: only what a visitor may have."""

from tracker.clicks.country import COUNTRIES
from tracker.errors import BadRequest
from tracker.links.api.rules.values import CANONICAL
from tracker.visitor_dimensions import _country_names


def test_the_countries_of_rules_are_those_of_clicks() -> None:
    taken = set()
    for code in _country_names():
        try:
            taken.add(CANONICAL["country"](code))
        except BadRequest:
            continue
    assert taken == COUNTRIES
