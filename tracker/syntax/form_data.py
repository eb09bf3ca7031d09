"""Text fields of a multipart/form-data body (RFC 7578), as browsers send a FormData. Pure."""

from collections.abc import Iterator
from typing import Final

from tornado.httputil import (
    HTTPFile,
    HTTPInputError,
    ParseBodyConfig,
    ParseMultipartConfig,
    parse_body_arguments,
)

from tracker.errors import BadRequest

FORM_DATA: Final = "multipart/form-data"
MAX_PARTS: Final = 200
# Tornado counts what is before the first part too, which is nothing.
_LIMITS: Final = ParseBodyConfig(multipart=ParseMultipartConfig(max_parts=MAX_PARTS + 1))


def text_fields(content_type: str, body: bytes) -> Iterator[tuple[str, str]]:
    """Return names and values that are not empty. Raises BadRequest for files or a bad body.

    `content_type` begins with FORM_DATA in any case. Bytes that are not UTF-8 become surrogates.
    """
    values: dict[str, list[bytes]] = {}
    files: dict[str, list[HTTPFile]] = {}
    media_type = FORM_DATA + content_type[len(FORM_DATA) :]
    try:
        parse_body_arguments(media_type, body, values, files, config=_LIMITS)
    except HTTPInputError:
        raise BadRequest(f"body: must be {FORM_DATA} of at most {MAX_PARTS} fields") from None
    if files:
        raise BadRequest("body: a file is not taken; send text fields")
    return (
        (name, value.decode(errors="surrogateescape"))
        for name, sent in values.items()
        for value in sent
        if value
    )
