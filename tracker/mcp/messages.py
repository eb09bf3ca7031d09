"""Messages of the Model Context Protocol: JSON-RPC 2.0, one message in each request.

Up to 2025-11-25 a client begins with `initialize`. From 2026-07-28 on each request says its
version, and its headers repeat what the body says.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType, field

from tracker.errors import BadRequest

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
UNKNOWN_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022

WITH_HANDSHAKE: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS: Final = "2026-07-28"
VERSIONS: Final = (STATELESS, *WITH_HANDSHAKE)

_VERSION_HEADER: Final = "Mcp-Protocol-Version"
_META: Final = "io.modelcontextprotocol/"


class RpcError(BadRequest):
    """An error of the protocol: `number` is JSON-RPC's code, `data` further fields of it."""

    def __init__(self, number: int, message: str, **data: Any) -> None:
        super().__init__(message)
        self.number = number
        self.data = data
        self.status = 404 if number == UNKNOWN_METHOD else 400  # type: ignore[misc]


class Params(msgspec.Struct, kw_only=True):
    """The parameters of any method."""

    name: str = ""
    arguments: Raw = Raw(b"{}")
    protocol_version: str = field(name="protocolVersion", default="")
    meta: dict[str, Any] = field(name="_meta", default_factory=dict)


class Message(msgspec.Struct, kw_only=True):
    """A request, or a notification, which has no id."""

    jsonrpc: Literal["2.0"]
    method: str
    id: str | int | UnsetType = UNSET
    params: Params = field(default_factory=Params)


def parse_message(body: bytes) -> Message:
    """Raises RpcError unless the body is one message that a client may send."""
    try:
        return msgspec.json.decode(body, type=Message)
    except msgspec.ValidationError as error:
        raise RpcError(INVALID_REQUEST, f"must be one JSON-RPC request: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise RpcError(PARSE_ERROR, "must be JSON") from None


def check_version(message: Message, headers: Mapping[str, str]) -> str:
    """Return the version of a message. Raises RpcError if it is none, or headers say otherwise."""
    version = headers.get(_VERSION_HEADER, "2025-03-26")  # which does not require the header
    if version not in VERSIONS:
        data = {"supported": VERSIONS, "requested": version}
        raise RpcError(UNSUPPORTED_VERSION, f"{_VERSION_HEADER}: unsupported", data=data)
    if version != STATELESS or message.id is UNSET:
        return version
    for name in ("protocolVersion", "clientCapabilities"):
        if _META + name not in message.params.meta:
            raise RpcError(INVALID_PARAMS, f"params._meta.{_META}{name}: required")
    sent = message.params.meta[f"{_META}protocolVersion"]
    said = {_VERSION_HEADER: sent, "Mcp-Method": message.method}
    if message.method == "tools/call":
        said["Mcp-Name"] = message.params.name
    for name, value in said.items():
        if headers.get(name) != value:
            raise RpcError(HEADER_MISMATCH, f"{name}: differs from the body")
    return version
