"""The pages of uploads: a file with refused rows, from its check to their download."""

import asyncio
from pathlib import Path

from playwright.async_api import expect

from tests.console.accessibility import assert_accessible
from tests.console.conftest import OpenConsole
from tests.conversions.scene import drained, stored_events
from tests.factories import create_click, create_event_config
from tests.waiting import eventually
from tracker.accounts.accounts import Account
from tracker.service.services import Services

FILE = "Klick;Order;Payout;State\n{0};A1;5,5;paid\n{0};A2;7;declined\n;;1;paid\n"


async def test_a_file_is_checked_mapped_recorded_and_its_refused_rows_are_downloaded(
    open_console: OpenConsole, services: Services, account: Account, tmp_path: Path
) -> None:
    await create_event_config(services, account.id, name="Sale")
    click = await create_click(services, account.id)
    file = tmp_path / "conversions.csv"
    file.write_text(FILE.format(click))
    async with open_console("/console/conversions") as page:
        main = page.get_by_role("main")

        async def work(state: str) -> None:
            await eventually(lambda: services.uploads.worker.work_on_one(asyncio.Event()))
            await expect(main.get_by_role("status").get_by_text(state, exact=True)).to_be_visible()

        await page.get_by_role("link", name="Uploads").click()
        await expect(page.get_by_label("Event")).to_have_value(str(await _event(services)))
        await page.get_by_label("Choose the file").set_input_files(file)
        await work("checked")
        await expect(main.get_by_text("3 rows 3 refused")).to_be_visible()
        await expect(page.get_by_label("Payout")).to_have_value("value")
        await assert_accessible(page)
        await page.get_by_label("Klick").select_option("click id")
        await page.get_by_label("Order").select_option("transaction id")
        await page.get_by_role("button", name="Check again").click()
        await work("checked")
        await expect(main.get_by_text("3 rows 1 new, 2 refused")).to_be_visible()
        assert await stored_events(services) == []
        await page.get_by_role("button", name="Record the rows").click()
        await work("done")
        await expect(main.get_by_role("row").filter(has_text="5,5")).to_contain_text("value: must")
        async with page.expect_download() as downloading:
            await (
                page.get_by_role("button", name="CSV")
                .or_(page.get_by_role("link", name="CSV"))
                .click()
            )
        text = (await (await downloading.value).path()).read_text()
        assert text.splitlines()[0] == "line,reason,text"
        assert [line.partition(",")[0] for line in text.splitlines()[1:]] == ["2", "4"]
        await page.get_by_role("link", name="Uploads").click()
        await expect(page.get_by_role("row").filter(has_text="csv")).to_contain_text("done")
    await drained(services)
    [event] = await stored_events(services)
    assert (event["transaction_id"], event["reported"]) == ("A2", "rejected")


async def _event(services: Services) -> object:
    found = await services.stores.mongodb["event_configs"].find_one({})
    assert found is not None
    return found["_id"]
