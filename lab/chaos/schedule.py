"""When which process is killed or stopped, and for how long. Pure: a seed has one schedule."""

from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Final, NamedTuple

ACTIONS: Final = ("kill", "stop")
TARGETS: Final = ("web", "drain", "redis", "mongod")
KINDS: Final = tuple(f"{action} {target}" for action in ACTIONS for target in TARGETS)

LONGEST: Final = 14.0
"""Seconds that a process is away at most: longer than any timeout of the service, and longer than
a drain may be silent before the others take over what it has read."""

_OF_ALL: Final = 0.1
"""What a process is away at a time is at most this part of the whole."""

_CALM: Final = 0.05
"""The part of the time before the first."""


class Disturbance(NamedTuple):
    """`at` is in seconds from the beginning. `process` is one of those of the kind's target, and
    is away for `seconds`: killed and started again, or stopped and continued."""

    at: float
    kind: str
    process: str
    seconds: float

    @property
    def is_kill(self) -> bool:
        return self.kind.startswith("kill")


def schedule(seed: int, seconds: float, count: int, drains: int) -> list[Disturbance]:
    """`count` disturbances in the order of time; no kind has two more than another."""
    random = Random(seed)  # noqa: S311
    share = seconds * (1 - _CALM) / max(1, count)
    longest = min(LONGEST, seconds * _OF_ALL)
    return [
        Disturbance(
            at=seconds * _CALM + share * (number + random.random()),
            kind=kind,
            process=_process(random, kind, drains),
            seconds=longest * random.random() ** 2,
        )
        for number, kind in enumerate(islice(_kinds(random), count))
    ]


def drain_names(drains: int) -> list[str]:
    return [f"drain {number}" for number in range(1, drains + 1)]


def _kinds(random: Random) -> Iterator[str]:
    while True:
        yield from random.sample(KINDS, len(KINDS))


def _process(random: Random, kind: str, drains: int) -> str:
    target = kind.partition(" ")[2]
    return random.choice(drain_names(drains)) if target == "drain" else target
