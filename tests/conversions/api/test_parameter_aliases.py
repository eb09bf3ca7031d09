"""Parameter aliases of event configurations over HTTP: every rule, and the log of their changes."""

from typing import Any

import pytest

from tests.factories import create_event_config
from tests.web.world import World

PATH = "/api/event-configs"
ALIASES = {"cid": "click_id", "payout": "value", "tid": "transaction_id"}
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"parameter_aliases": None}, "parameter_aliases: must be an object"),
    ({"parameter_aliases": ["cid"]}, "parameter_aliases: must be an object"),
    (
        {"parameter_aliases": {"cid": "pbk"}},
        "parameter_aliases: must be click_id or consent or currency or occurred_at or status or ",
    ),
    ({"parameter_aliases": {"cid": 1}}, "parameter_aliases: "),
    *(
        ({"parameter_aliases": {name: "value"}}, "parameter_aliases: names are 1 to 64 of ")
        for name in ("", "a" * 65, "a b", "$where", "a\n")
    ),
    (
        {"parameter_aliases": {"txid": "transaction_id"}},
        "parameter_aliases: txid is the name of a parameter itself",
    ),
    (
        {"parameter_aliases": {f"a{n}": "value" for n in range(21)}},
        "parameter_aliases: at most 20 names",
    ),
]


@pytest.mark.parametrize(("fields", "error"), BROKEN, ids=lambda value: str(value)[:60])
async def test_a_broken_rule_is_named(world: World, fields: dict[str, Any], error: str) -> None:
    config = await create_event_config(world.services, world.account.id)
    good = {"accountId": str(world.account.id), "name": "x", "payout_type": "CPA"}
    for response in (
        await world.api.post(PATH, **good, **fields),
        await world.api.patch(f"{PATH}/{config.id}", **fields),
    ):
        assert response.status == 400
        assert response.error.startswith(error)
    assert await world.services.conversions.event_configs.list(world.account.id) == [config]


async def test_aliases_are_created_replaced_and_removed_and_the_log_has_each_change(
    world: World,
) -> None:
    good = {"accountId": str(world.account.id), "name": "x", "payout_type": "CPA"}
    made = (await world.api.post(PATH, **good, parameter_aliases=ALIASES)).json()
    assert made["parameter_aliases"] == ALIASES
    for aliases in ({"sub": "click_id"}, {}):
        changed = await world.api.patch(f"{PATH}/{made['id']}", parameter_aliases=aliases)
        assert changed.json() == {**made, "parameter_aliases": aliases}
    entries, _ = await world.services.access.audit.page(world.account.id, 1, 10)
    changes = [entry.changes["parameter_aliases"] for entry in entries if entry.changes]
    assert [(one.before, one.after) for one in changes] == [
        ('{"sub":"click_id"}', "{}"),
        ('{"cid":"click_id","payout":"value","tid":"transaction_id"}', '{"sub":"click_id"}'),
    ]
