"""The decider: it decides as a naive one does, whatever the rules and whoever the visitor."""

from hypothesis import given
from hypothesis import strategies as st

from tests.clicks.redirects import naive
from tests.clicks.redirects.generated import decidings, moments, visits
from tests.factories import LANDING
from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment
from tracker.clicks.redirects.deciding import RequestVisitor
from tracker.clicks.visit import Visit
from tracker.links.rules.decider import Decider
from tracker.links.rules.rule import Deciding

ENRICHMENT = Enrichment(Countries(), store_ip=False)


@given(decidings, st.lists(st.tuples(visits, moments), min_size=1, max_size=20))
def test_the_decider_equals_a_naive_one(
    deciding: Deciding, visited: list[tuple[Visit, int]]
) -> None:
    decider = Decider(deciding, LANDING)
    rules = {one.id.bytes: one.name for one in deciding.rules}
    variants = {one.id.bytes: one.name for _, split in deciding.splits() for one in split.variants}
    for visit, at in visited:
        visitor = RequestVisitor(ENRICHMENT, visit.address, visit.headers, visit.query, at)
        found = decider.decide(visitor)
        assert naive.decide(deciding, LANDING, visit, at) == (
            found.destination_url,
            found.rule_id and rules[found.rule_id],
            found.variant_id and variants[found.variant_id],
        )
        assert decider.failures(visitor) == [
            naive.first_failed(one, visit, at) for one in deciding.rules
        ]
