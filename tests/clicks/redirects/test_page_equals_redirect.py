"""A page's click and that of a redirect: the same record for the same query and visitor."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import orjson
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.clicks.redirects.generated import decidings, moments, visits
from tests.factories import LANDING, make_new_link
from tracker.clicks.api.page_click import page_click_in
from tracker.clicks.country import Countries
from tracker.clicks.enrich import Enrichment
from tracker.clicks.redirects.redirect import Redirect
from tracker.clicks.visit import Visit
from tracker.ids import new_id
from tracker.links.link import cached_link, link_of
from tracker.links.rules.rule import Deciding

UNUSED: Any = None
DOMAINS: Any = SimpleNamespace(peek=lambda _: None)
ENRICHMENT = Enrichment(Countries(), store_ip=False)
REDIRECT = Redirect(UNUSED, DOMAINS, UNUSED, ENRICHMENT, UNUSED, "tracker.test")


def can_be_told(visit: Visit) -> bool:
    """Return whether JSON can say what a page knows, which has to be UTF-8."""
    try:
        (visit.query + visit.headers.referrer).encode("latin-1").decode()
    except UnicodeDecodeError:
        return False
    return True


@given(
    decidings,
    visits.filter(can_be_told),
    moments,
    st.sampled_from([LANDING, f"{LANDING}?utm_source=x&c={{country}}&s={{slug}}"]),
)
def test_a_page_records_what_the_redirect_records(
    deciding: Deciding, visit: Visit, at: int, destination: str
) -> None:
    new = make_new_link(
        new_id(), destination_url=destination, rules=deciding.rules, split=deciding.split
    )
    link = cached_link(link_of(new, "abc"))
    visit = replace(visit, slug="abc")
    texts = (one.encode("latin-1").decode() for one in (visit.query, visit.headers.referrer))
    query, referrer = texts
    body = {"slug": "abc", "url": f"https://shop.example/?{query}#x", "referrer": referrer}
    request = replace(
        visit, method="POST", query="", headers=replace(visit.headers, referrer="the page itself")
    )
    sent = page_click_in(orjson.dumps(body))
    redirected = REDIRECT.open(visit, link, at)
    reported = REDIRECT.open(sent.visit(request, "abc"), link, at)
    assert redirected is not None and reported is not None
    one, other = (replace(click, id=UUID(int=0).bytes) for _, click in (redirected, reported))
    assert one == other
