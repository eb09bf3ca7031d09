"""QR codes of short URLs as images, made in a thread.

segno is pure Python: an image takes 2.5 ms, a large one 35. On the event loop, twenty large ones
delayed a round trip by 100 ms, from one thread by 4. More threads would starve the loop.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Final, Literal

import segno

ImageFormat = Literal["svg", "png"]

MAX_SCALE: Final = 40
MAX_BORDER: Final = 10
DEFAULT_SCALE: Final = 8
DEFAULT_BORDER: Final = 4
"""The width of the white border, in modules. Scanners expect 4."""

_ERROR_CORRECTION: Final = "m"
"""A code is readable while 15 % of it is covered."""


class QrCodes:
    """The QR codes of a process, made one after the other in a thread."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="qr-code")

    async def image(
        self,
        text: str,
        image_format: ImageFormat = "svg",
        scale: int = DEFAULT_SCALE,
        border: int = DEFAULT_BORDER,
    ) -> bytes:
        """Return a QR code. A module has `scale` pixels, the border `border` modules."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, qr_image, text, image_format, scale, border)


def qr_image(text: str, image_format: ImageFormat, scale: int, border: int) -> bytes:
    code = segno.make(text, error=_ERROR_CORRECTION, boost_error=False, micro=False)
    file = BytesIO()
    # Always with a background: scanners cannot read a transparent code on a dark page.
    if image_format == "svg":
        code.save(
            file,
            "svg",
            scale=scale,
            border=border,
            light="#fff",
            xmldecl=False,
            svgclass=None,
            lineclass=None,
            unit="px",  # with that segno adds a viewBox, so that pages can resize the image
            nl=False,
        )
    else:
        code.save(file, "png", scale=scale, border=border, light="#fff")
    return file.getvalue()
