"""How long a request's body is, and whether its connection lasts (RFC 9112, 6 and 9). Pure.

Stricter than it must be wherever two readers of one message might differ: that is how requests are
smuggled.
"""

from collections.abc import Mapping
from typing import Final

from tracker.http.rejection import RejectedRequest

CHUNKED: Final = -1
"""The length of a body in chunks, which marks its own end."""

AND: Final = "\n"
"""Between the values of fields with one name: none contains it."""

Fields = Mapping[str, str]
"""Values by name in Http-Header-Case, without white space around them, joined by AND."""


def body_length(version: str, fields: Fields) -> int:
    """Return the length of the body in bytes, or CHUNKED.

    Raises RejectedRequest if the fields are malformed, or could be read in two ways.
    """
    lengths = fields.get("Content-Length")
    codings = fields.get("Transfer-Encoding")
    if codings is not None:
        if lengths is not None:
            raise RejectedRequest(400, "both Content-Length and Transfer-Encoding")
        return _chunked(version, codings.replace(AND, ","))
    if lengths is None:
        return 0
    if not (lengths.isascii() and lengths.isdigit()):
        raise RejectedRequest(400, "Content-Length: must be one number")
    return int(lengths)


def _chunked(version: str, codings: str) -> int:
    if version == "HTTP/1.0":
        raise RejectedRequest(400, "Transfer-Encoding: not in HTTP/1.0")
    *others, last = (coding.strip(" \t").lower() for coding in codings.split(","))
    if last != "chunked" or "chunked" in others or "" in others:
        raise RejectedRequest(400, "Transfer-Encoding: must end in chunked")
    if others:
        raise RejectedRequest(501, "Transfer-Encoding: only chunked is supported")
    return CHUNKED


def keeps_alive(version: str, fields: Fields) -> bool:
    """Return whether the client may send another request on the connection."""
    values = fields.get("Connection")
    if values is None:
        return version == "HTTP/1.1"
    options = connection_options(values.replace(AND, ","))
    return "close" not in options and (version == "HTTP/1.1" or "keep-alive" in options)


def connection_options(value: str) -> list[str]:
    """Return the options of a Connection field, in lower case."""
    return [option.strip(" \t") for option in value.lower().split(",")]
