"""Text in pieces: its encoding, and parsers that take as much of it as is whole. Pure."""

import codecs
import re
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar

from tracker.errors import BadRequest

HEAD_BYTES: Final = 64 * 1024
"""The first text has at least so many. Rules for a whole file are decided by it."""

MAX_CHARACTERS: Final = 4 * 1024 * 1024
"""Of one record."""

BATCH: Final = 200
"""Records taken at once: about 3 ms of work, while nothing else runs."""

T = TypeVar("T")
Step = Callable[[str, int, bool], tuple[int, list[T]] | None]
"""Takes records of a text from a place on. Returns where they end, or None if it needs more text.
The flag tells that there is no more."""

_DECLARED: Final = re.compile(rb"(?:SET NAMES|client_encoding\s*=)\s*'?(\w+)", re.IGNORECASE)
_CODECS: Final = {
    **dict.fromkeys((b"latin1", b"win1252"), "cp1252"),
    **dict.fromkeys((b"cp1251", b"win1251"), "cp1251"),
}


class BrokenFile(BadRequest):
    """A file that cannot be read from some place on."""


def _as_windows_1252(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("windows-1252", _as_windows_1252)


def _decoder(head: bytes) -> codecs.IncrementalDecoder:
    """Return a decoder by the BOM or what a dump declares, else of UTF-8.

    Bytes that are not UTF-8 are Windows-1252.
    """
    declared = _DECLARED.search(head)
    encoding = "utf-8-sig"  # with a BOM or without
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    elif declared and not head.startswith(codecs.BOM_UTF8):
        encoding = _CODECS.get(declared[1].lower(), encoding)
    errors = "windows-1252" if encoding == "utf-8-sig" else "replace"
    return codecs.getincrementaldecoder(encoding)(errors)


def head_text(head: bytes) -> str:
    return _decoder(head).decode(head)


async def batches(pieces: AsyncIterator[bytes], step: Step[T]) -> AsyncIterator[list[T]]:
    """Yield the records that `step` takes. Raises BrokenFile if it leaves something."""
    text, needed, end = "", 0, "\n"
    async for more, is_last in _texts(pieces):
        end = more[-1:] or end
        text += more + ("\n" if is_last and end != "\n" else "")
        # Text that was not enough is looked at again when it has doubled: work stays linear.
        if len(text) >= needed or is_last:
            at = 0
            while found := step(text, at, is_last):
                at, records = found
                yield records
            text = text[at:]
            needed = 2 * len(text)
        if len(text) > MAX_CHARACTERS:
            raise BrokenFile(f"file: has a record of more than {MAX_CHARACTERS} characters")
    if text.strip():
        raise BrokenFile("file: ends in the middle of a record, or is broken from here on")


async def _texts(pieces: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, bool]]:
    decoder, head = None, b""
    async for piece in pieces:
        head += piece
        if decoder or len(head) >= HEAD_BYTES:
            decoder = decoder or _decoder(head)
            yield decoder.decode(head), False
            head = b""
    decoder = decoder or _decoder(head)
    yield decoder.decode(head, True), True
