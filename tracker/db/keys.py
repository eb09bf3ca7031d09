"""Every Redis key and channel of the service, on one page.

journal                        stream   clicks and events until they are in MongoDB
journal:dead                   stream   entries that could not be stored, with the reason
link:<domain>/<slug>           hash     version, value: what a redirect needs; 10 min, a miss 30 s
domain:<name>                  hash     version, value: the custom domain; the same
event_config:<pbk>             hash     version, value: the event configuration; the same
transaction:<scope>:<digest>   string   the event id given to a transaction id, until it is drained
reserve:<name of those>        string   the last value, for a week: for when MongoDB is away
rate_limit:<scope>:<owner>     string   requests in a window that began with the first; the window
visitors:salt:<day>            string   the salt of the day's visitors; 48 h
visitors:<day>:<bucket>        hash     visitor (salted hash): the id of the first click; 48 h
slot:<number>                  string   the drain that counts into this slot of the rollups; 10 s
slot_sessions                  hash     slot: the MongoDB session of the drain that has or had it
changes                        channel  the name of a hash that has changed

The keys are not of one hash slot: the service uses one Redis, not Redis Cluster.
"""

from hashlib import sha256
from uuid import UUID

JOURNAL = "journal"
DRAIN_GROUP = "drain"
DEAD_LETTERS = "journal:dead"
CHANGES = "changes"
SLOT_SESSIONS = "slot_sessions"


def link(domain_name: str, slug: str) -> str:
    """`domain_name` is empty for the default domain."""
    return f"link:{domain_name}/{slug}"


def domain(name: str) -> str:
    return f"domain:{name}"


def reserve(name: str) -> str:
    """Of a cached value, for when MongoDB is away."""
    return f"reserve:{name}"


def rate_limit(scope: str, owner: str) -> str:
    """`scope` is `ip` or `account`, `owner` the address or the account's id."""
    return f"rate_limit:{scope}:{owner}"


def event_config(pbk: str) -> str:
    return f"event_config:{pbk}"


def transaction(scope: UUID, transaction_id: str) -> str:
    """`scope` is an event config, an account or a click."""
    return f"transaction:{scope}:{sha256(transaction_id.encode()).hexdigest()}"


def salt(day: str) -> str:
    return f"visitors:salt:{day}"


def visitors(day: str, bucket: str) -> str:
    return f"visitors:{day}:{bucket}"


def slot(number: int) -> str:
    return f"slot:{number}"
