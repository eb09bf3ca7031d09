"""Every Redis key and channel of the service, on one page.

journal                             stream   clicks and events until they are in MongoDB
journal:{<partition>}               stream   the same, of the partitions from 1 on
journal:overflow                    stream   the same, of accounts beyond the drains' capacity
journal:dead                        stream   entries that could not be stored, with the reason
journal:dead:{<tag>}                stream   the same in a Redis Cluster, for each stream
link:<domain id>/<slug>             string   version, server, link; 30 days, a miss 30 s
domain:<name>                       string   version, server, owner of its links; 30 days
event_config:<pbk>                  string   version, server, event configuration; 30 days
account:<id>                        string   version, server, conversion rules; 30 days
origins:<account id>                string   version, server, origins of pages; 30 days
link_name:<link id>                 string   version, server, name of the link; 30 days, a miss 30 s
copies:filled                       string   the servers that were filled with such copies
copies                              string   lease: fills Redis with copies, or evicts them; 60 s
transaction:{<partition>}:<digest>  string   the event id of a transaction id, until it is drained
                                             (7 days at most), then 1 h; without an account 1 min
page_click:{<tag>}:<digest>         string   the click of a visitor (salted hash) and link; 30 min
used_clicks:{<partition>}:<link>    hash     clicks used of a link's max_clicks; who counted; 7 days
rate_limit:<scope>:<owner>          string   requests since the window began; the window
visitors:salt:<day>                 string   the salt of the day's visitors; 48 h
visitors:<day>:<bucket>             hash     visitor (salted hash): id of the first click; 48 h
visitors:{<part>}:<day>:<bucket>    hash     the same in a cluster, by the bucket's first digit
joint_counts                        string   lease: counts finished days ahead; 60 s
partition:<number>                  string   lease: reads this partition of the journal; 10 s
drains                              zset     live drains, by time of presumed death; 10 s
{slot}:<number>                     string   lease: counts into rollups of this drain number; 10 s
{slot}:sessions                     hash     drain number: MongoDB session of its drain, or last one
fleet:counters                      hash     counts of all drains, by metric and labels (JSON)
probe:{<tag>}                       string   empty: a test whether Redis takes writes; 60 s
nobody:{<tag>}                      none     never set: scripts that a full Redis must run delete it
changes                             channel  names of changed copies, api_key:<digest>

All but the streams share a memory budget (`stores/redis/memory_budget`). In a Redis Cluster the
part in braces, or the whole key without one, decides on the server. Keys of one script share it.
`<tag>` is that part of the script's key. A day outside UTC has its zone: Europe/Paris:2026-01-31.
"""

from hashlib import blake2b
from uuid import UUID

JOURNAL = "journal"
DRAIN_GROUP = "drain"
OVERFLOW = "journal:overflow"
DEAD_LETTERS = "journal:dead"
CHANGES = "changes"
COPIES_FILLED = "copies:filled"
COPIES_LEASE = "copies"
DRAIN_SESSIONS = "{slot}:sessions"
DRAIN_COUNTER_SUMS = "fleet:counters"
JOINT_COUNTS_LEASE = "joint_counts"
DRAINS = "drains"


def hash_tag(key: str) -> str:
    """Return the part of a key that decides on its hash slot (specification of Redis Cluster)."""
    _, opened, rest = key.partition("{")
    tag, closed, _ = rest.partition("}")
    return tag if opened and closed and tag else key


def probe(key: str = JOURNAL) -> str:
    return f"probe:{{{hash_tag(key)}}}"


def never_set(key: str) -> str:
    """Return an unused key. A full Redis refuses a script unless it begins with a deletion."""
    return f"nobody:{{{hash_tag(key)}}}"


def journal(partition: int) -> str:
    return f"journal:{{{partition}}}" if partition else JOURNAL


def streams(partitions: int) -> list[str]:
    """Return the keys of the journal: the partitions in order, then the overflow."""
    return [*map(journal, range(partitions)), OVERFLOW]


def dead_letters(stream: str) -> str:
    return f"{DEAD_LETTERS}:{{{hash_tag(stream)}}}"


def link(namespace: str, slug: str) -> str:
    """`namespace` is the id of a custom domain, in hex; empty for the default domain."""
    return f"link:{namespace}/{slug}"


def domain(name: str) -> str:
    return f"domain:{name}"


def rate_limit(scope: str, owner: str) -> str:
    """`owner` is an address (IPv6: its network), ids, or the digest of an e-mail."""
    return f"rate_limit:{scope}:{owner}"


def event_config(pbk: str) -> str:
    return f"event_config:{pbk}"


def api_key(digest: bytes) -> str:
    """Return the name under which a change of an API key is published. It is no key of Redis."""
    return f"api_key:{digest.hex()}"


def account(account_id: UUID) -> str:
    return f"account:{account_id}"


def origins(account_id: str) -> str:
    return f"origins:{account_id}"


def link_name(link_id: UUID) -> str:
    return f"link_name:{link_id}"


def page_click(digest: str, tag: str) -> str:
    """`tag` is that of the click's stream in a Redis Cluster, else of all."""
    return f"page_click:{{{tag}}}:{digest}"


def transaction_claim(scope: UUID, transaction_id: str, partition: int = 0) -> str:
    """`scope` is an event config, an account or a click; `partition` has its events."""
    digest = blake2b(transaction_id.encode(), digest_size=16, salt=scope.bytes)
    return f"transaction:{{{partition or JOURNAL}}}:{digest.hexdigest()}"


def used_clicks(link_id: bytes, partition: int = 0) -> str:
    """`partition` has the link's clicks, in a Redis Cluster only."""
    return f"used_clicks:{{{partition or JOURNAL}}}:{link_id.hex()}"


def salt(day: str) -> str:
    """`day` has its zone, unless that is UTC."""
    return f"visitors:salt:{day}"


def visitors(day: str, bucket: str, part: str = "") -> str:
    """`part` is given in a Redis Cluster only."""
    return f"visitors:{{{part}}}:{day}:{bucket}" if part else f"visitors:{day}:{bucket}"


def partition_lease(partition: int) -> str:
    return f"partition:{partition}"


def drain_number_lease(number: int) -> str:
    return f"{{slot}}:{number}"
