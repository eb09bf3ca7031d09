"""Callers: their keys and sessions, the limits on their requests, and what they did."""

from collections.abc import Sequence
from typing import NamedTuple

from tracker.access.api_keys import ApiKeys
from tracker.access.audit import Audit
from tracker.access.authority import Authority
from tracker.access.client_address import ClientAddress
from tracker.access.idempotency import FirstAnswers
from tracker.access.invitations import Invitations
from tracker.access.open_answers import OpenAnswers
from tracker.access.rate_limit import RateLimiter
from tracker.access.sessions import Sessions
from tracker.stores.secret_box import Purpose, SecretBox
from tracker.stores.services import StoreServices


class AccessServices(NamedTuple):
    """The keys and sessions of callers, and the limits on their requests."""

    answers: FirstAnswers
    api_keys: ApiKeys
    audit: Audit
    authority: Authority
    client_address: ClientAddress
    invitations: Invitations
    open_answers: OpenAnswers
    rate_limiter: RateLimiter
    sessions: Sessions


def build(
    *,
    stores: StoreServices,
    trusted_proxies: str,
    per_minute: int,
    per_hour: int,
    ipv6_prefix: int,
    session_per_minute: int,
    secret_keys: Sequence[bytes],
) -> AccessServices:
    """`per_minute` is for an address, `per_hour` for an account, the last for a person."""
    invitations, sessions = Invitations(stores.mongodb), Sessions(stores.mongodb)
    api_keys = ApiKeys(stores.mongodb, stores.redis, invitations)
    rate_limiter = RateLimiter(
        stores.redis,
        stores.breaker,
        per_minute,
        per_hour,
        ipv6_prefix,
        stores.budget,
        session_per_minute,
    )
    box = SecretBox(secret_keys, Purpose.ANSWER)
    return AccessServices(
        answers=FirstAnswers(stores.mongodb, box, rate_limiter),
        api_keys=api_keys,
        audit=Audit(stores.mongodb),
        authority=Authority(stores.mongodb),
        client_address=ClientAddress(trusted_proxies),
        invitations=invitations,
        open_answers=OpenAnswers(sessions, api_keys),
        rate_limiter=rate_limiter,
        sessions=sessions,
    )
