"""`verify` finds wrong counts of links and `link_lists` corrects them."""

import pytest
from tornado.platform.asyncio import AsyncIOLoop

from tests.factories import create_link
from tests.scripts.conftest import Run, Stored
from tracker.accounts.accounts import Account
from tracker.service.services import Services


@pytest.fixture
def account(services: Services, io_loop: AsyncIOLoop) -> Account:
    """Return an account with one link."""

    async def make() -> Account:
        made = await services.accounts.accounts.create("Acme")
        await create_link(services, made.id)
        return made

    account: Account = io_loop.run_sync(make)
    return account


def test_a_wrong_count_is_explained_until_it_is_corrected(
    run: Run, account: Account, database: Stored
) -> None:
    ended = run("verify")
    assert ended.returncode == 0
    assert ended.stderr == ""
    [row] = run.rows("link_lists")
    assert row == {"account_id": str(account.id), "corrected": 0}
    database["link_counts"].update_one({"active": 1}, {"$inc": {"active": 4}})
    ended = run("verify", "--json")
    assert ended.returncode == 1
    assert f"account {account.id}: active links are -4 in the documents" in ended.stderr
    assert '"differences": 1' in ended.stdout
    [row] = run.rows("link_lists", "--account", str(account.id))
    assert row["corrected"] == 1
    assert run("verify").returncode == 0


def test_counts_that_are_not_made_yet_are_no_difference(
    run: Run, account: Account, database: Stored
) -> None:
    database["link_counts"].delete_many({})
    ended = run("verify")
    assert ended.returncode == 0
    assert f"not compared: the links of account {account.id}, which a drain" in ended.stderr
