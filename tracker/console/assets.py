"""The console's files as browsers load them: under names that change with their content.

All are read and compressed at the first request. Modules import each other by the names in the
import map, so no file has to be rewritten.
"""

import gzip
import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from tracker.reports.dimensions import CARDS, DIMENSIONS

STATIC: Final = Path(__file__).parent / "static"
PREFIX: Final = "/console/assets/"

_VENDORED_FIRST: Final = {
    "preact": "vendor/preact.mjs",
    "preact/hooks": "vendor/hooks.mjs",
    "@preact/signals-core": "vendor/signals-core.mjs",
    "@preact/signals": "vendor/signals.mjs",
    "htm": "vendor/htm.module.js",
}
VENDORED: Final = {**_VENDORED_FIRST, "d3-array": "vendor/d3-array.min.mjs"}
"""The files of libraries, by the names under which modules import them."""

FIRST: Final = ("core.js", "app.js", *_VENDORED_FIRST.values())
"""The modules of every page. They are loaded side by side instead of one after another."""

_KINDS: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
_HASH_CHARACTERS: Final = 12
_GZIP_LEVEL: Final = 9


class Asset(NamedTuple):
    """A file, plain and compressed. `path` is where browsers find it."""

    path: str
    kind: str
    body: bytes
    gzipped: bytes


@cache
def assets() -> Mapping[str, Asset]:
    """Return the files by their names below `static`."""
    files = [path for path in STATIC.rglob("*") if path.suffix in _KINDS]
    return {str(path.relative_to(STATIC)): _asset(path) for path in sorted(files)}


@cache
def assets_by_path() -> Mapping[str, Asset]:
    return {asset.path: asset for asset in assets().values()}


@cache
def import_map() -> str:
    """Return the import map as JSON. Our own `pages/links.js` is called `console/pages/links`."""
    own = {
        f"console/{name.removesuffix('.js')}": name
        for name in assets()
        if name.endswith(".js") and not name.startswith("vendor/")
    }
    names = {**VENDORED, **own}
    paths = {specifier: assets()[name].path for specifier, name in names.items()}
    return orjson.dumps({"imports": paths}).decode()


@cache
def shell(development: bool, session: bool, theme: str) -> Asset:
    """Return the page that loads the console. `theme` is `light`, `dark` or empty."""
    preloads = "".join(
        f'<link rel="modulepreload" href="{assets()[name].path}">\n' for name in FIRST
    )
    values = {
        "style": assets()["app.css"].path,
        "import_map": import_map(),
        "dimensions": _dimensions(),
        "preloads": preloads,
        "entry": assets()["app.js"].path,
        "environment": "development" if development else "production",
        "session": "yes" if session else "no",
        "theme": theme,
    }
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    page = re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), text).encode()
    return Asset("/console", "text/html; charset=utf-8", page, _compress(page))


def _dimensions() -> str:
    """Return JSON rows in the order of cards: name, singular, plural, card, whether it filters."""
    panels = [one for card in CARDS for one in DIMENSIONS.values() if one.card == card]
    rows = [[one.name, one.one, one.many, one.card, one.filter is not None] for one in panels]
    return orjson.dumps(rows).decode()


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    name = path.relative_to(STATIC)
    digest = sha256(body).hexdigest()[:_HASH_CHARACTERS]
    hashed = name.with_name(f"{name.stem}-{digest}{name.suffix}")
    return Asset(f"{PREFIX}{hashed}", _KINDS[path.suffix], body, _compress(body))


def _compress(body: bytes) -> bytes:
    # No time in the header: the same content gives the same bytes.
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)
