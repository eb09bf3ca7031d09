"""Text in pieces: its encoding, and parsers that take as much of it as is whole. Pure."""

import codecs
import re
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar

from tracker.errors import BadRequest

HEAD_BYTES: Final = 64 * 1024
"""What is looked at before the first text. Rules for a whole file are decided by it."""

MAX_CHARACTERS: Final = 16 * 1024 * 1024
"""Of one record."""

T = TypeVar("T")
Step = Callable[[str, int, bool], tuple[int, list[T]] | None]
"""Takes records of a text from a place on: returns where they end, or None if it needs more text.
The flag tells that there is no more."""

_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED: Final = re.compile(rb"(?:SET NAMES|client_encoding\s*=)\s*'?(\w+)", re.IGNORECASE)
_DECLARED_CODECS: Final = {
    **dict.fromkeys((b"latin1", b"win1252"), "cp1252"),
    **dict.fromkeys((b"cp1250", b"win1250"), "cp1250"),
    **dict.fromkeys((b"cp1251", b"win1251"), "cp1251"),
}


class BrokenFile(BadRequest):
    """A file that cannot be read from some place on."""


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("windows-1252", _as_windows_1252)


def _decoder(head: bytes) -> codecs.IncrementalDecoder:
    """Return the decoder for a file: by its BOM or declaration, else UTF-8.

    Bytes that are not UTF-8 are Windows-1252.
    """
    declared = _DECLARED.search(head)
    encoding = _DECLARED_CODECS.get(declared[1].lower()) if declared else None
    encoding = next((name for bom, name in _BOMS if head.startswith(bom)), encoding or "utf-8")
    errors = "windows-1252" if encoding.startswith("utf-8") else "replace"
    return codecs.getincrementaldecoder(encoding)(errors)


def head_text(head: bytes) -> str:
    return _decoder(head).decode(head)


async def texts_of(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    decoder, head = None, b""
    async for piece in pieces:
        if decoder is None:
            head += piece
            if len(head) < HEAD_BYTES:
                continue
            decoder, piece = _decoder(head), head
        yield decoder.decode(piece)
    if decoder is None:
        decoder = _decoder(head)
        yield decoder.decode(head)
    yield decoder.decode(b"", True) + "\n"


async def batches(texts: AsyncIterator[str], step: Step[T]) -> AsyncIterator[list[T]]:
    """Yield the records that `step` takes. Raises BrokenFile if it leaves something."""
    text, needed = "", 0
    async for more in texts:
        text += more
        # Text that was not enough is looked at again when it has doubled: work stays linear.
        if len(text) >= needed:
            at = 0
            while found := step(text, at, False):
                at, records = found
                yield records
            text = text[at:]
            needed = 2 * len(text)
        if len(text) > MAX_CHARACTERS:
            raise BrokenFile(f"file: a record of more than {MAX_CHARACTERS} characters")
    at = 0
    while found := step(text, at, True):
        at, records = found
        yield records
    if text[at:].strip():
        raise BrokenFile("file: cannot be read from here on, or ends in the middle of a record")
