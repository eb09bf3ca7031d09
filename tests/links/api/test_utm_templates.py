"""`/api/utm-templates`: the templates of an account are shown, replaced and in its audit log."""

from typing import Any

import orjson

from tests.web.each import each_case
from tests.web.world import World
from tracker.links.utm import UTM
from tracker.links.utm_templates.api import MAX_TEMPLATES

PATH = "/api/utm-templates"
EMPTY = dict.fromkeys(UTM, "")
MAIL = {"name": "Mail", "utm_source": "mail"}


async def put(world: World, *rows: Any) -> Any:
    sent = [EMPTY | row for row in rows]
    body = orjson.dumps({"accountId": str(world.account.id), "rows": sent})
    return await world.api.send("PUT", PATH, body)


async def shown(world: World) -> Any:
    return (await world.api.get(f"{PATH}?accountId={world.account.id}")).json()


async def test_templates_are_trimmed_sorted_and_replaced(world: World) -> None:
    assert await shown(world) == {"rows": []}
    ads = {"name": " ads ", "utm_source": " a ", "utm_term": "{country}"}
    expected = [
        EMPTY | {"name": "ads", "utm_source": "a", "utm_term": "{country}"},
        EMPTY | MAIL,
    ]
    for _ in range(2):  # the second changes nothing
        answer = await put(world, MAIL, ads)
        assert answer.json() == {"rows": expected}
    assert await shown(world) == {"rows": expected}
    audit = world.services.stores.mongodb["audit"]
    assert await audit.count_documents({"action": "account.utm_templates_changed"}) == 1
    await put(world)
    assert await shown(world) == {"rows": []}


@each_case(
    "rows, error",
    [
        ([{"name": "", "utm_source": "a"}], "rows[0].name: 1 to 80 characters"),
        ([MAIL, MAIL | {"name": "MAIL"}], "rows[1].name: repeated"),
        ([{"name": "a"}], "rows[0]: needs a UTM value"),
        ([{"name": "a", "utm_term": "x" * 101}], "rows[0].utm_term: 1 to 100 characters"),
        ([{"name": "a", "utm_x": "y"}], "rows[0].utm_x: unknown"),
        ([MAIL | {"name": str(one)} for one in range(MAX_TEMPLATES + 1)], "rows: "),
    ],
)
async def test_bad_templates_are_named(world: World, rows: Any, error: str) -> None:
    answer = await put(world, *rows)
    assert answer.status == 400
    assert answer.json()["error"].startswith(error)
