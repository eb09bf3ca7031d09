"""What is sent with an Idempotency-Key is done once, whatever is killed or cut."""

import http.client
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final
from uuid import UUID

import pytest
import redis
from pymongo import MongoClient

from config.settings import Settings
from tests.system.conftest import Rows
from tests.system.dying import DIES_AT
from tests.system.importer import Row, cutting_line, import_rows, send_once
from tests.system.owner import Owner, new_event_config, new_owner
from tests.system.service import environment, running
from tests.waiting import until

DYING: Final = ("-m", "tests.system.dying")
ROWS: Final = 20
KILLS: Final = 2

pytestmark = pytest.mark.usefixtures("short_transactions")


@pytest.fixture
def short_transactions(mongodb: MongoClient[dict[str, Any]]) -> Iterator[None]:
    """Let MongoDB end the transactions of killed processes after 3 seconds instead of 60."""
    [before] = [mongodb.admin.command("getParameter", 1, transactionLifetimeLimitSeconds=1)]
    mongodb.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=3)
    yield
    seconds = before["transactionLifetimeLimitSeconds"]
    mongodb.admin.command("setParameter", 1, transactionLifetimeLimitSeconds=seconds)


def link(owner: Owner, name: str) -> Row:
    url = {"destination_url": "https://shop.test/p", "internal_name": name}
    return Row(name, "/api/short-links", {"accountId": owner.account_id} | url)


def conversion(pbk: str, name: str) -> Row:
    return Row(name, "/api/event", {"pbk": pbk, "value": 3, "metadata": {"name": name}})


def webhook(owner: Owner) -> Row:
    body = {"accountId": owner.account_id, "name": "hook", "target_url": "http://127.0.0.1:9/"}
    return Row("hook", "/api/webhooks", body)


def stored(database: Rows, collection: str, field: str) -> Counter[Any]:
    return Counter(row[field] for row in database[collection].find())


def drained(settings: Settings) -> None:
    with redis.Redis.from_url(settings.redis_url) as client:
        until(lambda: client.xlen("journal") == 0)


def test_what_a_killed_process_has_done_or_half_done_is_done_once(
    settings: Settings, database: Rows
) -> None:
    variables = environment(settings, WEBHOOK_ALLOW_PRIVATE="1")
    owner = new_owner(variables)
    pbk = new_event_config(variables, owner)
    killed = {
        "open": link(owner, "open"),
        "answered": webhook(owner),
        "recorded": conversion(pbk, "recorded"),
    }
    for point, row in killed.items():
        with running(variables | {DIES_AT: point}, program=DYING) as service:
            with pytest.raises((OSError, http.client.HTTPException)):
                send_once(service.port, owner, row)
            service.process.wait()
    rows = [*killed.values()]
    with running(variables) as service:
        answers = import_rows(service.port, owner, rows)
        assert import_rows(service.port, owner, rows) == answers
        drained(settings)
    assert stored(database, "links", "internal_name") == {"open": 1}
    assert stored(database, "webhooks", "name") == {"hook": 1}
    assert answers[1]["secret"].startswith("whsec_")
    assert stored(database, "events", "_id") == {one["eventId"]: 1 for one in answers[2:]}


def test_an_importer_stores_each_row_once_over_cut_connections_and_killed_processes(
    settings: Settings, database: Rows
) -> None:
    """Two of it run at once, with the same rows."""
    variables = environment(
        settings,
        RATE_LIMIT_IP_PER_MINUTE="0",
        RATE_LIMIT_ACCOUNT_PER_HOUR="0",
        WEBHOOK_ALLOW_PRIVATE="1",
    )
    owner = new_owner(variables)
    pbk = new_event_config(variables, owner)
    rows = [link(owner, f"link-{n}") for n in range(ROWS)]
    rows += [conversion(pbk, f"conversion-{n}") for n in range(ROWS)] + [webhook(owner)]
    rows.sort(key=lambda row: row.key.rpartition("-")[2])
    with cutting_line(seed=53) as line, ThreadPoolExecutor(2) as pool:
        programs = [pool.submit(import_rows, line.port, owner, rows) for _ in range(2)]
        for _ in range(KILLS):
            with running(variables) as service:
                line.target = service.port
                until(partial(line.has_passed, line.passed + ROWS))
                service.kill()
        with running(variables) as service:
            line.target = service.port
            answers, again = (program.result() for program in programs)
            drained(settings)
    assert line.cut > ROWS
    assert answers == again
    links = {UUID(one["id"]): 1 for one in answers if "slug" in one}
    assert len(links) == ROWS
    assert stored(database, "links", "_id") == links
    assert stored(database, "links", "internal_name") == {f"link-{n}": 1 for n in range(ROWS)}
    events = {one["eventId"]: 1 for one in answers if "eventId" in one}
    assert len(events) == ROWS
    assert stored(database, "events", "_id") == events
    assert stored(database, "webhooks", "name") == {"hook": 1}
