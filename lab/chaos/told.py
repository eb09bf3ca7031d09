"""What webhooks were to be told against what is stored of it, and what was received. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

import msgspec

from lab.chaos.receiver import Told
from tracker.conversions.attribution import COUNTED, Status
from tracker.webhooks.delivery import Status as DeliveryStatus

_TOLD: Final = frozenset(COUNTED) - {Status.PENDING}

Document = Mapping[str, Any]


class Deliveries(msgspec.Struct, kw_only=True):
    """Numbers of deliveries. `lost`: not stored for a webhook and an event that it was to be told
    of; `doubled`: stored again, or for what no webhook was to be told; `not_delivered`: stored, and
    not, or not yet, accepted; `not_received`: although it is stored as delivered. `other_ids`:
    told under more than one id. `repeated`: accepted again, which is right after a death."""

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
    told: Mapping[Told, Counter[str]],
    refused: int,
) -> Deliveries:
    """`paths` are those of the webhooks, all of one account. `told` is the receiver's, and so is
    the number of messages that it refused at first."""
    expected = {
        (path, event["_id"])
        for event in events
        if event["status"] in _TOLD and event["account_id"] is not None
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
        not_received=len(delivered - told.keys()),
        other_ids=sum(len(ids) - 1 for ids in told.values()),
        refused_once=refused,
        repeated=sum(ids.total() - len(ids) for ids in told.values()),
    )
