"""The hash slots of a Redis Cluster, and their servers. Pure."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from redis.crc import key_slot

SLOTS: Final = 16384

Address = tuple[str, int]

_KEYLESS: Final = frozenset({"PING", "INFO", "TIME", "CONFIG GET", "SCRIPT LOAD", "CLUSTER SLOTS"})
"""Commands of the service that name no key: any server answers them."""

_SCRIPTS: Final = frozenset({"EVAL", "EVALSHA"})


class SlotRange(NamedTuple):
    """The slots from `first` to `last`, of a primary and its replicas."""

    first: int
    last: int
    primary: Address
    replicas: tuple[Address, ...]


SlotMap = tuple[SlotRange, ...]


def slot_map(answer: Sequence[Any], asked: Address) -> SlotMap:
    """Return the map of CLUSTER SLOTS (see its documentation). A missing host means `asked`."""
    return tuple(
        sorted(
            SlotRange(int(first), int(last), *_servers(servers, asked))
            for first, last, *servers in answer
        )
    )


def _servers(servers: Sequence[Any], asked: Address) -> tuple[Address, tuple[Address, ...]]:
    primary, *replicas = ((_text(one[0]) or asked[0], int(one[1])) for one in servers)
    return primary, tuple(replicas)


def _text(host: bytes | str | None) -> str:
    text = host.decode() if isinstance(host, bytes) else host or ""
    return "" if text == "?" else text


def owners(slots: SlotMap) -> list[Address | None]:
    """Return the primary of each slot; None if no server has it."""
    found: list[Address | None] = [None] * SLOTS
    for one in slots:
        found[one.first : one.last + 1] = [one.primary] * (one.last - one.first + 1)
    return found


def ranges_of(slots: SlotMap) -> dict[Address, set[tuple[int, int]]]:
    found: dict[Address, set[tuple[int, int]]] = {}
    for one in slots:
        found.setdefault(one.primary, set()).add((one.first, one.last))
    return found


def slot_of(key: bytes | str) -> int:
    return int(key_slot(key.encode() if isinstance(key, str) else key))


def key_of(command: Sequence[Any]) -> bytes | str | None:
    """Return the first key or channel of a command; None if it names none."""
    name = command[0]
    if name in _KEYLESS:
        return None
    if name in _SCRIPTS:
        return command[3] if int(command[2]) else None
    key: bytes | str = command[1]
    if name == "XREADGROUP":
        key = command[command.index(b"STREAMS" if b"STREAMS" in command else "STREAMS") + 1]
    return key
