"""Dub: its API, and the CSV of its links."""

from collections.abc import Iterable
from typing import Any, Final

from tracker.clock import now
from tracker.errors import BadRequest
from tracker.imports.item import Loss, SourceItem
from tracker.imports.readers import fields
from tracker.imports.readers.csv_links import csv_format
from tracker.imports.readers.json_records import api_reader
from tracker.imports.readers.rules import SourceRules
from tracker.imports.source import Parameters, Source

_PAGE: Final = 100
_ROOT: Final = "_root"
_SHARED_HOSTS: Final = ("dub.sh", "dub.link")
_LOST: Final = {
    fields.NO_PREVIEWS: "proxy video",
    fields.NO_FRAMES: "rewrite",
    "the destination gets click_id, and no longer dub_id": "trackConversion",
    "links have neither folders nor tenants nor partners": "folderId tenantId programId partnerId",
    "webhooks are the account's, not a link's": "webhookIds",
    "conversions stay at the source": "leads sales",
}


def _link(number: int, record: fields.Record) -> Iterable[SourceItem]:
    host, key, url = record["domain"], record["key"], record["url"]
    if key == _ROOT and not url:
        raise BadRequest("url: is empty, so the domain's root leads nowhere")
    rules = _rules(record)
    yield fields.link(
        number,
        record,
        "destination_url:url internal_name:title tags archived created_at:createdAt password"
        " expires_at:expiresAt expired_url:expiredUrl notes:comments external_id:externalId clicks",
        id=record["id"],
        domain_name=None if host in _SHARED_HOSTS else host,
        path="" if key == _ROOT else fields.without_punycode(key),
        active=not record.get("disabledAt"),
        rules=tuple(rules.rules),
        split=rules.split,
        losses=(*rules.losses, *fields.losses(record, _LOST), *fields.query_loss(url)),
    )


def _rules(record: fields.Record) -> SourceRules:
    """Return the rules in Dub's order: device, country, and then the test of variants."""
    found = SourceRules()
    found.add_systems(record, {"ios": "iOS", "android": "Android"})
    found.add_countries("geo", record.get("geo") or {})
    ends = fields.moment("testCompletedAt", record.get("testCompletedAt"))
    if record.get("testVariants") and ends is not None and ends > now():
        shares = [(one["url"], one["percentage"]) for one in record["testVariants"]]
        found.add_split("testVariants", shares)
    if found.split:
        found.losses.append(Loss("testCompletedAt", "a split goes on until somebody ends it"))
    return found


def _following(_: Parameters, __: Any, links: list[Any]) -> Parameters | None:
    return {"startingAfter": links[-1]["id"]} if len(links) == _PAGE else None


DUB: Final = Source(
    name="dub",
    label="Dub",
    files=(
        csv_format(
            "CSV, without passwords, dates and rules",
            "source_url",
            "destination_url",
            hosts=_SHARED_HOSTS,
            is_guarded=True,
            replaces_query=True,
        ),
    ),
    key_headers=lambda key: {"Authorization": f"Bearer {key}"},
    read_api=api_reader(
        _link, "links", {"pageSize": _PAGE, "showArchived": "true"}, "", _following
    ),
    api_address="https://api.dub.co",
)
