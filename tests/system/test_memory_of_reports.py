"""The memory of a web process that is asked for reports of very many values."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from uuid import UUID

from config.settings import Settings
from lab.many_values import VALUES, store_day
from lab.process_usage import MEGABYTE, resident_bytes
from tests.system.owner import made, new_owner
from tests.system.service import PATIENT, Response, environment, running
from tests.waiting import until
from tracker.service.services import Services

DAY = date(2026, 1, 1)
AT_ONCE = 12
ROOM = 250 * MEGABYTE
"""Two reports of the account at once take 150 MB. All of them would take 700."""

LEFT = 50 * MEGABYTE


def test_reports_of_many_values_at_once_take_a_bounded_memory_and_give_it_back(
    settings: Settings,
) -> None:
    variables = environment(settings)
    owner = new_owner(variables)

    async def fill(services: Services) -> None:
        await store_day(services.stores.mongodb.database, UUID(owner.account_id), DAY, VALUES)

    made(variables, fill)
    with running(variables, "--role", "web", program=PATIENT) as service:
        pid = service.process.pid
        days = {"from": DAY.isoformat(), "to": DAY.isoformat()}

        def report(group_by: str) -> Response:
            return owner.post(service, "/api/reports", dateRange=days, groupBy=group_by)

        assert report("country").status == 200
        before = resident_bytes(pid)
        highest, ended = [before], threading.Event()

        def watch() -> None:
            while not ended.wait(0.02):
                highest.append(resident_bytes(pid))

        with ThreadPoolExecutor(AT_ONCE + 1) as threads:
            threads.submit(watch)
            answers = list(threads.map(report, ["utm_campaign"] * AT_ONCE))
            ended.set()
        assert {answer.json["pagination"]["totalRows"] for answer in answers} == {VALUES}
        assert max(highest) - before < ROOM
        until(lambda: resident_bytes(pid) - before < LEFT)
