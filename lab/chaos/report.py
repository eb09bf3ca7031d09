"""The report of the account after a run, beside what is stored."""

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from lab.requests import call
from lab.scene import Scene

_PATIENCE_SECONDS: Final = 60.0
_PAUSE_SECONDS: Final = 0.5


async def report_differences(port: int, scene: Scene, expected: Mapping[str, int]) -> list[str]:
    """Return the totals of the report that are not the expected ones, in words."""
    status, report = await _report(port, scene)
    if status != "200":
        return [f"no report: {status} {report}"]
    totals = report["totals"]
    return [
        f"{name}: {totals.get(name)} in the report, {number:,} stored"
        for name, number in expected.items()
        if totals.get(name) != number
    ]


async def _report(port: int, scene: Scene) -> tuple[str, Any]:
    """Return the status and the report, asked for again while the service has none, as clients do.

    The last disturbance may have been of the process that is asked.
    """
    today = datetime.now(UTC).date()
    body = {
        "accountId": str(scene.account_id),
        "dateRange": {"from": f"{today - timedelta(days=1)}", "to": f"{today}"},
        "groupBy": "link",
        "bots": "include",
    }
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        status, report = await call(port, scene.key, "POST", "/api/reports", body)
        if status == "200" or time.monotonic() > deadline:
            return status, report
        await asyncio.sleep(_PAUSE_SECONDS)
