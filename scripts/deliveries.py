"""List deliveries to webhooks across accounts, and send them again."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

from scripts.command import Command, OutputRow, positive, uuid
from tracker.clock import iso, now
from tracker.errors import TrackerError
from tracker.service.services import Services
from tracker.webhooks.deliveries import RETRIED
from tracker.webhooks.delivery import Delivery, DeliveryStatus
from tracker.webhooks.search import DeliveryFilter, DeliverySearch

_EXAMPLES = (
    "python -m scripts.deliveries list --status failed --since 2026-01-31",
    "python -m scripts.deliveries list --webhook <ID> --limit 10 --json",
    "python -m scripts.deliveries retry <ID> <ID>",
    "python -m scripts.deliveries retry --account <ID> --since 2026-01-31T09:30:00Z",
    "python -m scripts.deliveries retry --all --status failed",
)


async def _list(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    statuses = (DeliveryStatus(parsed.status),) if parsed.status else tuple(DeliveryStatus)
    search = DeliverySearch(services.stores.mongodb, services.webhooks.deliveries)
    shown, total = await search.find(_filter(parsed, statuses), parsed.limit)
    if len(shown) < total:
        print(f"{total:,} in total; the newest {len(shown)} are shown", file=sys.stderr)
    return [_row(one) for one in shown]


async def _retry(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    """Send the chosen deliveries again.

    Raises TrackerError without ids, a filter or `--all`, or if ids are not found.
    """
    narrowed = parsed.ids or parsed.account or parsed.webhook or parsed.since
    if not narrowed and not parsed.all:
        raise TrackerError("name ids, --account, --webhook or --since, or pass --all")
    search = DeliverySearch(services.stores.mongodb, services.webhooks.deliveries)
    if missing := await search.missing(parsed.ids):
        raise TrackerError(f"not found: {', '.join(map(str, missing))}")
    by_default = tuple(DeliveryStatus) if parsed.ids else RETRIED
    statuses = (DeliveryStatus(parsed.status),) if parsed.status else by_default
    done = await search.retry(_filter(parsed, statuses, parsed.ids), now())
    return [done._asdict()]


def _filter(
    parsed: argparse.Namespace, statuses: tuple[DeliveryStatus, ...], ids: Sequence[UUID] = ()
) -> DeliveryFilter:
    return DeliveryFilter(
        ids=list(ids),
        account_id=parsed.account,
        webhook_id=parsed.webhook,
        statuses=statuses,
        since=parsed.since,
    )


def _row(delivery: Delivery) -> OutputRow:
    """Return the columns of a delivery, without its payload, which is the account's."""
    last = delivery.attempts[-1] if delivery.attempts else None
    waits = delivery.status is DeliveryStatus.DUE and delivery.holder is None
    return {
        "id": delivery.id,
        "account_id": delivery.account_id,
        "webhook_id": delivery.webhook_id,
        "kind": delivery.kind.value,
        "event_id": delivery.event_id,
        "status": delivery.status.value,
        "created_at": iso(delivery.created_at),
        "next_attempt_at": iso(delivery.due_at) if waits and delivery.due_at else None,
        "attempts": len(delivery.attempts),
        "last_code": last.code if last else None,
        "last_error": last.error if last else None,
    }


def _moment(text: str) -> datetime:
    """Parse a time, which is UTC unless it names a zone."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(
            "must be a day or a moment such as 2026-01-31T09:30:00Z"
        ) from None


def _add_filters(parser: argparse.ArgumentParser, statuses: tuple[DeliveryStatus, ...]) -> None:
    parser.add_argument(
        "--account", type=uuid, metavar="ID", help="only deliveries of this account"
    )
    parser.add_argument(
        "--webhook", type=uuid, metavar="ID", help="only deliveries to this webhook"
    )
    names = [one.value for one in statuses]
    parser.add_argument("--status", choices=names, help="only deliveries in this state")
    parser.add_argument(
        "--since", type=_moment, metavar="WHEN", help="only deliveries created since then (UTC)"
    )


def main() -> None:
    command = Command(
        "deliveries",
        "List deliveries to webhooks across accounts, and send them again. Finished ones are "
        "stored for 30 days.",
        "\n  ".join(_EXAMPLES),
    )
    show = command.action("list", "list deliveries, newest first", _list)
    _add_filters(show, tuple(DeliveryStatus))
    show.add_argument(
        "--limit", type=positive, default=100, metavar="N", help="deliveries at most [100]"
    )
    retry = command.action(
        "retry",
        "send deliveries again, with the same ids and payloads: the named ones in any state, or "
        "the filtered ones that failed or were cancelled. Inactive webhooks get none",
        _retry,
    )
    retry.add_argument(
        "ids", type=uuid, nargs="*", default=[], metavar="ID", help="deliveries to send again"
    )
    _add_filters(retry, RETRIED)
    retry.add_argument(
        "--all", action="store_true", help="all deliveries that failed or were cancelled"
    )
    command.main()


if __name__ == "__main__":
    main()
