"""Uploads: files of other trackers, sent once, again, and with news."""

from datetime import timedelta
from typing import Any

from tests.conversions.scene import drained, stored_events
from tests.factories import create_event_config, create_webhook
from tests.uploads.sending import PATH, a_config, clicks, rejected, sent, stored, uploaded, work
from tests.web.world import World
from tracker.clock import iso, now
from tracker.conversions.postbacks.words import Meaning
from tracker.uploads.api.uploads import MAX_FILE_BYTES

KEITARO = "{0},12.5,T1,lead\n{1},3,,\n\n{2},,T3,rejected\n{2},much,T4,\n"
BINOM = "{0}:12.5\n{1}:auto:rejected\n{2}:7:approved:event_1=2:event_3=5\n:9\n"
CLICKFLARE = "{0},5,T1,lead,{at}\n{1},6,T2,rejected,{at}\n{2},7,T3,,yesterday\n"
VOLUUM = "{0};5;lead;T1\n{1};6;chargeback\n{2};;;\n"
MONEY = ("value", "payout", "reported", "status")


async def twice(world: World, file: str, counts: dict[str, int], **query: Any) -> dict[str, Any]:
    """Upload a file twice, which changes nothing; return the first upload."""
    first = await uploaded(world, file, **query)
    assert (first["state"], first["counts"]) == ("done", counts)
    before = await stored(world, "_id", *MONEY, "at")
    again = await uploaded(world, file, **query)
    told = counts.get("recorded", 0) + counts.get("restated", 0) + counts.get("same", 0)
    expected = {"same": told, "refused": counts.get("refused", 0)}
    assert again["counts"] == {name: number for name, number in expected.items() if number}
    assert await stored(world, "_id", *MONEY, "at") == before
    assert all(len(one.get("changes", [])) <= 1 for one in await stored_events(world.services))
    return first


async def test_a_file_of_keitaro_is_recorded_once_and_its_news_restate(world: World) -> None:
    config, ids = await a_config(world, statuses={"lead": Meaning.PENDING}), await clicks(world, 3)
    query = {"form": "keitaro", "event": config.id}
    counts = {"recorded": 3, "refused": 1}
    first = await twice(world, KEITARO.format(*ids), counts, **query)
    assert (first["lines"], first["position"]) == (5, 4)
    assert await stored(world, "click_id", *MONEY) == [
        (ids[0], "12.5", "6.25", "pending", "attributed"),
        (ids[1], "3", "1.5", None, "attributed"),
        (ids[2], None, None, "rejected", "attributed"),
    ]
    assert await rejected(world, first) == [
        "line,reason,text",
        f'5,value: must be a finite number such as 12.50,"{ids[2]},much,T4,"',
    ]
    news = f"{ids[0]},10,T1,approved\n{ids[1]},3,,rejected\n{ids[2]},,T3,rejected\n"
    told = await uploaded(world, news, **query)
    assert told["counts"] == {"restated": 2, "same": 1}
    assert await stored(world, *MONEY) == [
        ("10", "5", None, "attributed"),
        ("3", "1.5", "rejected", "attributed"),
        (None, None, "rejected", "attributed"),
    ]
    changes = (await stored_events(world.services))[0]["changes"]
    assert [one["actor"] for one in changes] == [f"upload:{one['id']}" for one in (first, told)]


async def test_rows_that_restate_one_another_change_nothing_the_second_time(world: World) -> None:
    config, [click] = await a_config(world), await clicks(world, 1)
    file, query = f"{click},5,,pending\n{click},5,,approved\n", {"form": "keitaro"}
    for counts in ({"recorded": 1, "restated": 1}, {"same": 2}):
        assert (await uploaded(world, file, event=config.id, **query))["counts"] == counts
        assert await stored(world, "reported", "revision") == [(None, 1)]
    back = f"{click},5,,approved\n{click},5,,pending\n"
    assert (await uploaded(world, back, event=config.id, **query))["counts"]["restated"] == 1
    assert await stored(world, "reported") == [("pending",)]


async def test_a_word_without_a_meaning_is_the_same_the_second_time(world: World) -> None:
    config, [click] = await a_config(world), await clicks(world, 1)
    await twice(world, f"{click},5,T1,zwart\n", {"recorded": 1}, form="keitaro", event=config.id)
    assert await stored(world, "reported", "unknown_word") == [("pending", "zwart")]


async def test_a_file_of_binom_has_events_and_payouts_that_are_not_told(world: World) -> None:
    config, ids = await a_config(world, payout_type="CPA", payout="4"), await clicks(world, 3)
    counts = {"recorded": 3, "refused": 1}
    first = await twice(world, BINOM.format(*ids), counts, form="binom", event=config.id)
    assert await stored(world, "value", "payout", "reported", "metadata") == [
        ("12.5", "4", None, None),
        (None, "4", "rejected", None),
        ("7", "4", None, '{"event_1":"2","event_3":"5"}'),
    ]
    reason = "click_id or transaction_id: at least one is required"
    assert (await rejected(world, first))[1:] == [f"4,{reason},:9"]


async def test_a_file_of_clickflare_has_times_and_types(world: World) -> None:
    config, ids = await a_config(world), await clicks(world, 3)
    at = now().replace(microsecond=0) - timedelta(days=2)
    file = CLICKFLARE.format(*ids, at=int(at.timestamp()))
    counts = {"recorded": 2, "refused": 1}
    await twice(world, file, counts, form="clickflare", event=config.id)
    # Only a word that is known as one is a status.
    assert await stored(world, "at", "transaction_id", "reported", "metadata") == [
        (at, "T1", None, '{"type":"lead"}'),
        (at, "T2", "rejected", '{"type":"rejected"}'),
    ]


async def test_a_file_of_voluum_may_be_pasted_with_any_separator(world: World) -> None:
    config, ids = await a_config(world), await clicks(world, 3)
    counts = {"recorded": 2, "refused": 1}
    first = await twice(world, VOLUUM.format(*ids), counts, form="voluum", event=config.id)
    assert await stored(world, "value", "reported") == [("5", None), ("6", "refunded")]
    assert "required, because the payout type is RevShare" in (await rejected(world, first))[1]


async def test_columns_are_guessed_by_headings_or_named(world: World) -> None:
    config, ids = await a_config(world), await clicks(world, 2)
    file = f"Order ID,Sub_ID,Amount,Note,Conv Status\nA1,{ids[0]},5,n,declined\n"
    assert (await uploaded(world, file, event=config.id))["counts"] == {"recorded": 1}
    other = f"x,y\n8,{ids[1]}\n"
    named = await uploaded(world, other, event=config.id, columns="value,click_id")
    assert (named["counts"], named["columns"]) == ({"recorded": 1}, "value,click_id")
    assert await stored(world, "transaction_id", "value", "reported") == [
        ("A1", "5", "rejected"),
        (f"\x1fclick:{ids[1]}", "8", None),
    ]


async def test_each_row_may_name_a_postback_key_of_the_account(world: World) -> None:
    own, [click] = await a_config(world), await clicks(world, 1)
    other = await create_event_config(world.services, world.other_account.id)
    file = f'{{"pbk":"{own.pbk}","clickid":"{click}","revenue":2}}\n'
    file += f'{{"pbk":"{other.pbk}","tid":"T"}}\n{{"pbk":"none","tid":"T"}}\n{{"tid":"T"}}\n[1]\n'
    found = await uploaded(world, file, form="ndjson")
    assert found["counts"] == {"recorded": 1, "refused": 4}
    refused = await rejected(world, found)
    assert f"{other.pbk[:4]}…" in refused[1]
    assert other.pbk not in refused[1]
    assert [line.split(",")[1].strip('"') for line in refused[1:]] == [
        "pbk: belongs to another account",
        "pbk: no active event configuration has this postback key",
        "pbk: required in each row",
        "row: must be a JSON object",
    ]


async def test_a_row_by_a_transaction_id_restates_a_conversion_of_a_postback(world: World) -> None:
    config, [click] = await a_config(world), await clicks(world, 1)
    query = f"pbk={config.pbk}&click_id={click}&value=9&transaction_id=T1"
    assert (await world.client.get(f"/api/event?{query}")).status == 200
    await drained(world.services)
    file = "tid,status\nT1,rejected\n"
    assert (await uploaded(world, file, event=config.id))["counts"] == {"restated": 1}
    assert await stored(world, "value", "reported") == [("9", "rejected")]
    assert (await uploaded(world, file, event=config.id))["counts"] == {"same": 1}


async def test_a_word_that_counts_each_time_needs_a_transaction_id(world: World) -> None:
    config, [click] = await a_config(world), await clicks(world, 1)
    file = f"{click},5,,rebill\n{click},5,T2,rebill\n{click},5,T2,rebill\n"
    found = await uploaded(world, file, form="keitaro", event=config.id)
    assert found["counts"]["refused"] == 1
    assert await stored(world, "transaction_id") == [("T2",)]


async def test_a_configuration_may_keep_the_first_report(world: World) -> None:
    config, [click] = await a_config(world, on_repeat="first"), await clicks(world, 1)
    query = {"form": "keitaro", "event": config.id}
    await uploaded(world, f"{click},5,T1\n", **query)
    assert (await uploaded(world, f"{click},6,T1\n", **query))["counts"] == {"same": 1}
    assert await stored(world, "value") == [("5",)]


async def test_webhooks_are_told_unless_the_upload_says_not(world: World) -> None:
    config, ids = await a_config(world), await clicks(world, 2)
    await create_webhook(world.services, world.account.id)
    deliveries = world.services.stores.mongodb["deliveries"]
    for click, notify, number in ((ids[0], False, 0), (ids[1], True, 1)):
        file = f"{click},5,\n"
        await uploaded(world, file, form="keitaro", event=config.id, notify=notify)
        assert await deliveries.count_documents({}) == number


async def test_webhooks_are_told_of_changes_unless_the_upload_says_not(world: World) -> None:
    config, [click] = await a_config(world), await clicks(world, 1)
    webhook = await create_webhook(world.services, world.account.id)
    await world.services.webhooks.webhooks.change(webhook.id, {"events": ("conversion.updated",)})
    deliveries = world.services.stores.mongodb["deliveries"]
    query: dict[str, Any] = {"form": "keitaro", "event": config.id}
    for value, notify, number in ((5, True, 0), (6, False, 0), (7, True, 1)):
        found = await uploaded(world, f"{click},{value},T1\n", **query, notify=notify)
        assert sum(found["counts"].values()) == 1
        assert await deliveries.count_documents({}) == number
    assert await stored(world, "value") == [("7",)]


async def test_a_dry_run_records_nothing_and_may_be_run(world: World) -> None:
    config, ids = await a_config(world), await clicks(world, 2)
    await uploaded(world, f"{ids[0]},5,T1\n", form="keitaro", event=config.id)
    file = f"click,sum,order\n{ids[0]},5,T1\n{ids[0]},6,T1\n{ids[1]},1,T2\n{ids[1]},x,T3\n"
    columns = "click_id,value,transaction_id"
    dry = await uploaded(world, file, event=config.id, columns="value,click_id", dry_run=True)
    assert (dry["state"], dry["counts"]) == ("checked", {"refused": 4})
    path = f"{PATH}/{dry['id']}"
    answer = await world.api.post(f"{path}/check", accountId=str(world.account.id), columns=columns)
    assert answer.status == 200, answer.body
    assert await work(world)
    checked = (await world.api.get(path)).json()
    assert checked["counts"] == {"same": 1, "restated": 1, "recorded": 1, "refused": 1}
    assert await drained(world.services) == 0
    preview = (await world.api.get(f"{path}/preview")).json()
    assert preview["headings"] == ["click", "sum", "order"]
    assert preview["columns"] == columns.split(",")
    assert preview["rows"][0] == [str(ids[0]), "5", "T1"]
    assert (await world.api.send("POST", f"{path}/run")).json()["state"] == "running"
    assert await work(world)
    await drained(world.services)
    assert (await world.api.get(path)).json()["counts"] == checked["counts"]
    assert await stored(world, "value") == [("6",), ("1",)]


async def test_the_same_file_is_of_its_own_time_whenever_it_is_drained(world: World) -> None:
    config, [click] = await a_config(world), await clicks(world, 1)
    early, late = (iso(now() - timedelta(days=days)) for days in (5, 1))
    rows = {late: "rejected", early: "approved"}
    file = "click_id,value,status,time\n"
    file += "".join(f"{click},5,{word},{at}\n" for at, word in rows.items())
    first = await uploaded(world, file, event=config.id)
    assert sum(first["counts"].values()) == 2
    [(at, reported)] = await stored(world, "at", "reported")
    assert (iso(at), reported) == (early, "rejected")
    assert (await uploaded(world, file, event=config.id))["counts"] == {"same": 2}


async def test_what_no_file_can_be_is_refused_before_it_is_read(world: World) -> None:
    config = await a_config(world)
    other = await create_event_config(world.services, world.other_account.id)
    cases: list[tuple[dict[str, Any], bytes, str]] = [
        ({"event": other.id}, b"a", f"event: no event configuration of the account: {other.id}"),
        ({"event": config.id, "columns": "click"}, b"a", "columns: must be of click_id, "),
        ({"event": config.id, "columns": "value,value"}, b"a", "columns: must be of click_id, "),
        ({"form": "ndjson", "columns": "value"}, b"a", "columns: not with ndjson"),
        ({"form": "xml"}, b"a", "form: must be "),
        ({"event": config.id}, b"", "body: must be a file"),
        *(
            ({"event": config.id}, line * 50_003, "file: at most 50000 rows")
            for line in (b"a\n", b"a\r", b"a\r\n")
        ),
    ]
    for query, body, error in cases:
        answer = await sent(world, body, **query)
        assert answer.status == 400, query
        assert answer.error.startswith(error)
    head = f"POST /api/conversions/upload?accountId={world.account.id} HTTP/1.1\r\n"
    head += f"Host: tracker.test\r\nConnection: close\r\nContent-Length: {MAX_FILE_BYTES + 1}\r\n"
    head += f"Authorization: Bearer {world.secret}\r\n\r\n"
    assert (await world.client.sent(head.encode())).status == 413
    left = await world.stored()
    assert (left["uploads"], left["job_files"]) == ([], [])
