"""The identity of the data of a Redis server, which changes when writes may have been lost.

A primary has a random replication id. After a restart or as a replica's successor it has another,
and may lack the last writes. A replica has its primary's id, so it counts as unknown.
"""

from collections.abc import Mapping
from typing import Any, Final

UNKNOWN_SERVER: Final = bytes(4)


def fields_of(info: object) -> dict[str, str]:
    """Return the fields of a raw reply to `INFO`; none of a server that knows no such command."""
    if not isinstance(info, bytes):
        return {}
    lines = info.decode("ascii", "replace").splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def server_id(replication: Mapping[str, Any]) -> bytes:
    """Return the four bytes that identify the server of these fields of `INFO replication`."""
    if replication.get("role") != "master":
        return UNKNOWN_SERVER
    try:
        return bytes.fromhex(str(replication["master_replid"])[:8])
    except (KeyError, ValueError):
        return UNKNOWN_SERVER
