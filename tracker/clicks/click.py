"""The click in the journal: the visitor's request before enrichment."""

from tracker.clicks.visit import MAX_QUERY_CHARACTERS, Visit
from tracker.journal.entry import JournalRecord
from tracker.links.link import CachedLink
from tracker.links.rules.decider import Decision


class Click(JournalRecord, frozen=True, tag="c"):
    """A click, with its fields in the order of the journal.

    - Ids are the 16 bytes of a UUID. `at` is in milliseconds since the epoch.
    - `domain_name` is empty on the default domain. A missing header is empty.
    - `link_utm` has the `utm_` parameters of the link's destination (`links/destination`).
    - `cost` is the link's `cost_per_click`.
    - `test`: the account tried its link, or asked for a variant.
    - `consent` is what the visitor answered before a page reported the click.
    - `rule_id` and `variant_id` decided where a visitor of a link with rules or a split went.
    """

    id: bytes
    at: int
    account_id: bytes
    link_id: bytes
    domain_name: str
    address: str
    user_agent: str
    referrer: str
    purpose: str
    edge_country: str
    query: str
    link_utm: str = ""
    test: bool = False
    cost: str | None = None
    rule_id: bytes | None = None
    variant_id: bytes | None = None
    consent: str | None = None

    @property
    def partition_key(self) -> bytes:
        """Return the link, because its clicks share the update of its rollup."""
        return self.link_id

    @property
    def overflow_account(self) -> bytes:
        return self.account_id


def click_of(
    visit: Visit,
    link: CachedLink,
    click_id: bytes,
    at: int,
    link_utm: str,
    decision: Decision | None,
    is_test: bool,
) -> Click:
    """Return the click of a visit. `decision` is None for a link that decides nothing."""
    headers = visit.headers
    return Click(  # beyond 15 named arguments a call takes 0.5 µs more
        click_id,
        at,
        link.account_id,
        link.id,
        domain_name=link.domain_name,
        address=visit.address,
        user_agent=headers.user_agent,
        referrer=headers.referrer,
        purpose=headers.purpose,
        edge_country=headers.edge_country,
        query=visit.query[:MAX_QUERY_CHARACTERS],
        link_utm=link_utm,
        test=is_test,
        rule_id=decision and decision.rule_id,
        variant_id=decision and decision.variant_id,
        cost=None if link.options is None else link.options.cost,
    )
