"""The console's files, under URLs that change with their content.

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

from tracker.reports.dimensions import CARDS, DIMENSIONS, PICTURES, SEARCHED
from tracker.visitor_dimensions import BROWSERS, DEVICES, SYSTEMS, UNKNOWN

STATIC: Final = Path(__file__).parent / "static"
PREFIX: Final = "/console/assets/"

VENDORED: Final = {
    "preact": "vendor/preact.mjs",
    "preact/hooks": "vendor/hooks.mjs",
    "@preact/signals-core": "vendor/signals-core.mjs",
    "@preact/signals": "vendor/signals.mjs",
    "htm": "vendor/htm.module.js",
}
"""The files of libraries, by the names in imports."""

_ENTRY: Final = "app.js"
_SIGN_IN: Final = "pages/sign-in.js"
_OVERVIEW: Final = "pages/overview.js"
_TO_OVERVIEW: Final = ("/console", "/console/overview", "/console/sign-in")
_IMPORT: Final = re.compile(rb'(?:^|;)(?:import|export)\b[^;]*?\bfrom\s*"([^"]+)"', re.MULTILINE)

_CONTENT_TYPES: Final = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
}
_HASH_CHARACTERS: Final = 12
_GZIP_LEVEL: Final = 9


class Asset(NamedTuple):
    """A file, plain and compressed. `path` is its URL's path."""

    path: str
    content_type: str
    body: bytes
    gzipped: bytes


@cache
def assets() -> Mapping[str, Asset]:
    """Return the files by their names below `static`."""
    files = [path for path in STATIC.rglob("*") if path.suffix in _CONTENT_TYPES]
    return {str(path.relative_to(STATIC)): _asset(path) for path in sorted(files)}


@cache
def assets_by_path() -> Mapping[str, Asset]:
    return {asset.path: asset for asset in assets().values()}


@cache
def modules() -> Mapping[str, str]:
    """Return the files of modules by their names in imports, such as `console/pages/links`."""
    own = {
        f"console/{name.removesuffix('.js')}": name
        for name in assets()
        if name.endswith(".js") and not name.startswith("vendor/")
    }
    return {**VENDORED, **own}


@cache
def import_map() -> str:
    paths = {specifier: assets()[name].path for specifier, name in modules().items()}
    return orjson.dumps({"imports": paths}).decode()


def with_imports(*names: str) -> list[str]:
    """Return the modules and all their direct and indirect imports, each once."""
    found = list(names)
    for name in found:
        imported = (one.decode() for one in _IMPORT.findall(assets()[name].body))
        files = (modules()[specifier] for specifier in imported)
        found.extend(file for file in dict.fromkeys(files) if file not in found)
    return found


def first_modules(path: str, session: bool) -> list[str]:
    """Return the modules to preload for the page at `path`.

    The modules of every page come first, because they request the session. Only the overview and
    the sign-in page add modules of their own.
    """
    pages = ([] if session else [_SIGN_IN]) + ([_OVERVIEW] if path in _TO_OVERVIEW else [])
    return list(dict.fromkeys([*with_imports(_ENTRY), *with_imports(*pages)]))


def shell(path: str, development: bool, session: bool, theme: str) -> Asset:
    """Return the page that loads the console. `theme` is `light`, `dark` or empty.

    It preloads the first modules, in parallel.
    """
    return _shell(tuple(first_modules(path, session)), development, session, theme)


@cache
def _shell(first: tuple[str, ...], development: bool, session: bool, theme: str) -> Asset:
    preloads = "".join(
        f'<link rel="modulepreload" href="{assets()[name].path}">\n' for name in first
    )
    values = {
        "style": assets()["app.css"].path,
        "import_map": import_map(),
        "dimensions": dimensions(),
        "preloads": preloads,
        "entry": assets()[_ENTRY].path,
        "environment": "development" if development else "production",
        "session": "yes" if session else "no",
        "theme": theme,
    }
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    page = re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), text).encode()
    return Asset("/console", "text/html; charset=utf-8", page, _compress(page))


def dimensions() -> str:
    """Return JSON: the panels in the order of cards, the panels that are pictures, and choices.

    A panel is its name, singular, plural, card, whether it filters, and also by a text. Choices are
    the known values of some visitor dimensions.
    """
    panels: list[tuple[object, ...]] = []
    for card in CARDS:
        for one in (dimension for dimension in DIMENSIONS.values() if dimension.card == card):
            filters = one.filter is not None, one.name in SEARCHED
            panels.append((one.name, one.one, one.many, card, *filters))
            if one.name == "country":
                panels.append(("map", one.one, "Map", card, False))
    devices = [device for device in DEVICES if device != UNKNOWN]
    choices = (("device", devices), ("os", tuple(SYSTEMS)), ("browser", tuple(BROWSERS)))
    return orjson.dumps([panels, PICTURES, choices]).decode()


def _asset(path: Path) -> Asset:
    body = path.read_bytes()
    name = path.relative_to(STATIC)
    digest = sha256(body).hexdigest()[:_HASH_CHARACTERS]
    hashed = name.with_name(f"{name.stem}-{digest}{name.suffix}")
    return Asset(f"{PREFIX}{hashed}", _CONTENT_TYPES[path.suffix], body, _compress(body))


def _compress(body: bytes) -> bytes:
    # No time in the header: the same content gives the same bytes.
    return gzip.compress(body, _GZIP_LEVEL, mtime=0)
