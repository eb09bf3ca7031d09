"""The meaning of a store's error at start: which errors end it, and the operator's remedies.

Only errors are read; nothing asks the store again. No line holds a password.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from pymongo.errors import PyMongoError
from redis.exceptions import RedisError


class UnusableStore(Exception):
    """A store that never works with these settings. The message is one line, with the remedy."""


class StoreUnavailable(Exception):
    """A store that may work later. The message is a line for the operator."""


Fault = UnusableStore | StoreUnavailable

_CREDENTIALS: Final = (
    "refuses the user or the password: correct them; special characters are percent-encoded"
)
_REDIS_FAULTS: Final = {
    r"Authentication required": "Redis asks for a password: put it in, as in "
    "redis://:<password>@host:6379/0",
    r"without any password configured": "it has a password, but Redis has none: leave it out, or "
    "set requirepass in Redis",
    r"invalid username-password pair|invalid password": f"Redis {_CREDENTIALS}",
    r"DB index is out of range|invalid DB index": "Redis has no database of this number: end it "
    "with a lower one, such as /0",
    r"cluster support disabled": "it begins with redis+cluster://, but the server that it names "
    "has cluster-enabled no: begin it with redis://",
}

_MONGODB_FAULTS: Final = {
    18: f"MongoDB {_CREDENTIALS}, and authSource names the database that has the user",
    8000: f"MongoDB {_CREDENTIALS}",
    13: "MongoDB asks for a user who may read and write the database: put user and password in, "
    "or give the user the role readWrite",
}
"""Remedies by the code of the error; MongoDB Atlas has 8000."""

_INDEX_CODES: Final = frozenset((85, 86, 11000))
"""Another index in the place of one of ours, and duplicates under a unique index."""

_OTHER_SET: Final = re.compile(
    r"available for replica set name"
    r"|configured to connect to a replica set named .* but this node belongs to a set named"
)
_NOT_INITIATED: Final = (
    "MONGODB_URI: the replica set was never initiated: run once: mongosh --eval 'rs.initiate()'"
)
_MAX_CHARACTERS: Final = 300


def redis_fault(error: RedisError) -> Fault:
    text = str(error)
    for pattern, remedy in _REDIS_FAULTS.items():
        if re.search(pattern, text):
            return UnusableStore(f"REDIS_URL: {remedy}")
    return StoreUnavailable(f"REDIS_URL: Redis cannot be used: {_one_line(error)}")


def mongodb_fault(error: PyMongoError) -> Fault:
    code = getattr(error, "code", None)
    if code in _MONGODB_FAULTS:
        return UnusableStore(f"MONGODB_URI: {_MONGODB_FAULTS[code]}")
    if code in _INDEX_CODES:
        return UnusableStore(f"MongoDB cannot make an index: {_one_line(error)}")
    if _OTHER_SET.search(str(error)):
        return UnusableStore(
            "MONGODB_URI: replicaSet does not name the replica set of its servers, or they have "
            f"none: {_one_line(error)}"
        )
    if "RSGhost" in str(error):
        return StoreUnavailable(_NOT_INITIATED)
    return StoreUnavailable(f"MONGODB_URI: MongoDB cannot be used: {_one_line(error)}")


def hello_fault(hello: Mapping[str, Any]) -> Fault | None:
    """Return the fault, None for a member of a replica set or a router of a sharded cluster."""
    if "setName" in hello or hello.get("msg") == "isdbgrid":
        return None
    if hello.get("isreplicaset"):
        return StoreUnavailable(_NOT_INITIATED)
    return UnusableStore(
        "MONGODB_URI names a standalone mongod, which has no transactions: restart it with "
        "--replSet rs0 and run once: mongosh --eval 'rs.initiate()'"
    )


def _one_line(error: Exception) -> str:
    """Return the error's text, without the state of all servers that PyMongo appends."""
    text = str(error).partition(", Topology Description")[0].partition(", full error")[0]
    return " ".join(text.split())[:_MAX_CHARACTERS] or type(error).__name__
