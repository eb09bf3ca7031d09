"""The audit of a run: answers against stored documents, and these against deliveries. Pure."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson

from lab.chaos.restatements import (
    FIELDS,
    Statement,
    allowed,
    status_of,
    totals,
    was_approved,
    wrong_fields,
)
from lab.chaos.traffic import EventAnswer, Ledger
from lab.scene import LIMIT
from tracker.clock import day_of
from tracker.conversions.corrections.status import Status
from tracker.conversions.document import COUNTED, Attribution
from tracker.webhooks.delivery import DeliveryStatus

_NUMBER: Final = re.compile(r"(?:^|&)n=(\d+)(?:&|$)")

ELSEWHERE: Final = "click 302"  # without a click id: after the last click of a limited link

_NOTIFIED: Final = frozenset(COUNTED) - {Attribution.PENDING}

_MESSAGES_PER_REFUSAL: Final = 10
"""One in this many new messages is refused at first, to be sent again."""

Document = Mapping[str, Any]

Notification = tuple[str, int]
"""The path, of which each webhook has its own, and the id of the event."""


class Figure(NamedTuple):
    """A number of the result. One that `is_fault` breaks a promise if it is not 0."""

    name: str
    number: int
    is_fault: bool = False


class Receiver:
    """The webhooks' receiver: accepted messages by notification and id, and refused ones."""

    def __init__(self) -> None:
        self.received: defaultdict[Notification, Counter[str]] = defaultdict(Counter)
        self.refused: set[str] = set()
        self._messages = 0

    def accept(self, path: str, message_id: str, body: bytes) -> bool:
        notification = path, int(orjson.loads(body)["event"])
        if notification not in self.received and message_id not in self.refused:
            self._messages += 1
            if self._messages % _MESSAGES_PER_REFUSAL == 0:
                self.refused.add(message_id)
                return False
        self.received[notification][message_id] += 1
        return True


class Audit:
    """Every stored document of a run, recounted."""

    def __init__(self) -> None:
        self._clicks: dict[UUID, int] = {}
        self._visitors: Counter[tuple[Any, ...]] = Counter()
        self._people: Counter[UUID] = Counter()
        self._events: dict[int, Document] = {}
        self._deliveries: list[Document] = []

    def add_click(self, click: Document) -> None:
        found = _NUMBER.search(click["query"])
        self._clicks[click["_id"]] = int(found[1]) if found else 0
        if click["bot"] is None:
            self._people[click["link_id"]] += 1
            day = day_of(click["at"])
            visitor = (click["link_id"], day, click["address"], click["user_agent"])
            self._visitors[visitor] += bool(click["unique"])

    def add_event(self, event: Document) -> None:
        self._events[event["_id"]] = event

    def add_delivery(self, delivery: Document) -> None:
        self._deliveries.append(delivery)

    def figures(
        self, ledger: Ledger, paths: Mapping[UUID, str], receiver: Receiver, loses_marks: bool
    ) -> list[Figure]:
        """Compare everything; `paths` are those of the webhooks at the receiver.

        `loses_marks`: a failover of Redis may lose marks of visitors, which no answer waits for.
        """
        return [
            *self._of_clicks(ledger, loses_marks),
            *self._of_events(ledger),
            *_of_restated(self._events.values(), ledger.statements),
            *of_deliveries(self._events.values(), self._deliveries, paths, receiver),
        ]

    def beyond_limit(self, limited: UUID, ledger: Ledger) -> int:
        """Return how many clicks a link has above LIMIT, or lacks though it led elsewhere."""
        over = self._people[limited] - LIMIT
        return abs(over) if ledger.others[ELSEWHERE] else max(0, over)

    def report_totals(self) -> dict[str, float]:
        return {
            "clicks": len(self._clicks),
            "uniqueClicks": sum(self._visitors.values()),
            **totals(
                one
                for one in self._events.values()
                if one["status"] in COUNTED and one["account_id"] is not None
            ),
        }

    def _of_clicks(self, ledger: Ledger, loses_marks: bool) -> list[Figure]:
        numbers = self._clicks.values()
        lost = sum(self._clicks.get(one) != number for number, one in ledger.clicks.items())
        wrong = sum(first != 1 for first in self._visitors.values())
        return [
            Figure("clicks answered", len(ledger.clicks)),
            Figure("clicks stored", len(self._clicks)),
            Figure("clicks stored without an answer", len(ledger.cut.intersection(numbers))),
            Figure("clicks lost", lost, is_fault=True),
            Figure("clicks doubled", len(numbers) - len(set(numbers)), is_fault=True),
            Figure("visitors of a link and day", len(self._visitors)),
            Figure("visitors not counted once", wrong, is_fault=not loses_marks),
        ]

    def _of_events(self, ledger: Ledger) -> list[Figure]:
        counting = [one for one in self._events.values() if one["status"] in COUNTED]
        holders = _holders(counting)
        lost = sum(not _is_kept(answer, holders) for answer in ledger.events)
        doubled = sum(len(ids) - 1 for ids in holders.values())
        # Right while a store is unavailable.
        own_ids = sum(
            answer.event_id not in holders.get(answer.transaction, ())
            for answer in ledger.events
            if answer.transaction is not None
        )
        left_pending = sum(
            one["status"] == Attribution.PENDING and one["click_id"] in self._clicks
            for one in counting
        )
        cut = ledger.cut.intersection(map(_number, self._events.values()))
        return [
            Figure("events answered", len(ledger.events)),
            Figure("events answered as pending", ledger.pending),
            Figure("events stored", len(self._events)),
            Figure("events stored without an answer", len(cut)),
            Figure("events lost", lost, is_fault=True),
            Figure("events doubled", doubled, is_fault=True),
            Figure("event ids given twice", _ids_given_twice(ledger), is_fault=True),
            Figure("repeats answered with an id of their own", own_ids),
            Figure("events pending although their click is stored", left_pending, is_fault=True),
        ]


def _of_restated(
    events: Iterable[Document], statements: Mapping[str, Sequence[Statement]]
) -> list[Figure]:
    """Compare conversions with what the newest reports and corrections of each say."""
    found = [
        (one, statements[one["transaction_id"]])
        for one in events
        if one["status"] in COUNTED and one.get("transaction_id") in statements
    ]
    wrong = Counter(name for one, known in found for name in wrong_fields(one, known))
    return [
        Figure("conversions with reports of a status", len(found)),
        Figure("of which restated", sum("revision" in one for one, _ in found)),
        Figure(
            "of which only one status is right",
            sum(len(allowed("reported", known)) == 1 for _, known in found),
        ),
        Figure("reports and corrections of them", sum(map(len, statements.values()))),
        *(
            Figure(f"conversions whose {name} is not the newest", wrong[name], is_fault=True)
            for name in FIELDS
        ),
    ]


def _holders(counting: Iterable[Document]) -> dict[str | int, set[int]]:
    """Return the ids of counted events, by transaction id or else by request number."""
    holders: defaultdict[str | int, set[int]] = defaultdict(set)
    for one in counting:
        holders[one.get("transaction_id") or _number(one)].add(one["_id"])
    return dict(holders)


def _is_kept(answer: EventAnswer, holders: Mapping[str | int, set[int]]) -> bool:
    if answer.transaction is not None:
        return answer.transaction in holders
    return answer.event_id in holders.get(answer.number, ())


def _number(event: Document) -> int:
    return int(orjson.loads(event["metadata"])["n"])


def _ids_given_twice(ledger: Ledger) -> int:
    given = {(answer.event_id, answer.transaction or answer.number) for answer in ledger.events}
    return len(given) - len({event_id for event_id, _ in given})


def of_deliveries(
    events: Iterable[Document],
    rows: Iterable[Document],
    paths: Mapping[UUID, str],
    receiver: Receiver,
) -> list[Figure]:
    """Compare stored `events` and deliveries (`rows`) with what `receiver` got.

    Webhooks are told of approved conversions. One that was approved for a moment may be told too.
    """
    told = [
        event
        for event in events
        if event["status"] in _NOTIFIED and event["account_id"] is not None and was_approved(event)
    ]
    allowed = {(path, event["_id"]) for event in told for path in paths.values()}
    final = {event["_id"] for event in told if status_of(event) is Status.APPROVED}
    expected = {one for one in allowed if one[1] in final}
    statuses = [((paths[row["webhook_id"]], row["event_id"]), row["status"]) for row in rows]
    stored = Counter(one for one, _ in statuses)
    delivered = {one for one, status in statuses if status == DeliveryStatus.DELIVERED}
    received = receiver.received
    other_ids = sum(len(ids) - 1 for ids in received.values())
    # Right after a drain was killed.
    repeated = sum(ids.total() - len(ids) for ids in received.values())
    undelivered = sum(status != DeliveryStatus.DELIVERED for _, status in statuses)
    doubled = stored.total() - len(allowed & stored.keys())
    return [
        Figure("deliveries expected", len(expected)),
        Figure("deliveries stored", stored.total()),
        Figure("deliveries lost", len(expected - stored.keys()), is_fault=True),
        Figure("deliveries doubled or unwanted", doubled, is_fault=True),
        Figure("deliveries not delivered", undelivered, is_fault=True),
        Figure("deliveries not received", len(delivered - received.keys()), is_fault=True),
        Figure("deliveries received with another id", other_ids, is_fault=True),
        Figure("deliveries refused once", len(receiver.refused)),
        Figure("deliveries received again, with the same id", repeated),
    ]
