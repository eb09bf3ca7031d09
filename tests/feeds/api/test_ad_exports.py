"""The conversions of clicks from ad platforms, as files that these platforms take by hand."""

from typing import Any

from tests.conversions import scene
from tests.factories import AT_MS, create_event_config, make_click, make_conversion
from tests.web.world import World
from tracker.conversions.event_config import EventConfig

GOOGLE = "/api/conversions/export/google-ads"
MICROSOFT = "/api/conversions/export/microsoft-ads"
HEAD = "Conversion Name,Conversion Time,Conversion Value,Conversion Currency"


async def lines(world: World, path: str, query: str = "") -> list[str]:
    answer = await world.api.get(f"{path}?accountId={world.account.id}{query}")
    assert answer.status == 200, answer.body
    assert answer.headers["Content-Type"].startswith("text/csv")
    return answer.body.decode().splitlines()


async def convert(world: World, config: EventConfig | None, number: int, query: str) -> None:
    click = make_click(world.account.id, query=query, at=AT_MS)
    of_account: dict[str, Any] = {"account_id": world.account.id.bytes, "value": f"{number}.5"}
    of_config = {"event_config_id": config.id.bytes} if config else {}
    event = make_conversion(number, click.id, **of_account, **of_config, at=AT_MS + number * 1000)
    await scene.applied(world.services, [click, event])


async def test_a_platform_gets_the_approved_conversions_of_its_clicks(world: World) -> None:
    accounts = world.services.stores.mongodb["accounts"]
    events = world.services.stores.mongodb["events"]
    await accounts.update_one(
        {"_id": world.account.id}, {"$set": {"time_zone": "Europe/Berlin", "currency": "EUR"}}
    )
    sale = await create_event_config(world.services, world.account.id, name="Sale")
    lead = await create_event_config(world.services, world.account.id, name="Lead")
    for number, config, query in (
        (1, sale, "gclid=G1&msclkid=M1"),
        (2, sale, "gclid=G2"),
        (3, lead, "gclid=G3"),
        (4, sale, "a=1"),
        (5, None, "gclid=G5"),
        (6, sale, "gclid=G6"),
    ):
        await convert(world, config, number, query)
    await events.update_one({"_id": 2}, {"$set": {"currency": "USD"}})
    await events.update_one({"_id": 6}, {"$set": {"reported": "pending"}})
    head, *rows = await lines(world, GOOGLE)
    assert head == f"Google Click ID,{HEAD}"
    assert rows == [
        "G3,Lead,2025-12-29 10:20:03+01:00,3.5,EUR",
        "G2,Sale,2025-12-29 10:20:02+01:00,2.5,USD",
        "G1,Sale,2025-12-29 10:20:01+01:00,1.5,EUR",
    ]
    assert (await lines(world, GOOGLE, f"&event={lead.id}"))[1:] == rows[:1]
    assert (await lines(world, GOOGLE, "&from=2026-02-01"))[1:] == []
    assert await lines(world, MICROSOFT) == [
        f"Microsoft Click Id,{HEAD} Code",
        "M1,Sale,2025-12-29 10:20:01+01:00,1.5,EUR",
    ]
