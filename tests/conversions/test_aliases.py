"""Names that senders use for parameters: read like the parameters, never lost, never overruling."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conversions import scene
from tests.conversions.outage import without_mongodb
from tests.conversions.parsing import from_json
from tests.factories import create_click, create_event_config, make_parameters
from tracker.conversions.event_config import PayoutType
from tracker.conversions.postbacks.aliases import AliasedParameter, Aliases, with_aliases
from tracker.conversions.postbacks.parameters import ConversionParameters, parse_text
from tracker.errors import BadRequest, Unavailable
from tracker.ids import new_id
from tracker.service.services import Services
from tracker.stores.mongodb import drivers

CLICK_ID = "0190b5a2-7c1e-7d3f-8a4b-5c6d7e8f9a0b"
OTHER_ID = CLICK_ID[:-1] + "c"
ALIASES: Aliases = {
    "cid": AliasedParameter.CLICK_ID,
    "sub.id": AliasedParameter.CLICK_ID,
    "payout": AliasedParameter.VALUE,
    "tid": AliasedParameter.TRANSACTION_ID,
}


def by_text(fields: dict[str, Any]) -> ConversionParameters:
    return with_aliases(parse_text(urlencode({"pbk": "k", **fields}).encode()), ALIASES)


def by_json(fields: dict[str, Any]) -> ConversionParameters:
    return with_aliases(from_json(json.dumps({"pbk": "k", **fields}).encode()), ALIASES)


BOTH = pytest.mark.parametrize("read", [by_text, by_json])


@BOTH
def test_what_stands_under_an_alias_is_the_parameter(read: Any) -> None:
    found = read({"cid": CLICK_ID, "payout": 12.5, "tid": "T-1", "aff": "x"})
    assert (found.click_id, found.value) == (UUID(CLICK_ID), Decimal("12.5"))
    assert (found.transaction_id, found.others) == ("T-1", {"aff": "x"})


@BOTH
@pytest.mark.parametrize(
    "fields",
    [
        {"cid": CLICK_ID, "click_id": CLICK_ID.upper()},
        {"cid": CLICK_ID, "sub.id": CLICK_ID},
        {"cid": "", "click_id": CLICK_ID},
        {"sub.id": CLICK_ID, "payout": ""},
    ],
)
def test_an_alias_may_repeat_a_parameter_or_be_empty(read: Any, fields: dict[str, Any]) -> None:
    assert read(fields).click_id == UUID(CLICK_ID)


@BOTH
@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"cid": CLICK_ID, "click_id": OTHER_ID}, "cid: differs from the click_id that was sent"),
        ({"cid": CLICK_ID, "sub.id": OTHER_ID}, "sub.id: differs from the click_id that was sent"),
        ({"payout": 1, "value": 2}, "payout: differs from the value that was sent too"),
        ({"tid": "a", "txid": "b"}, "tid: differs from the transaction_id that was sent too"),
        ({"cid": "x"}, "cid: must be a UUID such as"),
        ({"cid": "{click_id}"}, "cid: an unfilled macro, {click_id}; send the click_id of the"),
        ({"payout": "{payout}"}, "payout: an unfilled macro, {payout}; send a number such as"),
        ({"payout": 10**16}, "payout: at most 10^15"),
        ({"tid": "{tid}"}, "tid: an unfilled macro, {tid}; send"),
        ({"tid": "x" * 256}, "tid: must be text of 1 to 255 printable characters"),
    ],
)
def test_what_breaks_a_rule_is_refused_by_the_name_that_was_sent(
    read: Any, fields: dict[str, Any], error: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        read(fields)
    assert refused.value.message.startswith(error)


@BOTH
def test_a_filler_under_an_alias_counts_as_not_sent_with_a_warning(read: Any) -> None:
    for sent, known in (({"tid": "-"}, None), ({"tid": "null-null", "txid": "T-1"}, "T-1")):
        found = read(sent)
        assert found.transaction_id == known
        assert found.warnings == ("tid: ignored, because it stands for no value",)


@BOTH
def test_an_alias_is_read_from_a_damaged_name(read: Any) -> None:
    found = read({"amp;cid": CLICK_ID, "[payout]": 12.5, "aff[]": "x"})
    assert (found.click_id, found.value) == (UUID(CLICK_ID), Decimal("12.5"))
    with pytest.raises(BadRequest, match=r"^cid: differs from the click_id"):
        read({"amp;cid": CLICK_ID, "click_id": OTHER_ID})


def test_a_number_in_text_is_one() -> None:
    for read in (by_text, by_json):
        assert read({"payout": "12.50"}).value == Decimal("12.50")
        assert str(read({"payout": "12.50", "value": "12.5"}).value) == "12.5"


@given(st.dictionaries(st.sampled_from(["value", "txid", *ALIASES, "x"]), st.text(max_size=40)))
def test_any_text_under_an_alias_is_read_or_refused_by_its_name(fields: dict[str, str]) -> None:
    try:
        by_text(fields)
    except BadRequest as error:
        assert error.message.partition(":")[0] in fields


async def test_a_conversion_is_joined_to_the_click_under_an_alias(
    services: Services,
) -> None:
    aliases = {"cid": "click_id", "payout": "value"}
    config = await create_event_config(
        services, payout_type=PayoutType.REV_SHARE, payout="10", parameter_aliases=aliases
    )
    await services.conversions.event_configs.by_postback_key(config.pbk)
    click_id = await create_click(services, config.account_id)
    query = f"pbk={config.pbk}&cid={click_id}&payout=30&aff_sub=x"
    recorded = await services.conversions.recorder.record(parse_text(query.encode()))
    assert (recorded.click_found, recorded.click_named, recorded.warnings) == (True, True, ())
    await scene.drained(services)
    (row,) = await scene.stored_events(services)
    assert (row["status"], row["click_id"]) == ("attributed", click_id)
    assert (row["value"].to_decimal(), row["payout"].to_decimal()) == (30, 3)


async def test_a_transaction_id_under_an_alias_is_claimed(services: Services) -> None:
    config = await create_event_config(services, parameter_aliases={"tid": "transaction_id"})
    await services.conversions.event_configs.by_postback_key(config.pbk)
    await services.conversions.event_ids.start()
    conversion = make_parameters(pbk=config.pbk, others={"tid": "T-1"})
    first = await services.conversions.recorder.record(conversion)
    own = make_parameters(pbk=config.pbk, transaction_id="T-1")
    assert await services.conversions.recorder.record(own) == scene.repeated(first)


async def test_without_mongodb_a_known_map_counts_and_nothing_is_taken_for_an_unknown_one(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversion whose configuration is unknown could lose the click under its alias."""
    monkeypatch.setattr(drivers, "MONGODB_TIMEOUT_SECONDS", 1.5)
    known = await create_event_config(services, parameter_aliases={"cid": "click_id"})
    unknown = await create_event_config(services, parameter_aliases={"cid": "click_id"})
    await services.conversions.event_configs.by_postback_key(known.pbk)
    await services.conversions.event_ids.start()
    await services.stores.redis.delete(*await services.stores.redis.keys(f"*{unknown.pbk}*"))
    click_id = str(new_id())
    async with scene.process(without_mongodb(services.settings)) as cut_off:
        await cut_off.conversions.event_ids.start()
        sent = make_parameters(pbk=known.pbk, others={"cid": click_id})
        assert (await cut_off.conversions.recorder.record(sent)).click_named
        with pytest.raises(Unavailable):
            await cut_off.conversions.recorder.record(
                msgspec.structs.replace(sent, pbk=unknown.pbk)
            )
    await scene.drained(services)
    (row,) = await scene.stored_events(services)
    assert (row["status"], row["click_id"]) == ("pending", UUID(click_id))


async def test_aliases_are_stored_as_values_never_as_names_of_fields(services: Services) -> None:
    config = await create_event_config(services, parameter_aliases={"a.b": "value"})
    row: Any = await services.stores.mongodb["event_configs"].find_one({"_id": config.id})
    assert row["parameter_aliases"] == [["a.b", "value"]]
    changed = await services.conversions.event_configs.change(
        config.id, {"parameter_aliases": {"c": AliasedParameter.CLICK_ID}}
    )
    assert changed.parameter_aliases == {"c": "click_id"}
    await services.stores.redis.flushall()
    services.conversions.event_config_cache.forget_all()
    assert await services.conversions.event_configs.by_postback_key(config.pbk) == changed
