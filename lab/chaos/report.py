"""The report of the account after a run, beside what is stored."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from lab.requests import call_until_answered
from lab.scene import Scene


async def report_differences(port: int, scene: Scene, expected: Mapping[str, int]) -> list[str]:
    today = datetime.now(UTC).date()
    body = {
        "accountId": str(scene.account_id),
        "dateRange": {"from": f"{today - timedelta(days=1)}", "to": f"{today}"},
        "groupBy": "link",
        "bots": "include",
    }
    # The last disturbance may have been of the process that is asked.
    status, report = await call_until_answered(port, scene.key, "POST", "/api/reports", body)
    if status != "200":
        return [f"no report: {status} {report}"]
    totals = report["totals"]
    return [
        f"{name}: {totals.get(name)} in the report, {number:,} stored"
        for name, number in expected.items()
        if totals.get(name) != number
    ]
