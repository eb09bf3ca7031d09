"""The objects of the frame: for authentication, limits, pacing and logs."""

from typing import NamedTuple, Protocol

from tracker.access.api_keys import ApiKeys
from tracker.access.audit import Audit
from tracker.access.authority import Authority
from tracker.access.client_address import ClientAddress
from tracker.access.idempotency import FirstAnswers
from tracker.access.open_answers import OpenAnswers
from tracker.access.rate_limit import RateLimiter
from tracker.access.sessions import Sessions
from tracker.http.access_log import AccessLog
from tracker.limits.pacing import Pacing
from tracker.limits.permits import Permits
from tracker.limits.running_exports import RunningExports
from tracker.public_url import PublicUrl
from tracker.stores.mongodb.database import MongoDB


class WebServices(NamedTuple):
    """The objects of the frame, available to every endpoint."""

    access_log: AccessLog
    answers: FirstAnswers
    api_keys: ApiKeys
    audit: Audit
    authority: Authority
    client_address: ClientAddress
    country_header: str
    exports: RunningExports
    internal_port: int
    is_production: bool
    large_bodies: Permits
    mongodb: MongoDB
    open_answers: OpenAnswers
    pacing: Pacing
    public_url: PublicUrl
    rate_limiter: RateLimiter
    sessions: Sessions


class WebProcess(Protocol):
    """The process of a request: the frame's objects, and the rooms' by name."""

    web: WebServices
