"""What an id or a postback URL finds out, without recording anything."""

from typing import Any
from urllib.parse import quote
from uuid import UUID

from tests.conversions.scene import applied, drained, stored_events
from tests.factories import create_event_config, create_link, make_click, make_conversion
from tests.web.records import journaled_events
from tests.web.world import World
from tracker.clock import now_ms
from tracker.conversions.event_config import PayoutType
from tracker.conversions.postbacks.aliases import SHARED_ID
from tracker.ids import new_id


async def found(world: World, text: str) -> dict[str, Any]:
    url = f"/api/find?accountId={world.account.id}&q={quote(text, safe='')}"
    response = await world.api.get(url)
    assert response.status == 200, response.body
    answer: dict[str, Any] = response.json()
    return answer


async def checked(world: World, url: str) -> dict[str, Any]:
    account_id = str(world.account.id)
    response = await world.api.post("/api/postbacks/check", accountId=account_id, url=url)
    assert response.status == 200, response.body
    answer: dict[str, Any] = response.json()
    return answer


def text_of(click: Any) -> str:
    return str(UUID(bytes=click.id))


async def test_an_id_finds_its_click_conversions_and_refused_postbacks(world: World) -> None:
    services, own = world.services, world.account.id.bytes
    link = await create_link(services, world.account.id, "a", internal_name="Spring")
    config = await create_event_config(services, world.account.id)
    click = make_click(world.account.id, link_id=link.id.bytes, at=now_ms())
    order = str(new_id())  # shops have such ids too
    scoped: dict[str, Any] = {"account_id": own, "transaction_scope": own, "checked": True}
    foreign = world.other_account.id
    theirs = make_click(foreign, at=now_ms())
    await applied(
        services,
        [
            *(click, theirs),
            make_conversion(7, click.id, transaction_id="T 1", **scoped),
            make_conversion(8, transaction_id=order, **scoped),
            make_conversion(9, transaction_id="7", **scoped),
            make_conversion(10, theirs.id, account_id=foreign.bytes),
        ],
    )
    await world.client.get(
        f"/api/event?pbk={config.pbk}&click_id={text_of(click)}&txid=T%201&value=a"
    )
    await world.client.get(f"/api/event?pbk={config.pbk}&txid=T-2&value=a")
    await services.conversions.refusals.store()
    for text, kind, link_name, events, refused in (
        (text_of(click).upper(), "click", "Spring", [7], 1),
        (" T 1 ", "transaction", None, [7], 1),
        (order, "transaction", None, [8], 0),
        ("7", "event", None, [7, 9], 1),  # the digit is in the id of the refused one's click
        ("8", "event", None, [8], None),
        ("T-2", None, None, [], 1),
        (text_of(theirs), None, None, [], 0),
        ("10", None, None, [], None),
    ):
        answer = await found(world, text)
        named = answer["click"] and answer["click"]["link"]["internal_name"]
        ids = [row["event_id"] for row in answer["conversions"]]
        assert (answer["kind"], named, ids) == (kind, link_name, events), text
        if refused is not None and text != "7":
            assert len(answer["refused"]) == refused, text


async def test_the_longest_text_is_searched_in_any_encoding_and_a_longer_one_refused(
    world: World,
) -> None:
    assert (await found(world, "\U0001f600" * 255))["kind"] is None
    for text in ("a" * 256, " ", ""):
        url = f"/api/find?accountId={world.account.id}&q={quote(text)}"
        assert (await world.api.get(url)).error.startswith("q: 1 to 2")


async def test_a_repeat_of_a_transaction_id_is_found_with_its_number_and_time(
    world: World,
) -> None:
    config = await create_event_config(world.services, world.account.id)
    for _ in range(3):
        await world.client.get(f"/api/event?pbk={config.pbk}&txid=T-1")
    await drained(world.services)
    await world.services.conversions.repeats.store()
    [row] = (await found(world, "T-1"))["conversions"]
    assert (row["repeats"], row["last_repeat_at"] is not None) == (2, True)


async def test_a_click_is_listed_by_its_id(world: World) -> None:
    clicks = [make_click(world.account.id, at=now_ms()) for _ in range(2)]
    theirs = make_click(world.other_account.id, at=now_ms())
    await applied(world.services, [*clicks, theirs])
    path = f"/api/clicks?accountId={world.account.id}"
    since = (await world.api.get(path)).json()["since_cursor"]
    for click, rows in ((clicks[0], [text_of(clicks[0])]), (theirs, [])):
        answer = (await world.api.get(f"{path}&click_id={text_of(click)}")).json()
        assert [row["id"] for row in answer["rows"]] == rows
    later = make_click(world.account.id, at=now_ms())
    await applied(world.services, [later, make_click(world.account.id, at=now_ms())])
    answer = (await world.api.get(f"{path}&click_id={text_of(later)}&since={since}")).json()
    assert [row["id"] for row in answer["rows"]] == [text_of(later)]


async def test_a_dry_run_says_in_words_what_the_postback_would_do(world: World) -> None:
    services, own = world.services, world.account.id
    sale = await create_event_config(
        *(services, own),
        name="Sale",
        payout_type=PayoutType.REV_SHARE,
        payout="30",
        parameter_aliases={"cid": "click_id"},
    )
    lead = await create_event_config(services, own, name="Lead", window_days=1)
    theirs = await create_event_config(services, world.other_account.id, name="Theirs")
    minutes = make_click(own, at=now_ms() - 200_000)
    days = make_click(own, at=now_ms() - 2 * 86_400_000)
    test = make_click(own, at=now_ms(), test=True)
    foreign = make_click(world.other_account.id, at=now_ms())
    await applied(services, [minutes, days, test, foreign])
    await services.conversions.account_rules.change(own, {"max_per_click": 1})
    await world.client.get(f"/api/event?pbk={lead.pbk}&txid=T-1&click_id={text_of(minutes)}")
    await drained(services)
    [first] = await stored_events(services)
    host = "https://else.example/postback?"
    for url, summary in (
        (
            f"{host}pbk={sale.pbk}&cid={text_of(minutes)}&value=8.5#x",
            "Event 'Sale'. Click found, 3 minutes old. Would pay 2.55.",
        ),
        (
            f"pbk={sale.pbk}&clickid={text_of(minutes)}&value=1",
            "Event 'Sale'. No click is named. Would pay 0.30. "
            "`clickid` is not known here: add it as a name.",
        ),
        (
            f" /api/event?pbk={sale.pbk}&aff_sub={text_of(minutes)}&payout=1",
            "Event 'Sale'. Would be refused: value: required, because the payout type is RevShare. "
            "`payout` is not known here: add it as a name. "
            "`aff_sub` is not known here: add it as a name.",
        ),
        (
            f"{host}pbk={lead.pbk}&click_id={text_of(days)}",
            "Event 'Lead'. Click found, 2 days old. Too late for its click. Would pay 2.50.",
        ),
        (
            f"{host}pbk={lead.pbk}&click_id={text_of(minutes)}",
            "Event 'Lead'. Click found, 3 minutes old. "
            "Would be refused: max_per_click, a rule of the account.",
        ),
        (
            f"{host}pbk={lead.pbk}&click_id={text_of(test)}",
            "Event 'Lead'. Click found, less than a minute old. "
            "The click is a test: it would not count.",
        ),
        (
            f"{host}pbk={lead.pbk}&txid=T-1",
            f"Event 'Lead'. No click is named. Conversion {first['_id']} has its transaction id: "
            "a repeat counts nothing.",
        ),
        (
            f"{host}pbk={lead.pbk}&txid=T-1&status=rejected",
            f"Event 'Lead'. No click is named. Conversion {first['_id']} has its transaction id: "
            "would be rejected.",
        ),
        (
            f"{host}pbk={lead.pbk}&txid=T-9&status=pending&click_id={new_id()}",
            "Event 'Lead'. The click is not stored here. Would pay 2.50, once approved.",
        ),
        (
            f"{host}pbk={theirs.pbk}",
            "No event configuration of yours. Would be refused: pbk: no active event configuration "
            "has this postback key.",
        ),
        (
            f"{host}click_id={text_of(foreign)}",
            "No event configuration of yours. The click is not stored here. "
            "Would be approved, and pay nothing.",
        ),
        (
            "https://else.example/",
            "No event configuration of yours. Would be refused: pbk or click_id: at least one is "
            "required.",
        ),
    ):
        assert (await checked(world, url))["summary"] == summary
    assert await journaled_events(services) == []
    assert len(await stored_events(services)) == 1
    assert (await services.conversions.refusals.page(own, None, 1, 1))[1] == 0


async def test_a_dry_run_refuses_and_warns_as_the_real_one_answers(world: World) -> None:
    services, own = world.services, world.account.id
    config = await create_event_config(services, own, payout_type=PayoutType.REV_SHARE)
    click, foreign = (make_click(one, at=now_ms()) for one in (own, world.other_account.id))
    await applied(services, [click, foreign])
    await services.conversions.account_rules.change(own, {"max_value": 100, "require_pbk": True})
    for query in (
        f"pbk={config.pbk}",
        f"pbk={config.pbk}&value=101",
        f"pbk={config.pbk}&value=x",
        f"pbk={config.pbk}&value=1&amp;click_id={text_of(click)}",
        f"pbk={config.pbk}&value=1&click_id={text_of(foreign)}",
        f"pbk={config.pbk}&value=1&txid=[TID]",
        f"pbk={config.pbk}&value=1&txid=T&currency=EUR",
        f"pbk={config.pbk}&value=1&txid=T",  # a repeat, claimed and not stored
        f"pbk={config.pbk}&value=1&status=odd&cid=5&order_id=6",
        f"pbk={config.pbk}&status=rejected",
        f"click_id={text_of(click)}",
        "pbk=unknown",
        "click_id=%ff",
        "&".join(f"a{number}=1" for number in range(300)),
    ):
        before = await checked(world, query)
        answer = (await world.client.get(f"/api/event?{query}")).json()
        assert before["error"] == answer.get("error"), query
        if before["error"] is None:
            assert before["warnings"] == answer.get("warnings", []), query
            assert (before["repeat_of"] is not None) == answer.get("duplicate", False), query


async def test_a_dry_run_warns_of_a_transaction_id_that_another_click_has(world: World) -> None:
    services, own = world.services, world.account.id
    config = await create_event_config(services, own)
    clicks = [make_click(own, at=now_ms()) for _ in range(2)]
    await applied(services, clicks)
    first, other = (f"pbk={config.pbk}&txid=N-1&click_id={text_of(one)}" for one in clicks)
    await world.client.get(f"/api/event?{first}")
    await drained(services)
    before = await checked(world, other)
    await services.conversions.repeats.store()
    [stored] = await stored_events(services)
    assert "warnings" not in stored  # the dry run is no repeat
    assert (await checked(world, first))["warnings"] == []
    answer = (await world.client.get(f"/api/event?{other}")).json()
    assert before["warnings"] == answer["warnings"] == [SHARED_ID]
