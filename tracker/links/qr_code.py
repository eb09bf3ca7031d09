"""QR codes of short URLs as images, made in a thread.

segno is pure Python: an image takes 2.5 ms, a large one 35. On the event loop, twenty large ones
delayed a round trip by 100 ms, from one thread by 4. More threads would starve the loop.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any, Final, Literal, NamedTuple

import segno

ImageFormat = Literal["svg", "png"]

MAX_SCALE: Final = 40
MAX_BORDER: Final = 10
DEFAULT_SCALE: Final = 8
DEFAULT_BORDER: Final = 4
"""The width of the white border, in modules. Scanners expect 4."""

ErrorCorrection = Literal["l", "m", "q", "h"]
"""A code is readable while 7, 15, 25 or 30 % of it is covered."""

MIN_CONTRAST: Final = 4.5
"""The contrast to white, as WCAG computes it. Scanners read less in good light only."""


class QrStyle(NamedTuple):
    """A module has `scale` pixels, the border `border` modules. The colour is that of modules."""

    scale: int = DEFAULT_SCALE
    border: int = DEFAULT_BORDER
    color: str = "000000"
    correction: ErrorCorrection = "m"


_USUAL: Final = QrStyle()


def contrast_to_white(color: str) -> float:
    """Return the contrast of a colour of six hexadecimal digits, from 1 to 21."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts
    )
    return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05)


class QrCodes:
    """The QR codes of a process, made one after the other in a thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="qr-code")

    async def image(
        self, text: str, image_format: ImageFormat = "svg", style: QrStyle = _USUAL
    ) -> bytes:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, qr_image, text, image_format, style)


def qr_image(text: str, image_format: ImageFormat, style: QrStyle = _USUAL) -> bytes:
    code = segno.make(text, error=style.correction, boost_error=False, micro=False)
    file = BytesIO()
    given: dict[str, Any] = {
        "scale": style.scale,
        "border": style.border,
        "dark": f"#{style.color}",
    }
    # Always with a background: scanners cannot read a transparent code on a dark page.
    if image_format == "svg":
        code.save(
            file,
            "svg",
            **given,
            light="#fff",
            xmldecl=False,
            svgclass=None,
            lineclass=None,
            unit="px",  # with that segno adds a viewBox, so that pages can resize the image
            nl=False,
        )
    else:
        code.save(file, "png", **given, light="#fff")
    return file.getvalue()
