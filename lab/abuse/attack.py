"""The means of every attack: its target, its report, and requests at a fixed rate.

Target and report cross a pipe between processes as JSON.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from lab.client import Load
from lab.requests import call
from lab.traffic import CountedAnswers, Paced

ADDRESS: Final = "127.0.0.66"
"""The address of attacks. Linux answers on all of 127.0.0.0/8, so that limits by address meet the
attacker and not the visitors."""


class Owner(msgspec.Struct, frozen=True):
    """An account as its owner knows it: `slug` names one of its links, `pbk` is a postback key."""

    account_id: str
    key: str
    pbk: str
    slug: str


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The service under attack.

    `own_port` is that of a web process for a single attack. `guarded` has every rule against forged
    conversions switched on, and `neighbour` has proven the custom domain `domain`.
    """

    port: int
    own_port: int
    attacker: Owner
    neighbour: Owner
    guarded: Owner
    domain: str


class Report(msgspec.Struct, kw_only=True):
    """The answers to an attack.

    `answers` counts by status or by how a connection ended; `findings` has a sentence for all
    that the attacker should not have got.
    """

    answers: dict[str, int] = msgspec.field(default_factory=dict)
    findings: list[str] = msgspec.field(default_factory=list)


async def barrage(
    port: int,
    make: Callable[[], bytes],
    rate: float,
    seconds: float,
    connections: int = 16,
    source: str = ADDRESS,
) -> Report:
    """Send what `make` returns, `rate` times a second, and return the counted answers."""
    answers = CountedAnswers(iter(make, b""))
    load = Load(port, answers, connections, [source])
    result = await load.run(Paced(time.perf_counter(), seconds, rate))
    return Report(answers=dict(answers.counts + Counter(result.errors)))


def unexpected(report: Report, allowed: set[str]) -> Report:
    """Return `report` with a finding for each answer that is not one of `allowed`."""
    strange = {what: n for what, n in report.answers.items() if what not in allowed}
    findings = [f"{count:,} answers {what}" for what, count in sorted(strange.items())]
    return Report(answers=report.answers, findings=report.findings + findings)


async def report_of_today(
    port: int, owner: Owner, filters: Mapping[str, str], source: str | None = None
) -> tuple[str, Any]:
    """Return the status and the decoded report of the account's day, by country."""
    today = datetime.now(UTC).date().isoformat()
    body = {
        "accountId": owner.account_id,
        "dateRange": {"from": today, "to": today},
        "groupBy": "country",
        "filters": filters,
    }
    return await call(port, owner.key, "POST", "/api/reports", body, source)


async def conversions(port: int, owner: Owner) -> int | None:
    """Return the number of conversions of the account today; None if its report fails."""
    status, report = await report_of_today(port, owner, {})
    return int(report["totals"]["conversions"]) if status == "200" else None
