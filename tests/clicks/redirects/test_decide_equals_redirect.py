"""`decide` and the redirect: the same Location, rule and variant for the same visitor."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from uuid import UUID

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.clicks.redirects.generated import decidings, moments, visits
from tests.factories import LANDING, make_new_link
from tracker.clicks.api.decide import DecideLink, decided
from tracker.clicks.click import Click
from tracker.clicks.country import COUNTRIES, Countries
from tracker.clicks.enrich import Enrichment
from tracker.clicks.redirects import redirect as redirects
from tracker.clicks.redirects.redirection import RedirectResponse, usual
from tracker.clicks.visit import Visit
from tracker.ids import new_id
from tracker.limits.network import address_number
from tracker.links.link import Link, cached_link, link_of
from tracker.links.rules.rule import Deciding


class Answers:
    """The answers and clicks of a redirect, whose journal this is too."""

    def __init__(self) -> None:
        self.clicks: list[Click] = []
        self.answers: list[RedirectResponse] = []
        unused: Any = None
        domains: Any = SimpleNamespace(peek=lambda _: None)
        journal: Any = self
        enrichment = Enrichment(Countries(), store_ip=False)
        self.redirect = redirects.Redirect(
            unused, domains, journal, enrichment, unused, "tracker.test"
        )
        self.call: Any = SimpleNamespace(
            account_id=new_id(),
            services=SimpleNamespace(redirect=self.redirect, enrichment=enrichment),
        )

    def append_and_notify(self, click: Click, waiter: Any) -> None:
        self.clicks.append(click)
        waiter.set_result(None)

    def done(self) -> bool:
        return False

    def set_result(self, answer: RedirectResponse | str) -> None:
        self.answers.append(usual(answer) if isinstance(answer, str) else answer)

    def set_exception(self, error: Exception) -> None:
        raise error


def can_be_sent(visit: Visit) -> bool:
    """Return whether JSON can say what the visitor brings, which has to be UTF-8."""
    try:
        sent_by(visit)
    except UnicodeDecodeError:
        return False
    return address_number(visit.address) is not None and not visit.headers.purpose


def sent_by(visit: Visit) -> dict[str, str]:
    headers = visit.headers
    country = headers.edge_country
    texts = {
        "query": visit.query,
        "language": headers.languages,
        "referrer": headers.referrer,
        "user_agent": headers.user_agent,
        "address": visit.address,
        "country": country if country.upper() in COUNTRIES else "",
    }
    return {name: raw.encode("latin-1").decode() for name, raw in texts.items()}


def link_with(deciding: Deciding, **fields: Any) -> Link:
    new = make_new_link(new_id(), rules=deciding.rules, split=deciding.split, **fields)
    return link_of(new, "abc")


def id_of(raw: bytes | None) -> UUID | None:
    return None if raw is None else UUID(bytes=raw)


@given(
    decidings.filter(lambda one: bool(one.rules or one.split)),
    st.lists(st.tuples(visits.filter(can_be_sent), moments), min_size=1, max_size=20),
    st.sampled_from([LANDING, LANDING + "?c={country}&s={slug}&t={click_timestamp}"]),
    st.booleans(),
)
def test_decide_equals_the_redirect(
    deciding: Deciding, visited: list[tuple[Visit, int]], destination: str, pass_query: bool
) -> None:
    link = link_with(deciding, destination_url=destination, pass_query=pass_query)
    of = Answers()
    of.call.account_id = link.account_id
    for visit, at in visited:
        with patch.object(redirects, "now_ms", lambda at=at: at):
            for method in ("HEAD", "GET"):
                of.redirect.record(replace(visit, method=method), of, None, cached_link(link))
        time = datetime.fromtimestamp(at / 1000, UTC).isoformat()
        sent = msgspec.convert({**sent_by(visit), "time": time}, DecideLink)
        found = decided(of.call, sent, link)
        head, click = of.answers[-2], of.clicks[-1]
        assert found.location == dict(head.headers)["Location"]
        assert (found.rule_id, found.variant_id) == (id_of(click.rule_id), id_of(click.variant_id))
        assert ("Cache-Control", "no-store") in head.headers
