"""What a page asks of reports, and sharing one."""

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import Page

from tests.console.scene import HOSTILE
from tests.conversions.scene import applied
from tests.factories import (
    CHROME,
    create_event_config,
    create_link,
    make_click,
    make_conversion,
)
from tracker.accounts.accounts import Account
from tracker.clock import now
from tracker.links.link import Link
from tracker.service.services import Services

IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/18.1 Mobile/15E148 Safari/604.1"
)


def query_of(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


async def share(
    page: Page, title: str, password: str = "", show_names: bool = False, costs: bool = False
) -> str:
    """Share the report on screen; return its link."""
    await page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Title").fill(title)
    if password:
        await dialog.get_by_label("Password").fill(password)
    if show_names:
        await dialog.get_by_label("Show the names of links").check()
    if costs:
        await dialog.get_by_label("Show costs and profit").check()
    await dialog.get_by_role("button", name="Make the link").click()
    link: str = await dialog.locator("code").first.inner_text()
    await dialog.get_by_role("button", name="I have copied it").click()
    return link


async def phones_and_desktops(services: Services, account: Account) -> Link:
    """Store clicks of yesterday: 3 of phones in Germany, 2 of desktops in France; return a link."""
    link = await create_link(services, account.id, "spring", internal_name="Spring")
    other = await create_link(services, account.id, "hostile", internal_name=HOSTILE)
    config = await create_event_config(services, account.id, name="Purchase")
    yesterday = int((now() - timedelta(days=1)).timestamp() * 1000)
    people = [(link, "DE", IPHONE, "utm_campaign=spring,%20sale")] * 3 + [
        (other, "FR", CHROME, "")
    ] * 2
    clicks = [
        make_click(
            account.id,
            link_id=of.id.bytes,
            at=yesterday,
            edge_country=country,
            user_agent=agent,
            address=f"203.0.113.{number}",
            query=query,
        )
        for number, (of, country, agent, query) in enumerate(people)
    ]
    event = make_conversion(
        1,
        clicks[0].id,
        at=yesterday,
        account_id=account.id.bytes,
        event_config_id=config.id.bytes,
        value="12.50",
        payout="2.50",
    )
    await applied(services, [*clicks, event])
    return link
