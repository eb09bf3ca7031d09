"""The deliveries to webhooks: what the receiver got, against what is stored and was due. Pure."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import msgspec
import orjson

from lab.receiver import ACCEPTED, BUSY, Message
from tracker.conversions.attribution import COUNTED, Status
from tracker.webhooks.delivery import Status as DeliveryStatus

_NOTIFIED: Final = frozenset(COUNTED) - {Status.PENDING}

_REFUSED_EVERY: Final = 10
"""Of so many new messages one is refused at first, to be sent again."""

Document = Mapping[str, Any]

Notification = tuple[str, int]
"""The path, of which each webhook has its own, and the id of the event."""


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
            if self._messages % _REFUSED_EVERY == 0:
                self.refused.add(message_id)
                return False
        self.received[notification][message_id] += 1
        return True

    async def respond(self, message: Message, transport: asyncio.WriteTransport) -> None:
        """Answer a message, for `lab.receiver`."""
        accepted = self.accept(message.path, message.headers["webhook-id"], message.body)
        transport.write(ACCEPTED if accepted else BUSY)


class Deliveries(msgspec.Struct, kw_only=True):
    """Numbers of deliveries.

    - `lost`: not stored for a webhook and an event that it must be notified of
    - `doubled`: stored again, or for an event that no webhook must be notified of
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
