"""`verify` finds wrong rollups and `rebuild_rollups` corrects them, as an operator runs them."""

from datetime import date, timedelta

import pytest
from bson import Decimal128
from tornado.platform.asyncio import AsyncIOLoop

from tests.conversions import scene
from tests.factories import AT_MS, create_cost, make_click, make_conversion
from tests.scripts.conftest import Run, Stored
from tracker.accounts.accounts import Account
from tracker.clock import day_of, moment, now
from tracker.reports.query import ReportQuery
from tracker.service.services import Services
from tracker.stores.mongodb import retention

DAY = day_of(moment(AT_MS))
RANGE = ("--from", DAY, "--to", DAY)


@pytest.fixture
def account(services: Services, io_loop: AsyncIOLoop) -> Account:
    """Return an account with ten clicks and ten conversions."""

    async def make() -> Account:
        made = await services.accounts.accounts.create("Acme")
        clicks = [make_click(made.id) for _ in range(10)]
        events = [
            make_conversion(number, one.id, value="1") for number, one in enumerate(clicks, 1)
        ]
        await scene.applied(services, [*clicks, *events])
        return made

    account: Account = io_loop.run_sync(make)
    return account


def spoil(database: Stored) -> None:
    database["rollups"].update_one({"_id.of": "account"}, {"$inc": {"total.clicks": 5}})


def test_without_differences_verify_says_so_and_exits_0(run: Run, account: Account) -> None:
    [row] = run.rows("verify")
    assert row == {
        "account_id": str(account.id),
        "days": 1,
        "clicks": 10,
        "in rollups": 10,
        "in reports": 10,
        "conversions": 10,
        "reported": 10,
        "differences": 0,
    }


def test_the_parts_of_costs_are_compared_with_their_amounts(
    run: Run, account: Account, services: Services, io_loop: AsyncIOLoop
) -> None:
    async def enter() -> None:
        for value in ("none", "no such campaign"):
            await create_cost(services, account.id, first=DAY, last=DAY, value=value)

    io_loop.run_sync(enter)
    assert run.rows("verify")[0]["differences"] == 0


def test_costs_and_counts_by_own_parameters_are_compared_also_after_the_names_change(
    run: Run, account: Account, services: Services, io_loop: AsyncIOLoop
) -> None:
    async def enter() -> None:
        names = services.accounts.accounts.set_parameters
        await names(account.id, ["sub1", "zone"])
        queries = ("sub1=a&zone=1", "sub1=a", "sub1=b", "zone=2", "")
        await scene.applied(services, [make_click(account.id, query=one) for one in queries])
        for name, value in (("sub1", "a"), ("zone", "none"), ("zone", "1"), ("sub1", "c")):
            own = {"filter": f"parameter:{name}", "value": value}
            await create_cost(services, account.id, first=DAY, last=DAY, **own)
        await names(account.id, ["sub1", "place"])
        day = date.fromisoformat(DAY)
        query = ReportQuery(account_id=account.id, first=day, last=day, group_by="parameter_0")
        report = await services.reports.reports.run(query)
        assert report.totals.clicks == 15

    io_loop.run_sync(enter)
    assert run.rows("verify")[0]["differences"] == 0


def test_a_difference_is_explained_and_exits_1_until_it_is_rebuilt(
    run: Run, account: Account, database: Stored
) -> None:
    spoil(database)
    ended = run("verify", "--json")
    assert ended.returncode == 1
    assert f"{DAY} account: total.clicks is 15 in the rollups, 10 in the documents" in ended.stderr
    assert '"in reports": 15' in ended.stdout
    [row] = run.rows("rebuild_rollups", *RANGE)
    assert row == {"account_id": str(account.id), "days": 1, "figures_corrected": 1}
    assert run("verify").returncode == 0
    assert run.rows("rebuild_rollups", *RANGE)[0]["figures_corrected"] == 0


def test_only_the_chosen_days_and_accounts_are_compared_and_rebuilt(
    run: Run, account: Account, database: Stored
) -> None:
    spoil(database)
    assert run("verify", "--to", "2020-01-01").returncode == 0
    assert run.rows("rebuild_rollups", "--from", "2020-01-01", "--to", "2020-12-31") == []
    assert run("verify", "--account", str(account.id)).returncode == 1


def test_days_whose_clicks_may_be_deleted_are_neither_compared_nor_rebuilt(
    run: Run, account: Account, database: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    today = now()
    monkeypatch.setattr(retention, "now", lambda: today)
    spoil(database)
    record = {"_id": "click_retention", "days": 2}
    database["counters"].insert_one(record)
    kept = day_of(today - timedelta(days=1))
    ended = run("verify")
    assert ended.returncode == 0
    assert f"not compared: days before {kept}, whose clicks may be deleted" in ended.stderr
    assert run("verify", "--from", kept).stderr == ""
    ended = run("rebuild_rollups", *RANGE)
    assert ended.returncode == 1
    assert f"clicks before {kept} may be deleted already" in ended.stderr


def test_verify_says_what_waits_to_be_stored(
    run: Run, account: Account, services: Services, io_loop: AsyncIOLoop
) -> None:
    async def leave() -> None:
        await services.journal.journal.append(make_click(account.id))
        await services.stores.redis.xadd("journal:dead", {"e": b"x"})

    io_loop.run_sync(leave)
    folder = services.settings.data_path / "spool"
    folder.mkdir(parents=True)
    (folder / "1.sqlite").write_bytes(b"x" * 1_234)
    ended = run("verify", "--json")
    assert ended.returncode == 0
    assert ended.stderr.splitlines() == [
        "not compared: entries of the journal that are not stored yet: 1",
        "not compared: dead letters (scripts.dead_letters): 1",
        "not compared: bytes of the spool of this DATA_DIR: 1,234",
    ]


def test_a_spool_that_cannot_be_read_is_named_and_is_no_difference(
    run: Run, account: Account, services: Services
) -> None:
    spool = services.settings.data_path / "spool"
    spool.parent.mkdir(parents=True, exist_ok=True)
    spool.symlink_to(spool)
    ended = run("verify", "--account", str(account.id))
    assert ended.returncode == 0
    assert "not compared: the spool of this DATA_DIR: " in ended.stderr


LARGE = "9999999999999999999.123456789"


def convert(services: Services, io_loop: AsyncIOLoop, *values: str) -> str:
    """Store a conversion of each value in a batch of its own; return their new account."""

    async def make() -> str:
        made = await services.accounts.accounts.create("Large")
        for number, value in enumerate(values, 1):
            click = make_click(made.id)
            event = make_conversion(number, click.id, value=value, payout=value)
            await scene.applied(services, [click, event])
        return str(made.id)

    account_id: str = io_loop.run_sync(make)
    return account_id


def test_sums_beyond_28_digits_are_compared_to_the_last_one(
    run: Run, services: Services, io_loop: AsyncIOLoop, database: Stored
) -> None:
    convert(services, io_loop, LARGE, LARGE, LARGE)
    assert run.rows("verify")[0]["differences"] == 0
    billionth = {"$inc": {"total.value": Decimal128("0.000000001")}}
    database["rollups"].update_one({"_id.of": "account"}, billionth)
    ended = run("verify")
    assert ended.returncode == 1
    assert "total.value is 29,999,999,999,999,999,997,370,370,368 in the rollups" in ended.stderr
    assert run.rows("rebuild_rollups", *RANGE)[0]["figures_corrected"] == 1
    assert run.rows("verify")[0]["differences"] == 0


def test_beyond_the_34_digits_of_mongodb_verify_says_what_it_compares(
    run: Run, services: Services, io_loop: AsyncIOLoop
) -> None:
    convert(services, io_loop, "1e26", "0.000000001", "2e26")
    ended = run("verify")
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == (
        f"{DAY}: sums beyond 10^25 are rounded by MongoDB, which keeps 34 digits; their first 30 "
        "were compared\n"
    )
    assert run.rows("rebuild_rollups", *RANGE)[0]["figures_corrected"] == 0


def test_a_rebuild_makes_a_missing_index_again(
    run: Run, account: Account, database: Stored
) -> None:
    for collection in ("rollups", "clicks"):
        database[collection].drop_index("by_account")
    run.rows("rebuild_rollups", *RANGE)
    for collection in ("rollups", "clicks"):
        assert "by_account" in database[collection].index_information()


def test_days_before_and_after_a_change_of_the_zone_are_compared_and_rebuilt(
    run: Run, account: Account, services: Services, io_loop: AsyncIOLoop, database: Stored
) -> None:
    until, later = [day_of(moment(AT_MS) + timedelta(days=number)) for number in (1, 2)]
    changed = {
        "time_zone": "Europe/Berlin",
        "time_zones_before": [{"zone": "UTC", "until": until}],
        "time_zone_of_counts": "UTC",
    }
    database["accounts"].update_one({"_id": account.id}, {"$set": changed})
    # The first minutes of days in Berlin, which are on other days in UTC.
    midnight = AT_MS - AT_MS % 86_400_000 - 3_600_000
    late = [make_click(account.id, at=midnight + 86_400_000 * number) for number in range(4)]
    io_loop.run_sync(lambda: scene.applied(services, late))
    [row] = run.rows("verify")
    assert (row["days"], row["clicks"], row["in reports"], row["differences"]) == (4, 14, 14, 0)
    database["rollups"].update_one(
        {"_id.of": "account", "_id.day": later}, {"$inc": {"total.clicks": 5}}
    )
    assert run("verify").returncode == 1
    [row] = run.rows("rebuild_rollups", "--from", until, "--to", later)
    assert row["figures_corrected"] == 1
    assert run("verify").returncode == 0
