"""Chhoto URL: its API, and the JSON of it as a file."""

from collections.abc import Iterable
from typing import Any, Final

from tracker.imports.item import SourceItem
from tracker.imports.readers import fields
from tracker.imports.readers.json_records import Parameters, api_reader, json_format
from tracker.imports.source import Source

_PAGE: Final = 500
_NAMES: Final = "destination_url:longlink expires_at:expiry_time notes clicks:hits"


def _link(number: int, record: fields.Record) -> Iterable[SourceItem]:
    yield fields.link(number, record, _NAMES, path=record["shortlink"])


def _following(_: Parameters, __: Any, links: list[Any]) -> Parameters | None:
    # The first page has the newest links, and each page its oldest link first.
    return {"page_after": links[0]["shortlink"]} if len(links) >= _PAGE else None


CHHOTO: Final = Source(
    name="chhoto",
    label="Chhoto URL",
    files=(json_format(_link, "shortlink", "longlink"),),
    key_headers=lambda key: {"X-API-Key": key},
    read_api=api_reader(_link, "api/all", {"page_size": _PAGE}, "", _following),
)
