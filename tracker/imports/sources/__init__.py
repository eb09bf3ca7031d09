"""The table of sources. Nothing outside a source's file knows its name."""

from collections.abc import Mapping
from typing import Final

from tracker.imports.source import Source
from tracker.imports.sources.generic import CSV
from tracker.imports.sources.yourls import YOURLS

SOURCES: Final[Mapping[str, Source]] = {one.name: one for one in (YOURLS, CSV)}
