"""Logos of shares: PNG, or SVG without anything that runs or loads.

A page shows a logo as a picture only, in which no browser runs scripts or loads anything. Cleaning
is for readers who save it as a file.
"""

from base64 import b64encode
from typing import Final

from py_svg_hush import filter_svg

from tracker.errors import BadRequest

MAX_BYTES: Final = 100 * 1024
MAX_PIXELS: Final = 2000
"""The limit of each side. A few kilobytes can be an image of gigabytes."""

_MAX_TAGS: Final = 4000
"""Deep elements are indented: 100 KB of nothing but tags would be cleaned to 240 MB."""

_MAX_USES: Final = 16
"""Each `use` may draw others twice: 60 of them would be a billion shapes."""

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_HEAD: Final = _PNG + b"\0\0\0\rIHDR"
_END: Final = b"IEND\xaeB`\x82"


def logo_url(logo: bytes) -> str:
    """Return a logo as a `data:` URL. Raises BadRequest if it is neither PNG nor SVG."""
    kind = "png" if logo.startswith(_PNG) else "svg+xml"
    safe = _checked_png(logo) if kind == "png" else _clean_svg(logo)
    return f"data:image/{kind};base64,{b64encode(safe).decode()}"


def _checked_png(png: bytes) -> bytes:
    at = len(_HEAD)
    sides = [int.from_bytes(png[start : start + 4]) for start in (at, at + 4)]
    if not png.startswith(_HEAD) or not png.endswith(_END) or 0 in sides:
        raise BadRequest("logo: must be a whole PNG file")
    if max(sides) > MAX_PIXELS:
        raise BadRequest(f"logo: at most {MAX_PIXELS} pixels wide and high")
    return png


def _clean_svg(svg: bytes) -> bytes:
    try:
        clean = filter_svg(svg, {}) if svg.count(b"<") <= _MAX_TAGS else b""
        clean = clean if clean.count(b"use") <= _MAX_USES else b""
    except ValueError:
        raise BadRequest("logo: must be a PNG or SVG file") from None
    if not 0 < len(clean) <= MAX_BYTES:
        most = f"{_MAX_TAGS} tags, {_MAX_USES} of them use, and {MAX_BYTES} bytes once cleaned"
        raise BadRequest(f"logo: at most {most}")
    return clean
