"""`make chaos` finds every kind of fault of the deliveries to webhooks."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import msgspec
import pytest

from lab.chaos.audit import Deliveries, Receiver, deliveries

ACCOUNT = UUID(int=1)
PATHS = {UUID(int=7): "/0", UUID(int=8): "/1"}


class Run:
    """Two webhooks notified of two events; then something is changed."""

    def __init__(self) -> None:
        self.receiver = Receiver()
        self.events = [self.event(1, "attributed"), self.event(2, "no_click")]
        # Nobody is notified of these.
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
        notification = PATHS[row["webhook_id"]], row["event_id"]
        self.receiver.received[notification][message_id or str(notification)] += 1

    def found(self) -> Deliveries:
        return deliveries(self.events, self.rows, PATHS, self.receiver)


def lose_one(run: Run) -> None:
    del run.rows[0]


def double_one(run: Run) -> None:
    run.rows.append(run.rows[0])


def notify_of_a_duplicate(run: Run) -> None:
    run.rows.append(run.row(UUID(int=7), 4))
    run.receive(run.rows[-1])


def leave_one_due(run: Run) -> None:
    run.rows[0] = {**run.rows[0], "status": "due"}


def not_send_one(run: Run) -> None:
    del run.receiver.received["/0", 1]


def send_one_with_another_id(run: Run) -> None:
    run.receive(run.rows[0], "another")


def send_one_again(run: Run) -> None:
    run.receive(run.rows[0])


def test_a_run_without_faults_has_no_findings() -> None:
    found = msgspec.structs.asdict(Run().found())
    assert (found.pop("expected"), found.pop("stored")) == (4, 4)
    assert set(found.values()) == {0}


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lose_one, "lost"),
        (double_one, "doubled"),
        (notify_of_a_duplicate, "doubled"),
        (leave_one_due, "not_delivered"),
        (not_send_one, "not_received"),
        (send_one_with_another_id, "other_ids"),
        (send_one_again, "repeated"),
    ],
)
def test_each_fault_is_found_alone(change: Callable[[Run], None], name: str) -> None:
    run = Run()
    change(run)
    found = msgspec.structs.asdict(run.found())
    faults = {one for one, number in found.items() if number} - {"expected", "stored"}
    assert (faults, found[name]) == ({name}, 1)


def test_every_tenth_new_message_is_refused_once() -> None:
    receiver = Receiver()
    taken = [receiver.accept("/0", f"msg_{n}", b'{"event":%d}' % n) for n in range(30)]
    assert taken.count(False) == 3
    assert all(receiver.accept("/0", one, b'{"event":99}') for one in sorted(receiver.refused))
    assert receiver.accept("/0", "msg_0", b'{"event":0}')
    assert receiver.received["/0", 0]["msg_0"] == 2
