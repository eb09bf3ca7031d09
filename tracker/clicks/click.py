"""A click as the journal carries it: what the visitor sent, with nothing looked up yet."""

import msgspec


class Click(msgspec.Struct, frozen=True, array_like=True, gc=False, tag="c"):
    """Fields are only ever added at the end: entries of an older release must still decode.

    Ids are the 16 bytes of a UUID. `at` is in milliseconds since the epoch. `domain_name` is empty
    on the default domain. `purpose` holds the prefetch headers, `edge_country` the trusted edge's
    header, `query` the raw query string; each is empty if not sent.
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
