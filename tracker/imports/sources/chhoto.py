"""Chhoto URL: its API, and the JSON of it as a file."""

from collections.abc import Iterable
from typing import Final

from tracker.imports.item import SourceItem
from tracker.imports.readers import fields
from tracker.imports.readers.json_records import api_reader, json_format
from tracker.imports.source import Source

_NAMES: Final = "destination_url:longlink expires_at:expiry_time notes clicks:hits"


def _link(number: int, record: fields.Record) -> Iterable[SourceItem]:
    yield fields.link(number, record, _NAMES, path=record["shortlink"])


CHHOTO: Final = Source(
    name="chhoto",
    label="Chhoto URL",
    files=(json_format(_link, "shortlink", "longlink"),),
    key_headers=lambda key: {"X-API-Key": key},
    # Without a number of a page the answer has all links.
    read_api=api_reader(_link, "api/all", {}, "", lambda *_: None),
)
