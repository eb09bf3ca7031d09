"""Probes of a store that could not be used at start, where its error is ambiguous.

They find facts for `db/diagnosis`, over new connections without user and password. Nothing here is
on the path of a request.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from typing import Any, Final

import pymongo.uri_parser
import redis.connection
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from config.redis_address import cluster_address, sentinel_address
from tracker.db.diagnosis import (
    Fault,
    PortProtocol,
    Seed,
    mongodb_fault,
    redis_fault,
    sentinel_fault,
)

_TIMEOUT_SECONDS: Final = 1.0
"""The time limit of each probe."""

_MAX_SEEDS: Final = 7
"""The number of members that may vote in a replica set."""

_OPTIONS_OF_THE_SET: Final = frozenset({"replicaset", "authsource", "authmechanism"})
"""Options of a URI that do not apply to one server without a user."""


async def diagnose_redis(url: str, error: BaseException) -> Fault:
    """Return what `error`, which the Redis of this URL caused, means for the operator."""
    if address := sentinel_address(url):
        return sentinel_fault(error, address.name, url.startswith("rediss"))
    if cluster := cluster_address(url):
        # One of them stands for all: what is wrong with one is most often wrong with each.
        return await diagnose_redis(cluster.server_url(*cluster.servers[0]), error)
    options: dict[str, Any] = redis.connection.parse_url(url)  # type: ignore[no-untyped-call]
    tls = url.startswith("rediss://")
    if path := options.get("path"):
        return redis_fault(error, path, tls, "nothing")
    host, port = options.get("host", "localhost"), options.get("port", 6379)
    protocol: PortProtocol = "nothing"
    if await _speaks_tls(host, port):
        protocol = "tls"
    elif tls and await _speaks_redis(host, port):
        protocol = "plain"
    return redis_fault(error, f"{host}:{port}", tls, protocol)


async def diagnose_mongodb(uri: str, error: BaseException) -> Fault:
    """Return what `error`, which the MongoDB of this URI caused, means for the operator."""
    try:
        parsed = await asyncio.to_thread(
            pymongo.uri_parser.parse_uri, uri, connect_timeout=_TIMEOUT_SECONDS
        )
    except PyMongoError:  # mongodb+srv:// without its record: the error says so
        parsed = {"nodelist": [], "options": {}}
    options = parsed["options"]
    tls = bool(options.get("tls"))
    seeds = [_seed(host, port, tls, options) for host, port in parsed["nodelist"][:_MAX_SEEDS]]
    return mongodb_fault(error, options.get("replicaSet", ""), tls, await asyncio.gather(*seeds))


async def _seed(host: str, port: int | None, tls: bool, options: Mapping[str, Any]) -> Seed:
    address = f"{host}:{port}" if port else host
    own_options = {
        name: value for name, value in options.items() if name.lower() not in _OPTIONS_OF_THE_SET
    }
    try:
        return Seed(address, await _hello(host, port, own_options))
    except PyMongoError as error:
        return Seed(address, None, str(error), await _mongod_protocol(host, port, tls))


async def _mongod_protocol(host: str, port: int | None, tls: bool) -> PortProtocol:
    if port is None:
        return "nothing"
    if await _speaks_tls(host, port):
        return "tls"
    if tls:
        with contextlib.suppress(PyMongoError):
            await _hello(host, port, {})
            return "plain"
    return "nothing"


async def _hello(host: str, port: int | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `hello` of one server. Raises PyMongoError if it does not answer."""
    # In a thread: PyMongo's asynchronous client leaves sockets open if their handshake fails.
    return await asyncio.to_thread(_hello_in_thread, host, port, options)


def _hello_in_thread(host: str, port: int | None, options: Mapping[str, Any]) -> dict[str, Any]:
    milliseconds = int(_TIMEOUT_SECONDS * 1000)
    own = {
        "directConnection": True,
        "serverSelectionTimeoutMS": milliseconds,
        "timeoutMS": milliseconds,
    }
    with MongoClient[dict[str, Any]](host, port, **{**options, **own}) as client:
        return dict(client.admin.command("hello"))


async def _speaks_tls(host: str, port: int) -> bool:
    """Return whether a TLS handshake succeeds, whatever the certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return await _answers(host, port, b"", context)


async def _speaks_redis(host: str, port: int) -> bool:
    return await _answers(host, port, b"PING\r\n", None)


async def _answers(host: str, port: int, sent: bytes, tls: ssl.SSLContext | None) -> bool:
    """Return whether the port accepts a connection, and answers what is `sent` as Redis does."""
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, ssl=tls)
            with contextlib.closing(writer):
                writer.write(sent)
                return not sent or (await reader.read(1)) in (b"+", b"-")
    except (OSError, RuntimeError):  # uvloop's, if the peer closes at once
        return False
