"""Text fields of a multipart/form-data body (RFC 7578), as browsers send a FormData. Pure.

Tornado parses it. It refuses a body that is cut off, a part without a name or a blank line, and
text before the first part.

Guarantee: the work is bounded by `MAX_PARTS` and the length of the body.
"""

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
    """Return names and values that are not empty, those of one name in their order.

    `content_type` begins with FORM_DATA in any case. Bytes that are not UTF-8 become surrogates.
    Raises BadRequest if the body is malformed, has too many parts, or a file among them.
    """
    values: dict[str, list[bytes]] = {}
    files: dict[str, list[HTTPFile]] = {}
    kind = FORM_DATA + content_type[len(FORM_DATA) :]
    try:
        parse_body_arguments(kind, body, values, files, config=_LIMITS)
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
