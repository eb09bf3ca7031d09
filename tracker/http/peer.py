"""Who is at the other end of a connection, as tornado.httputil.HTTPServerRequest reads it."""

import asyncio
import socket
from typing import Any


class Peer:
    """`remote_ip` is "0.0.0.0" if the transport is not of the internet; `protocol` is "http" or
    "https"; `address` is what the transport calls its peer."""

    __slots__ = ("address", "address_family", "protocol", "remote_ip")

    def __init__(self, transport: asyncio.Transport) -> None:
        socket_of_client = transport.get_extra_info("socket")
        self.address: Any = transport.get_extra_info("peername")
        self.address_family: int | None = socket_of_client and socket_of_client.family
        self.protocol = "https" if transport.get_extra_info("ssl_object") else "http"
        internet = self.address_family in (socket.AF_INET, socket.AF_INET6) and self.address
        self.remote_ip: str = self.address[0] if internet else "0.0.0.0"  # noqa: S104

    def __str__(self) -> str:
        return self.remote_ip
