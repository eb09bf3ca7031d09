"""What the client writes down: every answer, and what never had one."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from lab.chaos.requests import Request

_REMEMBERED = 1000


class EventAnswer(NamedTuple):
    number: int
    event_id: int
    transaction: str | None


class Wait(NamedTuple):
    """In seconds; `began` by the monotonic clock."""

    began: float
    seconds: float


class Ledger:
    """`clicks` and `events` are those that were answered as recorded. A request is `cut` if it was
    sent and never answered: it may be stored or not. `others` are answers of other kinds, by kind
    of request and status."""

    def __init__(self) -> None:
        self.clicks: dict[int, UUID] = {}
        self.events: list[EventAnswer] = []
        self.newest: deque[UUID] = deque(maxlen=_REMEMBERED)
        self.pending = 0
        self.refused = 0
        self.cut: set[int] = set()
        self.others: Counter[str] = Counter()
        self.waits: list[Wait] = []

    @property
    def answered(self) -> int:
        return len(self.clicks) + len(self.events)

    def click(self, request: Request, click_id: UUID) -> None:
        self.clicks[request.number] = click_id
        self.newest.append(click_id)

    def event(self, request: Request, event_id: int, click_status: str) -> None:
        self.events.append(EventAnswer(request.number, event_id, request.transaction))
        self.pending += click_status == "pending"

    def other(self, request: Request, status: int) -> None:
        self.others[f"{'click' if request.is_click else 'event'} {status}"] += 1


def longest_apart_from(waits: Sequence[Wait], spans: Sequence[tuple[float, float]]) -> float:
    """The longest of those that no span of time touches; 0 if there is none."""

    def is_apart(wait: Wait) -> bool:
        return all(wait.began + wait.seconds < begin or end < wait.began for begin, end in spans)

    return max((wait.seconds for wait in waits if is_apart(wait)), default=0.0)
