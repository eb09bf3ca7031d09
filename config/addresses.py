"""Checks of the stores' addresses, REDIS_URL and MONGODB_URI. Called by `config/checks`.

Guarantee: no message repeats an address, which may contain a password.
"""

import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pymongo.uri_parser
import redis.asyncio
from pymongo.errors import PyMongoError

from config.redis_address import (
    CLUSTER_SCHEMES,
    SENTINEL_SCHEMES,
    cluster_address,
    sentinel_address,
)

DATABASE_FORM: Final = "[A-Za-z0-9_-]{1,38}"
_DATABASE: Final = re.compile(DATABASE_FORM)
_SYSTEM_DATABASES: Final = frozenset({"", "admin", "local", "config", "$external"})
"""MongoDB's own databases. A URI names one as the database of its user, not of our data."""

_REDIS_SCHEMES: Final = (
    "redis://",
    "rediss://",
    *SENTINEL_SCHEMES,
    *CLUSTER_SCHEMES,
    "unix://",
)
_MONGODB_SCHEMES: Final = ("mongodb://", "mongodb+srv://")
_POOL_OPTIONS: Final = ("max_connections", "timeout")
_FILE_OPTIONS: Final = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_INVALID: Final = (
    "is not a valid address; in credentials special characters are percent-encoded, as %40 for @"
)
_REDIS_DATABASE: Final = re.compile(r"/*[0-9]*/*")
"""The path of a URL. The client would read any other path as database 0."""


class UnusableAddress(Exception):
    """An address that its client rejects. The message follows the variable's name."""


def check_redis(url: str) -> None:
    """Check a Redis address with the client's own parser.

    Raises UnusableAddress if the client rejects the address or one of its options.
    """
    _check_scheme(url, _REDIS_SCHEMES)
    try:
        if address := sentinel_address(url):
            url = address.server_url
        elif cluster := cluster_address(url):
            url = cluster.server_url(*cluster.servers[0])
    except ValueError as error:
        raise UnusableAddress(str(error)) from None
    try:
        options: dict[str, Any] = {**redis.asyncio.connection.parse_url(url)}
    except ValueError:
        raise UnusableAddress(_INVALID) from None
    if not (url.startswith("unix://") or _REDIS_DATABASE.fullmatch(urlsplit(url).path)):
        raise UnusableAddress("must end with the number of a database, such as /0")
    kind = options.pop("connection_class", redis.asyncio.Connection)
    for name in _POOL_OPTIONS:
        options.pop(name, None)
    try:
        kind(**options)
        for name in _FILE_OPTIONS:
            if path := options.get(name):
                Path(path).open("rb").close()
    except TypeError as error:
        option = str(error).rpartition(" ")[2]
        remedy = "begin it with rediss://" if option.startswith("'ssl_") else "leave it out"
        raise UnusableAddress(f"must not have the option {option}: {remedy}") from None
    except OSError as error:
        raise UnusableAddress(_file_problem(error)) from None
    except redis.RedisError:
        raise UnusableAddress("ssl_cert_reqs must be none, optional or required") from None


def check_mongodb(uri: str) -> None:
    """Check a MongoDB address with the driver's own parser.

    Only the form of a mongodb+srv:// address is checked, because its servers are in DNS.
    Raises UnusableAddress if the driver rejects the address.
    """
    _check_scheme(uri, _MONGODB_SCHEMES)
    try:
        if uri.startswith("mongodb+srv://"):
            _check_srv(urlsplit(uri).netloc.rpartition("@")[2])
        else:
            pymongo.uri_parser.parse_uri(uri)
    except OSError as error:
        raise UnusableAddress(_file_problem(error)) from None
    except (ValueError, PyMongoError):
        raise UnusableAddress(_INVALID) from None


def database_of(mongodb_uri: str) -> str | None:
    """Return the database in the URI; None without one, or for one of MongoDB's own.

    Raises UnusableAddress if the name does not match DATABASE_FORM.
    """
    name = unquote(urlsplit(mongodb_uri).path.removeprefix("/"))
    if name in _SYSTEM_DATABASES:
        return None
    if not _DATABASE.fullmatch(name):
        raise UnusableAddress(
            f"must name a database of the form {DATABASE_FORM}, unless MONGODB_DATABASE is set"
        )
    return name


def _check_scheme(address: str, schemes: tuple[str, ...]) -> None:
    if not address.startswith(schemes):
        raise UnusableAddress(f"must start with {' or '.join(schemes)}")


def _check_srv(host: str) -> None:
    if ":" in host:
        raise UnusableAddress(
            "must not have a port with mongodb+srv://: leave it out, or begin with mongodb://"
        )
    if not host or "," in host:
        raise UnusableAddress("must name one host with mongodb+srv://")


def _file_problem(error: OSError) -> str:
    return f"must name files that can be opened: {error.filename}: {error.strerror}"
