"""Compare stored documents with rollups and reports, in one snapshot for each day, and with the
kept counts of links."""

import argparse
import sys
from collections import Counter
from datetime import date
from itertools import product
from typing import Any
from uuid import UUID

from redis.exceptions import RedisError

from scripts.command import Command, OutputRow, add_days, require_account, uuid
from scripts.cost_check import is_spread_exactly
from scripts.progress import Progress
from tracker.calendar import Calendar
from tracker.costs.store import MAX_OF_ACCOUNT
from tracker.ingest.record import ENTRY_DECODER
from tracker.journal.backlog import Backlog
from tracker.journal.dead_letters import DeadLetters
from tracker.journal.spool_folder import SpoolFolder
from tracker.links.counts.recount import LinkRecount
from tracker.reports.costs.entries import costs_in
from tracker.reports.query import Measures, ReportQuery
from tracker.reports.repair.day_count import DayCount, count_day
from tracker.reports.repair.joint_check import JointCheck
from tracker.reports.repair.recount import Recount, first_whole_day
from tracker.reports.rollups.layout import RollupId, Sums, of_zone
from tracker.reports.rollups.money import differ, sum_in_billionths
from tracker.service.services import Services
from tracker.stores.mongodb.retention import first_complete_day

_SHOWN_DIFFERENCES = 20


async def _verify(services: Services, parsed: argparse.Namespace) -> list[OutputRow]:
    recount, links = Recount(services.stores.mongodb), LinkRecount(services.stores.mongodb)
    if parsed.account is not None:
        await require_account(services, parsed.account)
    accounts = [parsed.account] if parsed.account else await _accounts(recount, links)
    await _print_uncompared(services, parsed)
    rows = []
    for one in accounts:
        row = await _verify_account(services, recount, one, parsed)
        row["differences"] += await _verify_link_counts(links, one)
        row["differences"] += await _verify_costs(services, one, parsed)
        rows.append(row)
    return rows


async def _accounts(recount: Recount, links: LinkRecount) -> list[UUID]:
    return sorted({*await recount.accounts(), *await links.accounts()})


async def _verify_link_counts(links: LinkRecount, account: UUID) -> int:
    """Return how many kept counts differ from the links."""
    found = await links.compare(account)
    if found.missing and not found.recounts:
        print(
            f"not compared: the links of account {account}, which a drain is about to count",
            file=sys.stderr,
        )
        return 0
    for tag_id, numbers in found.missing.items():
        of = f"links with tag {tag_id}" if tag_id else "links"
        for state, number in numbers.items():
            print(
                f"account {account}: {state} {of} are {number:+,} in the documents, compared with "
                "their count",
                file=sys.stderr,
            )
    return sum(map(len, found.missing.values()))


async def _verify_costs(services: Services, account: UUID, parsed: argparse.Namespace) -> int:
    """Return how many reports of costs' periods have other sums than the costs."""
    days = date.fromisoformat(parsed.first), date.fromisoformat(parsed.last)
    async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        costs = await costs_in(snapshot, account, *days, at_most=MAX_OF_ACCOUNT)
    different = 0
    for cost, group_by in product(costs, ("link", "day")):
        async with services.reports.reports.begin(account) as run:
            is_exact = await is_spread_exactly(run, cost, group_by)
        if not is_exact:
            different += 1
            print(
                f"account {account}: the parts by {group_by} of cost {cost.id} are not its amount",
                file=sys.stderr,
            )
    return different


async def _print_uncompared(services: Services, parsed: argparse.Namespace) -> None:
    """Print the data that is not compared: records that are not stored yet, and deleted clicks."""
    uncompared = []
    try:
        waiting = (await Backlog(services.stores.redis_blocking).measure()).entries
        letters = await DeadLetters(services.stores.redis_blocking, ENTRY_DECODER).count()
    except RedisError:
        uncompared.append("the journal: Redis does not answer")
    else:
        uncompared += (
            [f"entries of the journal that are not stored yet: {waiting:,}"] if waiting else []
        )
        uncompared += [f"dead letters (scripts.dead_letters): {letters:,}"] if letters else []
    spool = SpoolFolder(services.settings.data_path / "spool", services.settings.spool_max_bytes)
    try:
        spool.measure()
    except OSError as error:
        uncompared.append(f"the spool of this DATA_DIR: {error.strerror}")
    if spool.bytes_waiting:
        uncompared.append(f"bytes of the spool of this DATA_DIR: {spool.bytes_waiting:,}")
    oldest = await first_complete_day(services.stores.mongodb.database)
    if parsed.first < oldest:
        uncompared.append(
            f"days before {oldest}, whose clicks may be deleted (CLICK_RETENTION_DAYS)"
        )
    for one in uncompared:
        print(f"not compared: {one}", file=sys.stderr)


async def _verify_account(
    services: Services, recount: Recount, account: UUID, parsed: argparse.Namespace
) -> OutputRow:
    calendar = await services.accounts.time_zones.find(account)
    oldest = first_whole_day(calendar, await first_complete_day(services.stores.mongodb.database))
    days = await recount.days(account, max(parsed.first, oldest), parsed.last, calendar)
    sums: Counter[str] = Counter()
    with Progress(f"account {account}, days", len(days)) as progress:
        for one in days:
            sums.update(await _verify_day(services, account, one, calendar))
            progress.advance()
    return {"account_id": account, "days": len(days), **_columns(sums)}


async def _verify_day(
    services: Services, account: UUID, one: str, calendar: Calendar
) -> Counter[str]:
    """Return the figures of a day."""
    async with services.stores.mongodb.reads.at_one_snapshot() as snapshot:
        counted = await count_day(snapshot, account, one, calendar)
        reported_day = await services.reports.reports.run(_query(account, one), snapshot)
        figures = _figures(counted, reported_day.totals)
        _explain(counted)
        wrong = await JointCheck(services.stores.mongodb.database, account, calendar).wrong(
            one, snapshot
        )
        figures["differences"] += len(wrong)
        for counts in wrong:
            print(
                f"{counts.period}: the cached counts of {counts.of} by {counts.by} differ from "
                "the documents",
                file=sys.stderr,
            )
    return figures


def _query(account: UUID, one: str) -> ReportQuery:
    day_asked = date.fromisoformat(one)
    return ReportQuery(
        account_id=account, first=day_asked, last=day_asked, group_by="day", bots="exclude"
    )


def _figures(counted: DayCount, reported_day: Measures) -> Counter[str]:
    recounted = _account_sums(counted, counted.recounted)
    reported = {
        "clicks": reported_day.clicks,
        "unique": reported_day.unique_clicks,
        "bots": reported_day.bot_clicks,
        "conversions": reported_day.conversions,
        "value": sum_in_billionths(reported_day.value),
        "payout": sum_in_billionths(reported_day.payout),
    }
    return Counter(
        {
            "clicks": counted.clicks,
            "in rollups": _clicks(_account_sums(counted, counted.stored)),
            "in reports": reported_day.clicks + reported_day.bot_clicks,
            "conversions": recounted.get("total.conversions", 0),
            "reported": reported_day.conversions,
            "differences": sum(map(len, counted.differences().values()))
            + sum(differ(recounted.get(f"total.{name}", 0), reported[name]) for name in reported),
        }
    )


def _columns(sums: Counter[str]) -> dict[str, int]:
    names = ("clicks", "in rollups", "in reports", "conversions", "reported", "differences")
    return {name: sums[name] for name in names}


def _account_sums(counted: DayCount, sums: dict[RollupId, Sums]) -> Sums:
    of = of_zone("account", counted.zone)
    return sums.get(RollupId(counted.account_id, of, counted.day, None), {})


def _clicks(sums: Sums) -> int:
    return sums.get("total.clicks", 0) + sums.get("total.bots", 0)


def _explain(counted: DayCount) -> None:
    if counted.is_beyond_exact:
        print(
            f"{counted.day}: sums beyond 10^25 are rounded by MongoDB, which keeps 34 digits; "
            "their first 30 were compared",
            file=sys.stderr,
        )
    differences: list[tuple[Any, str, int]] = [
        (rollup_id, path, number)
        for rollup_id, sums in counted.differences().items()
        for path, number in sorted(sums.items())
    ]
    for rollup_id, path, number in differences[:_SHOWN_DIFFERENCES]:
        of, _, zone = rollup_id.of.partition(" ")
        where = (f"link {rollup_id.link_id}" if of == "link" else of) + (f" in {zone}" * bool(zone))
        stored = counted.stored.get(rollup_id, {}).get(path, 0)
        print(
            f"{counted.day} {where}: {path} is {stored:,} in the rollups, "
            f"{stored + number:,} in the documents",
            file=sys.stderr,
        )
    if len(differences) > _SHOWN_DIFFERENCES:
        print(f"{counted.day}: and {len(differences) - _SHOWN_DIFFERENCES:,} more", file=sys.stderr)


def main() -> None:
    command = Command(
        "verify",
        "Compare stored clicks and events with the rollups and with reports, and links with their "
        "counts, while the service runs. Prints the differences, with exit code 1 if there are "
        "any; scripts.rebuild_rollups corrects them, scripts.link_lists those of links. Records "
        "that are not stored yet, and days whose clicks are deleted, are not compared, but named "
        "on standard error.",
        "python -m scripts.verify --from 2026-01-01",
    )
    parser = command.only_action(_verify)
    parser.add_argument("--account", type=uuid, metavar="ID", help="only this account")
    add_days(parser)
    command.main(is_wrong=lambda row: bool(row["differences"]))


if __name__ == "__main__":
    main()
