"""Short.io: its API, with the targeting of each link."""

from collections.abc import AsyncIterator, Iterable
from typing import Any, Final
from urllib.parse import quote

from tracker.imports.item import Loss, SourceItem
from tracker.imports.readers import fields
from tracker.imports.readers.csv_links import csv_format
from tracker.imports.readers.json_records import listed, pages
from tracker.imports.readers.rules import SourceRules
from tracker.imports.source import Get, Parameters, Source

_DOMAINS: Final = "api/domains"
_PAGE: Final = 150
_LOST: Final = {
    fields.NO_FRAMES: "cloaking",
    "the source tells no clicks, so they count from 0": "clicksLimit",
    "links are never deleted by themselves": "ttl",
    "visitors run no scripts of others": "integrationAdroll integrationFB integrationGA"
    " integrationGTM",
    "add it to the destination, if that lacks it": "utmSource utmMedium utmCampaign utmTerm"
    " utmContent",
}


def _link(number: int, record: fields.Record) -> Iterable[SourceItem]:
    rules = _rules(record)
    yield fields.link(
        number,
        {**record, "password": bool(record.get("hasPassword") or record.get("password"))},
        "destination_url:originalURL internal_name:title tags archived created_at:createdAt"
        " password expires_at:expiresAt expired_url:expiredURL max_clicks:clicksLimit",
        id=record["idString"],
        domain_name=record["hostname"].lower(),
        path=record["path"],
        pass_query=not record.get("skipQS"),
        rules=tuple(rules.rules),
        split=rules.split,
        losses=(*rules.losses, *fields.losses(record, _LOST)),
    )


def _rules(record: fields.Record) -> SourceRules:
    found = SourceRules()
    found.add_systems(record, {"iphoneURL": "iOS", "androidURL": "Android"})
    countries = {one["country"]: one["originalURL"] for one in record["link_country"]}
    found.add_countries("link_country", countries)
    for one in record["link_region"]:
        told = f"{one['originalURL']} if {one['country']}-{one['region']}"
        found.losses.append(Loss("link_region", f"left out (rules know no regions): {told}"))
    if record.get("splitURL"):
        share = int(record["splitPercent"])
        shares = [(record["originalURL"], 100 - share), (record["splitURL"], share)]
        found.add_split("splitURL", shares)
    return found


def _following(_: Parameters, answer: Any, __: list[Any]) -> Parameters | None:
    after = answer.get("nextPageToken")
    return {"pageToken": after} if after else None


async def _pages(get: Get) -> AsyncIterator[list[Any]]:
    for domain in listed(_DOMAINS, await get(_DOMAINS, {}), ""):
        first: Parameters = {"domain_id": domain["id"], "limit": _PAGE}
        async for batch in pages(get, "api/links", first, "links", _following):
            for one in batch:
                one["hostname"] = domain["hostname"]
                for name in ("link_country", "link_region"):
                    path = f"{name}/{quote(one['idString'], safe='')}"
                    one[name] = listed(path, await get(path, {}), "")
            yield batch


SHORTIO: Final = Source(
    name="shortio",
    label="Short.io",
    files=(csv_format("CSV, without passwords, dates and rules", "source_url", "destination_url"),),
    key_headers=lambda key: {"Authorization": key},
    read_api=lambda get: fields.items_of(_pages(get), _link),
    api_address="https://api.short.io",
)
