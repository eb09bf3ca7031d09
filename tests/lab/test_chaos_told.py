"""`make chaos` sees every kind of fault of the deliveries to webhooks."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
import pytest

from lab.chaos.receiver import Receiver
from lab.chaos.told import Deliveries, deliveries

ACCOUNT = UUID(int=1)
PATHS = {UUID(int=7): "/0", UUID(int=8): "/1"}


class Told:
    """Two webhooks, told of two events; then something is changed."""

    def __init__(self) -> None:
        self.receiver = Receiver(0)
        self.events = [self.event(1, "attributed"), self.event(2, "no_click")]
        # Of these nobody is told.
        self.events += [self.event(3, "pending"), self.event(4, "duplicate")]
        self.events.append({"_id": 5, "status": "pending", "account_id": None})
        self.rows = [self.row(webhook, number) for webhook in PATHS for number in (1, 2)]
        for row in self.rows:
            self.receive(row)

    def event(self, number: int, status: str) -> dict[str, Any]:
        return {"_id": number, "status": status, "account_id": ACCOUNT}

    def row(self, webhook: UUID, number: int) -> dict[str, Any]:
        return {"webhook_id": webhook, "event_id": number, "status": "delivered"}

    def receive(self, row: dict[str, Any], message_id: str = "") -> None:
        told = PATHS[row["webhook_id"]], row["event_id"]
        self.receiver.told[told][message_id or str(told)] += 1

    def found(self) -> Deliveries:
        return deliveries(self.events, self.rows, PATHS, self.receiver.told, 0)


def lose_one(told: Told) -> None:
    del told.rows[0]


def double_one(told: Told) -> None:
    told.rows.append(told.rows[0])


def tell_of_a_duplicate(told: Told) -> None:
    told.rows.append(told.row(UUID(int=7), 4))
    told.receive(told.rows[-1])


def leave_one_due(told: Told) -> None:
    told.rows[0] = {**told.rows[0], "status": "due"}


def not_send_one(told: Told) -> None:
    del told.receiver.told["/0", 1]


def send_one_with_another_id(told: Told) -> None:
    told.receive(told.rows[0], "another")


def send_one_again(told: Told) -> None:
    told.receive(told.rows[0])


def test_nothing_is_found_where_all_is_well() -> None:
    found = msgspec.structs.asdict(Told().found())
    assert (found.pop("expected"), found.pop("stored")) == (4, 4)
    assert set(found.values()) == {0}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lose_one, "lost"),
        (double_one, "doubled"),
        (tell_of_a_duplicate, "doubled"),
        (leave_one_due, "not_delivered"),
        (not_send_one, "not_received"),
        (send_one_with_another_id, "other_ids"),
        (send_one_again, "repeated"),
    ],
)
def test_each_fault_is_found_alone(change: Callable[[Told], None], name: str) -> None:
    told = Told()
    change(told)
    found = msgspec.structs.asdict(told.found())
    faults = {one for one, number in found.items() if number} - {"expected", "stored"}
    assert (faults, found[name]) == ({name}, 1)


def test_of_new_messages_every_tenth_is_refused_once() -> None:
    receiver = Receiver(0)
    taken = [receiver.take("/0", f"msg_{n}", b'{"event":%d}' % n) for n in range(30)]
    assert taken.count(False) == 3
    assert all(receiver.take("/0", one, b'{"event":99}') for one in sorted(receiver.refused))
    assert receiver.take("/0", "msg_0", b'{"event":0}')
    assert receiver.told["/0", 0]["msg_0"] == 2
