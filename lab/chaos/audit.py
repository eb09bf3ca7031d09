"""The audit of a run: answers against stored documents, and these against deliveries.

Pure: add every stored click, event and delivery, in any order, then ask for the findings. What the
rollups say of the documents is for `scripts.verify`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import msgspec
import orjson

from lab.chaos.traffic import EventAnswer, Ledger
from tracker.clock import day_of
from tracker.conversions.document import COUNTED, ConversionStatus
from tracker.webhooks.delivery import DeliveryStatus

_NUMBER: Final = re.compile(r"(?:^|&)n=(\d+)(?:&|$)")

_NOTIFIED: Final = frozenset(COUNTED) - {ConversionStatus.PENDING}

_MESSAGES_PER_REFUSAL: Final = 10
"""One in this many new messages is refused at first, to be sent again."""

Document = Mapping[str, Any]

Notification = tuple[str, int]
"""The path, of which each webhook has its own, and the id of the event."""


class Clicks(msgspec.Struct, kw_only=True):
    """Numbers of clicks.

    - `doubled`: stored again, or as another click
    - `cut_stored`: stored without an answer
    - `visitors_wrong`: visitors of a link and day without exactly one unique click
    """

    answered: int
    stored: int
    lost: int
    doubled: int
    cut_stored: int
    visitors: int
    visitors_wrong: int


class Events(msgspec.Struct, kw_only=True):
    """Numbers of events.

    - `lost`: answered, and neither it nor another event with its transaction id counts
    - `doubled`: counted again, for the same request or transaction
    - `ids_given_twice`: ids given to requests without a common transaction id
    - `other_ids`: repeats of a transaction id that were not answered with the id of the event that
      counts, which is right while a store is unavailable
    - `left_pending`: pending although their click is stored
    """

    answered: int
    answered_pending: int
    stored: int
    lost: int
    doubled: int
    cut_stored: int
    ids_given_twice: int
    other_ids: int
    left_pending: int


class Deliveries(msgspec.Struct, kw_only=True):
    """Numbers of deliveries.

    - `lost`: not stored for a webhook and an event that it must be notified of
    - `doubled`: stored again, or for an event that no webhook may be notified of
    - `not_delivered`: stored and not accepted, or not yet
    - `not_received`: stored as delivered and never received
    - `other_ids`: received under more than one id
    - `repeated`: accepted again, which is right after a drain was killed
    """

    expected: int
    stored: int
    lost: int
    doubled: int
    not_delivered: int
    not_received: int
    other_ids: int
    refused_once: int
    repeated: int


class Findings(msgspec.Struct, kw_only=True):
    """Everything that was compared."""

    clicks: Clicks
    events: Events
    deliveries: Deliveries


class Receiver:
    """The record of the webhooks' receiver.

    `received` counts the accepted messages of each notification by message id; `refused` has the
    ids of those that were refused at first.
    """

    def __init__(self) -> None:
        self.received: defaultdict[Notification, Counter[str]] = defaultdict(Counter)
        self.refused: set[str] = set()
        self._messages = 0

    def accept(self, path: str, message_id: str, body: bytes) -> bool:
        """Record a message and return whether it is accepted."""
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
        self._events: dict[int, Document] = {}
        self._deliveries: list[Document] = []

    def add_click(self, click: Document) -> None:
        found = _NUMBER.search(click["query"])
        self._clicks[click["_id"]] = int(found[1]) if found else 0
        if click["bot"] is None:
            day = day_of(click["at"])
            visitor = (click["link_id"], day, click["address"], click["user_agent"])
            self._visitors[visitor] += bool(click["unique"])

    def add_event(self, event: Document) -> None:
        self._events[event["_id"]] = event

    def add_delivery(self, delivery: Document) -> None:
        self._deliveries.append(delivery)

    def findings(self, ledger: Ledger, paths: Mapping[UUID, str], receiver: Receiver) -> Findings:
        """Compare everything; `paths` are those of the webhooks at the receiver."""
        return Findings(
            clicks=self._clicks_found(ledger),
            events=self._events_found(ledger),
            deliveries=deliveries(self._events.values(), self._deliveries, paths, receiver),
        )

    def report_totals(self) -> dict[str, int]:
        """Return the totals that a report of the account, bots included, must have."""
        return {
            "clicks": len(self._clicks),
            "uniqueClicks": sum(self._visitors.values()),
            "conversions": sum(
                one["status"] in COUNTED and one["account_id"] is not None
                for one in self._events.values()
            ),
        }

    def _clicks_found(self, ledger: Ledger) -> Clicks:
        numbers = self._clicks.values()
        return Clicks(
            answered=len(ledger.clicks),
            stored=len(self._clicks),
            lost=sum(
                self._clicks.get(click_id) != number for number, click_id in ledger.clicks.items()
            ),
            doubled=len(numbers) - len(set(numbers)),
            cut_stored=len(ledger.cut.intersection(numbers)),
            visitors=len(self._visitors),
            visitors_wrong=sum(first != 1 for first in self._visitors.values()),
        )

    def _events_found(self, ledger: Ledger) -> Events:
        counting = [one for one in self._events.values() if one["status"] in COUNTED]
        holders = _holders(counting)
        return Events(
            answered=len(ledger.events),
            answered_pending=ledger.pending,
            stored=len(self._events),
            lost=sum(not _is_kept(answer, holders) for answer in ledger.events),
            doubled=sum(len(ids) - 1 for ids in holders.values()),
            cut_stored=len(ledger.cut.intersection(map(_number, self._events.values()))),
            ids_given_twice=_ids_given_twice(ledger),
            other_ids=sum(
                answer.event_id not in holders.get(answer.transaction, ())
                for answer in ledger.events
                if answer.transaction is not None
            ),
            left_pending=sum(
                one["status"] == ConversionStatus.PENDING and one["click_id"] in self._clicks
                for one in counting
            ),
        )


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


def deliveries(
    events: Iterable[Document],
    rows: Iterable[Document],
    paths: Mapping[UUID, str],
    receiver: Receiver,
) -> Deliveries:
    """Compare stored `events` and deliveries (`rows`) with what `receiver` got.

    `paths` are those of the webhooks, all of one account.
    """
    expected = {
        (path, event["_id"])
        for event in events
        if event["status"] in _NOTIFIED and event["account_id"] is not None
        for path in paths.values()
    }
    statuses = [((paths[row["webhook_id"]], row["event_id"]), row["status"]) for row in rows]
    stored = Counter(one for one, _ in statuses)
    delivered = {one for one, status in statuses if status == DeliveryStatus.DELIVERED}
    return Deliveries(
        expected=len(expected),
        stored=stored.total(),
        lost=len(expected - stored.keys()),
        doubled=stored.total() - len(expected & stored.keys()),
        not_delivered=sum(status != DeliveryStatus.DELIVERED for _, status in statuses),
        not_received=len(delivered - receiver.received.keys()),
        other_ids=sum(len(ids) - 1 for ids in receiver.received.values()),
        refused_once=len(receiver.refused),
        repeated=sum(ids.total() - len(ids) for ids in receiver.received.values()),
    )
