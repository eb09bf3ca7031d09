"""A YOURLS dump with many visits: killed in the middle, carried on, exact, in bounded memory.

`LARGE_IMPORT=100000,1000000` is the size of the proof: links, then visits. pytest then needs
`-o faulthandler_timeout=0`.
"""

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from config.settings import Settings
from lab.process_usage import MEGABYTE
from tests.factories import CHROME
from tests.paths import ROOT
from tests.system.conftest import Rows
from tests.system.owner import Owner, new_owner
from tests.system.service import Service, environment, running
from tests.waiting import until

LINKS, VISITS = map(int, os.environ.get("LARGE_IMPORT", "300,6000").split(","))
EARLIER = 3
"""Clicks of each link that the log has lost."""

MAX_BYTES = 256 * MEGABYTE
FIRST = datetime(2025, 1, 1, tzinfo=UTC)
ROWS_PER_INSERT = 1000
Row = dict[str, Any]
AGENTS = (CHROME, "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari/604.1", "curl/8.0")


def dump() -> Iterator[str]:
    """Yield a dump as mysqldump writes it: the log comes before the links."""
    yield from inserts("log", VISITS, visit)
    yield from inserts("url", LINKS, link)


def inserts(table: str, count: int, row: Any) -> Iterator[str]:
    for start in range(0, count, ROWS_PER_INSERT):
        rows = map(row, range(start, min(start + ROWS_PER_INSERT, count)))
        yield f"INSERT INTO `yourls_{table}` VALUES {','.join(rows)};\n"


def link(number: int) -> str:
    clicks = EARLIER + VISITS // LINKS + (number < VISITS % LINKS)
    url = f"https://example.com/page/{number}"
    return f"('k{number}','{url}','It\\'s {number}','2024-01-02 03:04:05','192.0.2.1',{clicks})"


def visit(number: int) -> str:
    at = FIRST + timedelta(minutes=number * 300_000 // VISITS)
    agent, country = AGENTS[number % 3], ("DE", "FR")[number % 2]
    return (
        f"({number + 1},'{at:%Y-%m-%d %H:%M:%S}','k{number % LINKS}','direct','{agent}',"
        f"'192.0.2.9','{country}')"
    )


def send(service: Service, owner: Owner, path: str, file: Path) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=600)
    with file.open("rb") as body:
        headers = {
            "Authorization": f"Bearer {owner.key}",
            "Content-Type": "application/octet-stream",
            "Content-Length": str(file.stat().st_size),
        }
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
    connection.close()


def most_bytes(service: Service) -> int:
    """Return the highest resident memory of the process since it began."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    [found] = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(found) * 1024


def test_a_large_dump_is_imported_exactly_although_the_process_is_killed(
    settings: Settings, database: Rows, tmp_path: Path
) -> None:
    variables = environment(settings)
    owner = new_owner(variables)
    file = tmp_path / "yourls.sql"
    with file.open("w") as written:
        written.writelines(dump())
    began = time.monotonic()
    with running(variables) as service:
        new = owner.post(service, "/api/imports", source="yourls", instance="old.example").json
        path = f"/api/imports/{new['id']}"
        send(service, owner, f"{path}/file", file)
        assert owner.post(service, f"{path}/check").status == 200
        goes_on(database, lambda one: one["state"] == "checked")
        assert owner.post(service, f"{path}/run").status == 200
        goes_on(database, lambda one: one["visits_done"] >= VISITS // 3)
        used = [most_bytes(service)]
        service.kill()
    stored = database["clicks"].count_documents({})
    assert 0 < stored < VISITS
    with running(variables) as service:
        ran = goes_on(database, lambda one: one["state"] == "done")
        used.append(most_bytes(service))
    print(f"{LINKS:,} links, {VISITS:,} visits: {time.monotonic() - began:.0f} s, {used} bytes")
    assert ran["counts"] == {"create": LINKS, "visits": VISITS}
    bots = VISITS // 3
    days = ("--from", "2025-01-01", "--to", "2025-12-31", "--account", owner.account_id)
    verified = subprocess.run(
        [sys.executable, "-m", "scripts.verify", "--json", *days],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        check=True,
    )
    [row] = json.loads(verified.stdout)
    assert (row["differences"], row["clicks"]) == (0, VISITS)
    people = {"$group": {"_id": None, "clicks": {"$sum": "$total.clicks"}}}
    [sums] = database["rollups"].aggregate([{"$match": {"_id.of": "account"}}, people])
    assert sums["clicks"] == VISITS - bots
    openings = {"$group": {"_id": "$opening_clicks", "links": {"$sum": 1}}}
    assert list(database["links"].aggregate([openings])) == [{"_id": EARLIER, "links": LINKS}]
    assert max(used) < MAX_BYTES


def goes_on(database: Rows, until_so: Callable[[Row], object]) -> Row:
    """Wait until the import is so, as long as it moves on; return its document."""
    found = read(database)
    while not until_so(found):
        before = found
        assert found["state"] != "failed", found["error"]
        until(lambda: read(database) != before)  # noqa: B023
        found = read(database)
    return found


def read(database: Rows) -> Row:
    found = database["imports"].find_one()
    assert found is not None
    return found
