"""The conversion rate: the conversions of the clicks that are counted, for each of them."""

import csv
import io
from random import Random
from typing import Any

from tests.factories import create_event_config, create_link
from tests.reports.api.traffic import DAYS, click, event
from tests.reports.history import store
from tests.sharing.api.shares import opened, share
from tests.web.keyed_client import KeyedClient
from tests.web.world import World
from tracker.accounts.accounts import Account
from tracker.service.services import Services


async def two_clicks_and_five_conversions(services: Services, account: Account) -> str:
    """Store two clicks, one of which converts, four conversions without a click, and a click of a
    bot that converts. Return the id of their event configuration."""
    tag = await services.links.tags.create(account.id, "Spring")
    link = await create_link(services, account.id, tags=[tag.id])
    config = await create_event_config(services, account.id)
    clicks = [click(account.id, link.id) for _ in range(2)]
    clicks.append(click(account.id, link.id, bot="crawler"))
    of_config = {"event_config_id": config.id}
    events = [
        event(1, clicks[0], **of_config),
        *(event(number, {"account_id": account.id}, **of_config) for number in (2, 3)),
        event(4, {"account_id": account.id}, status="pending", **of_config),
        event(5, {"account_id": account.id}, status="foreign_click", **of_config),
        event(6, clicks[2], **of_config),
    ]
    await store(services, Random(0), clicks, events)
    return str(config.id)


async def asked(api: KeyedClient, account: Account, path: str, **fields: Any) -> Any:
    body = {"accountId": str(account.id), "dateRange": DAYS, **fields}
    response = await api.post(path, **body)
    assert response.status == 200, response.body
    return response


def rate(of: dict[str, Any]) -> tuple[int, float]:
    return of["conversions"], of["conversionRate"]


async def test_tiles_series_files_and_shares_have_the_same_rate(world: World) -> None:
    await two_clicks_and_five_conversions(world.services, world.account)
    body = {"interval": "hour", "panels": [{"groupBy": "country"}]}
    for shown in (
        (await asked(world.api, world.account, "/api/reports/overview", **body)).json(),
        (
            await opened(
                world.client,
                (await share(world.api, world.account, report=body | {"dateRange": DAYS}))[1],
            )
        ).json(),
    ):
        assert rate(shown["totals"]) == (6, 0.5)
        # The conversions are of an hour without clicks.
        assert {step["conversionRate"] for step in shown["series"]} == {0}
        assert [rate(row) for row in shown["panels"]["country"]["rows"]] == [(2, 0.5), (4, 0)]
    file = await asked(world.api, world.account, "/api/reports", groupBy="day", format="csv")
    [row] = csv.DictReader(io.StringIO(file.body.decode()))
    assert (row["conversions"], row["conversionRate"]) == ("6", "0.5")
