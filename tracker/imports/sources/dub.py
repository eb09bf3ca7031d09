"""Dub: its API, and the CSV of its links."""

from collections.abc import Iterable
from typing import Any, Final

from tracker.errors import BadRequest
from tracker.imports.item import SourceItem
from tracker.imports.readers import fields
from tracker.imports.readers.csv_links import csv_format
from tracker.imports.readers.json_records import api_reader
from tracker.imports.source import Parameters, Source

_PAGE: Final = 100
_ROOT: Final = "_root"
_SHARED_HOSTS: Final = ("dub.sh", "dub.link")
_LOST: Final = {
    fields.NO_RULES: "ios android geo testVariants",
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
    yield fields.link(
        number,
        record,
        "destination_url:url internal_name:title tags archived created_at:createdAt password"
        " expires_at:expiresAt expired_url:expiredUrl notes:comments external_id:externalId clicks",
        id=record["id"],
        domain_name=None if host in _SHARED_HOSTS else host,
        path="" if key == _ROOT else fields.without_punycode(key),
        active=not record.get("disabledAt"),
        losses=fields.losses(record, _LOST) + fields.query_loss(url),
    )


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
