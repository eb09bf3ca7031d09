"""Every Redis key and channel of the service, on one page.

journal                        stream   clicks and events until they are in MongoDB
journal:{<partition>}          stream   the same, of the partitions from 1 on (`journal/partitions`)
journal:overflow               stream   the same, of accounts that send more than drains can store
journal:dead                   stream   entries that could not be stored, with the reason
journal:dead:{<slot of a stream>}
                               stream   the same in a Redis Cluster, for each stream of the journal
link:<domain id>/<slug>        hash     version, value: what a redirect needs; 10 min, a miss 30 s
domain:<name>                  hash     version, value: whose links it leads to; the same
event_config:<pbk>             hash     version, value: the event configuration; the same
account:<id>                   hash     version, value: the account's conversion rules; the same
reserve:{<one of those four>}  string   its stale copy, for when MongoDB is unavailable; 7 days
transaction:{<partition>}:<digest>
                               string   the event id given to a transaction id in a scope; until it
                                        is drained (a week at most), then an hour; a minute for
                                        events without an account. Partition 0 is called journal
rate_limit:<scope>:<owner>     string   requests in a window that began with the first; the window
visitors:salt:<day>            string   the salt of the day's visitors; 48 h
visitors:<day>:<bucket>        hash     visitor (salted hash): the id of the first click; 48 h. In
                                        both a day outside UTC has its zone: Europe/Paris:2026-01-31
visitors:{<part>}:<day>:<bucket>
                               hash     the same in a Redis Cluster: the first of the bucket's four
                                        digits is the part
time_zones                     string   the drain that changes accounts' time zones; 60 s
joint_counts                   string   the drain that counts finished days ahead; 60 s
partition:<number>             string   the drain that reads this partition of the journal; 10 s
drains                         zset     the drains that are alive, by when that is in doubt; 10 s
{slot}:<number>                string   the drain that counts into this slot of the rollups; 10 s
{slot}:sessions                hash     slot: the MongoDB session of the drain that has or had it
fleet:counters                 hash     what all drains have counted, by metric and labels (JSON)
probe:{<slot of a key>}        string   nothing: written to see that Redis takes writes; 60 s
nobody:{<slot of a key>}       none     never set: scripts that a full Redis must run delete it
changes                        channel  the name of a hash that has changed; api_key:<digest>

All but the streams share a memory budget: `stores/redis/memory_budget`.

In a Redis Cluster the part in braces, or the whole key without one, says which server has it. What
one script touches shares that part: a stream, its dead letters and the claims to transaction ids
that are appended with it, a value and its stale copy, the slots of drains, a part of the visitors.
`<slot of a key>` is that part of the key that a script is about. A channel is heard and published
at the server of its name.
"""

from hashlib import blake2b
from uuid import UUID

JOURNAL = "journal"
DRAIN_GROUP = "drain"
OVERFLOW = "journal:overflow"
DEAD_LETTERS = "journal:dead"
CHANGES = "changes"
SLOT_SESSIONS = "{slot}:sessions"
FLEET_COUNTERS = "fleet:counters"
TIME_ZONES_LEASE = "time_zones"
JOINT_COUNTS_LEASE = "joint_counts"
DRAINS = "drains"


def hash_tag(key: str) -> str:
    """Return the part of a key that decides on its hash slot: what is in the first braces, or all.

    Source: the specification of Redis Cluster.
    """
    _, opened, rest = key.partition("{")
    tag, closed, _ = rest.partition("}")
    return tag if opened and closed and tag else key


def probe(key: str = JOURNAL) -> str:
    """Return the key, in the hash slot of `key`, that is written to see whether Redis takes it."""
    return f"probe:{{{hash_tag(key)}}}"


def never_set(key: str) -> str:
    """Return a key in the hash slot of `key` that is never set."""
    return f"nobody:{{{hash_tag(key)}}}"


def journal(partition: int) -> str:
    return f"journal:{{{partition}}}" if partition else JOURNAL


def streams(partitions: int) -> list[str]:
    """Return the keys of the journal: of its partitions in their order, then of its overflow."""
    return [*map(journal, range(partitions)), OVERFLOW]


def dead_letters(stream: str) -> str:
    """Return the key of a stream's dead letters in a Redis Cluster, in its hash slot."""
    return f"{DEAD_LETTERS}:{{{hash_tag(stream)}}}"


def link(namespace: str, slug: str) -> str:
    """Return the key of a link.

    `namespace` is the id of a custom domain, in hex; empty for the default domain.
    """
    return f"link:{namespace}/{slug}"


def domain(name: str) -> str:
    return f"domain:{name}"


def stale_copy(name: str) -> str:
    """Return the key of a cached value's stale copy, for when MongoDB is unavailable."""
    return f"reserve:{{{name}}}"


def rate_limit(scope: str, owner: str) -> str:
    """Return the key of a counter of requests.

    `scope` is the name of a limit. `owner` is an address (IPv6: its network), an id, those of
    account and person, or the digest of an e-mail.
    """
    return f"rate_limit:{scope}:{owner}"


def event_config(pbk: str) -> str:
    return f"event_config:{pbk}"


def api_key(digest: bytes) -> str:
    """Return the name under which a change of an API key is published. It is no key of Redis."""
    return f"api_key:{digest.hex()}"


def account(account_id: UUID) -> str:
    return f"account:{account_id}"


def transaction(scope: UUID, transaction_id: str, partition: int = 0) -> str:
    """Return the key of a transaction id's claim in an event config, an account or a click.

    `partition` is the one that its events are appended to; both have one hash slot.
    """
    digest = blake2b(transaction_id.encode(), digest_size=16, salt=scope.bytes)
    return f"transaction:{{{partition or JOURNAL}}}:{digest.hexdigest()}"


def salt(day: str) -> str:
    """Return the key of the salt of a day's visitors; `day` has its zone, unless that is UTC."""
    return f"visitors:salt:{day}"


def visitors(day: str, bucket: str, part: str = "") -> str:
    """Return the key of one bucket of a day's visitors; `part` is given in a Redis Cluster only."""
    return f"visitors:{{{part}}}:{day}:{bucket}" if part else f"visitors:{day}:{bucket}"


def partition_lease(partition: int) -> str:
    return f"partition:{partition}"


def slot(number: int) -> str:
    return f"{{slot}}:{number}"
