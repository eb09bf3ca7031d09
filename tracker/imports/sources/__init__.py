"""The table of sources. Nothing outside a source's file knows its name."""

from collections.abc import Mapping
from typing import Final

from tracker.imports.readers.csv_links import csv_format
from tracker.imports.source import Source
from tracker.imports.sources.bitly import BITLY
from tracker.imports.sources.chhoto import CHHOTO
from tracker.imports.sources.dub import DUB
from tracker.imports.sources.kutt import KUTT
from tracker.imports.sources.shlink import SHLINK
from tracker.imports.sources.shortio import SHORTIO
from tracker.imports.sources.sink import SINK
from tracker.imports.sources.yourls import YOURLS

_CSV: Final = Source("csv", "CSV", (csv_format("CSV"),))
_ALL: Final = (YOURLS, KUTT, SHLINK, DUB, BITLY, SHORTIO, SINK, CHHOTO, _CSV)

SOURCES: Final[Mapping[str, Source]] = {one.name: one for one in _ALL}
