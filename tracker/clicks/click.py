"""The click in the journal: the visitor's request before enrichment."""

from tracker.journal.entry import JournalRecord


class Click(JournalRecord, frozen=True, tag="c"):
    """A click, with its fields in the order of the journal.

    - Ids are the 16 bytes of a UUID. `at` is in milliseconds since the epoch.
    - `domain_name` is empty on the default domain. A missing header is empty.
    - `link_utm` has the `utm_` parameters of the link's destination (`links/destination`).
    - `cost` is the link's `cost_per_click`.
    - `test`: the account tried its link. No visitor can set it.
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

    @property
    def partition_key(self) -> bytes:
        """Return the link, because its clicks share the update of its rollup."""
        return self.link_id

    @property
    def overflow_account(self) -> bytes:
        return self.account_id
