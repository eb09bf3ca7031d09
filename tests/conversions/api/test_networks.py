"""The postbacks of twenty networks, as they send them: names, words, with and without order ids."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from tests.conversions.api.reporting import by_query, drained
from tests.conversions.scene import stored_events
from tests.factories import create_click
from tests.ingest import ledger
from tests.web.world import World
from tracker.clock import iso, now

CONFIGS = "/api/event-configs"


class Network(NamedTuple):
    """Its names of click, value, status and order, and its words of each status.

    Words after a colon have that meaning only with this network.
    """

    click: str
    value: str
    status: str
    order: str
    pending: str
    approved: str
    rejected: str
    rebill: str = ""

    @property
    def aliases(self) -> dict[str, str]:
        parameters = ("click_id", "value", "status", "transaction_id")
        return {a: b for a, b in zip(self[:4], parameters, strict=True) if a not in ("", b, "txid")}

    @property
    def words(self) -> dict[str, str]:
        """Return the words to map."""
        meanings = ("pending", "approved", "rejected", "count")
        pairs = zip(self[4:], meanings, strict=True)
        return {text[1:]: meaning for text, meaning in pairs if text.startswith(":")}

    def word(self, what: str) -> str:
        return str(getattr(self, what)).removeprefix(":")


NETWORKS = (
    Network("sub1", "sum", "status", "", "pending", "approved", "rejected"),
    Network("aff_click_id", "payout", "status", "transaction_id", "pending", "approved", "trash"),
    Network("click_id", "value", "status", "", ":2", ":1", ":3"),
    Network("subid", "amount", "state", "", "new", "confirmed", "declined"),
    Network("clickid", "revenue", "status", "", ":hold", "approve", "reject", "rebill"),
    Network("subid1", "payment", "status", "lead_id", "wait", "paid", "cancel"),
    Network("sub_id1", "profit", "lead_status", "", ":5", ":10", ":7"),
    Network("sub_id", "cash", "status", "id", "PENDING", "APPROVED", "REJECTED"),
    Network("aff_sub", "cost", "status", "", ":reg", ":dep", "fraud", ":redep"),
    Network("cid", "money", "conversion_status", "", "processing", "success", "refused"),
    Network("utm_term", "income", "st", "", ":lead", ":sale", "trash"),
    Network("s2", "payout", "event", "tid", ":dep", ":ftd", "duplicate"),
    Network("custom1", "sum", "type", "", ":subscribe", ":sale", ":unsubscribe", ":renewal"),
    Network("clickid", "payout", "status", "transactionid", ":accept", "approved", "cancelled"),
    Network("sub_id3", "price", "status", "", "review", "valid", "invalid"),
    Network("click_id", "payout", "goal", "txid", ":0", ":1", ":-1"),
    Network("aff_sub2", "sum", "status", "", ":Холд", ":Принят", ":Треш"),
    Network("ref", "value", "action", "order", ":signup", ":purchase", ":return", "rebill"),
    Network("p1", "sum", "status", "", "unconfirmed", "completed", "canceled"),
    Network("external_id", "payout", "status", "", ":wait for call", ":buyout", ":no answer"),
)


async def send(world: World, pbk: str, network: Network, lead: int, what: str, **of: Any) -> None:
    click_id, value, words, occurred_at = of["click"], of["value"], network.word(what), of.get("at")
    fields = {"pbk": pbk, network.click: click_id, network.value: value, network.status: words}
    if network.order:
        fields[network.order] = f"order-{lead}"
    if occurred_at:
        fields["occurred_at"] = occurred_at
    answer = await by_query(world.client, fields)
    assert answer.status == 200, answer.body


async def played(world: World, pbk: str, network: Network) -> None:
    """Send what becomes of six leads, each report when it comes."""
    leads = (
        (("pending", 10), ("approved", 12)),
        (("pending", 10), ("rejected", 0)),
        (("approved", 8), ("approved", 8)),
        (("pending", 7),),
        (("approved", 20), ("rejected", 20), ("approved", 21)),
        (("approved", 5), ("rebill", 5), ("rebill", 6)) if network.rebill else (),
    )
    clicks = [str(await create_click(world.services, world.account.id)) for _ in leads]
    for step in range(3):
        for lead, reports in enumerate(leads):
            if step < len(reports):
                what, value = reports[step]
                of = {"click": clicks[lead], "value": value}
                await send(world, pbk, network, lead, what, **of)
        if step != 1:
            await drained(world.services)


async def new_config(world: World, network: Network) -> dict[str, Any]:
    fields = {"name": network.click, "payout_type": "RevShare", "payout": 50}
    new = {**fields, "accountId": str(world.account.id), "parameter_aliases": network.aliases}
    made = await world.api.post(CONFIGS, **new)
    assert made.status == 200, made.error
    return dict(made.json())


def summed(events: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """Return the number and the value of each status, as a person adds them up."""
    found: dict[str, Counter[str]] = {}
    for one in events:
        sums = found.setdefault(str(one["event_config_id"]), Counter())
        status = one.get("reported", "approved")
        sums[status] += 1
        sums[f"{status} value"] += int(one["value"].to_decimal() if one["value"] else 0)
    return found


async def test_the_postbacks_of_twenty_networks_count_as_a_person_would_expect(
    world: World,
) -> None:
    configs = [await new_config(world, network) for network in NETWORKS]
    unknown = set()
    for config, network in zip(configs, NETWORKS, strict=True):
        for lead, word in enumerate(sorted(network.words)):
            click = str(await create_click(world.services, world.account.id))
            what = next(one for one in network._fields[4:] if network.word(one) == word)
            await send(world, config["pbk"], network, 100 + lead, what, click=click, value=1)
            unknown.add((config["id"], word.casefold()))
    await drained(world.services)
    path = f"{CONFIGS}/unknown-words?accountId={world.account.id}"
    listed = (await world.api.get(path)).json()["rows"]
    assert {(one["event_config_id"], one["word"]) for one in listed} == unknown
    for config, network in zip(configs, NETWORKS, strict=True):
        await world.api.patch(f"{CONFIGS}/{config['id']}", statuses=network.words)
    assert (await world.api.get(path)).json()["rows"] == []
    for config, network in zip(configs, NETWORKS, strict=True):
        await played(world, config["pbk"], network)
    sums = summed(await stored_events(world.services))
    total = Counter[str]()
    for config, network in zip(configs, NETWORKS, strict=True):
        rebills, early = 3 * bool(network.rebill), len(network.words)
        total += (
            expected := Counter(
                {
                    "approved": 3 + rebills,
                    "approved value": 41 + 16 * bool(rebills),
                    "pending": 1 + early,
                    "pending value": 7 + early,
                    "rejected": 1,
                }
            )
        )
        assert +sums[config["id"]] == expected, network
    counted = await ledger.totals(world.services)
    money = 10**9
    assert counted["conversions"] == total["approved"]
    assert counted["value"] == total["approved value"] * money
    assert counted["payout"] == total["approved value"] * money // 2
    assert counted["pending_conversions"] == total["pending"]
    assert counted["pending_value"] == total["pending value"] * money
    assert counted["rejected_conversions"] == total["rejected"]


async def test_an_older_report_that_comes_last_changes_nothing_that_a_newer_one_said(
    world: World,
) -> None:
    config = await new_config(world, NETWORKS[0])
    click = str(await create_click(world.services, world.account.id))
    days = (1, 3, 2)
    for what, value, ago in zip(
        ("approved", "pending", "rejected"), (12, 10, 0), days, strict=True
    ):
        of = {"click": click, "value": value, "at": iso(now() - timedelta(days=ago))}
        await send(world, config["pbk"], NETWORKS[0], 1, what, **of)
        await drained(world.services)
    [event] = await stored_events(world.services)
    assert event.get("reported", "approved") == "approved"
    assert (event["value"].to_decimal(), event["payout"].to_decimal()) == (Decimal(12), Decimal(6))
