"""The forms of REDIS_URL: one server, sentinels that know the primary, or a cluster.

Pure.

    redis+sentinel://[user:password@]host[:port],host[:port],.../name[/database][?options]
    redis+cluster://[user:password@]host[:port],host[:port],...[?options]

User, password and options are for the servers, TLS options also for the sentinels. The options
`sentinel_username` and `sentinel_password` are for the sentinels. A cluster has one database.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

SENTINEL_SCHEMES: Final = ("redis+sentinel://", "rediss+sentinel://")
CLUSTER_SCHEMES: Final = ("redis+cluster://", "rediss+cluster://")
_SENTINEL_PORT: Final = 26379
_SERVER_PORT: Final = 6379
_SENTINEL_OPTIONS: Final = ("sentinel_username", "sentinel_password")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""The names of a primary that Redis allows."""


class SentinelAddress(NamedTuple):
    """The sentinels, the name of the primary there, and the URL of a server without its host.

    `credentials` has the options `username` and `password` of the sentinels, if they have any.
    """

    sentinels: tuple[tuple[str, int], ...]
    name: str
    server_url: str
    credentials: dict[str, str]


class ClusterAddress(NamedTuple):
    """Some servers of a cluster, and the URL of one of its servers with `{}` for its host."""

    servers: tuple[tuple[str, int], ...]
    template: str

    def server_url(self, host: str, port: int) -> str:
        """Return the URL of a server of the cluster."""
        return self.template.format(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")


def cluster_address(url: str) -> ClusterAddress | None:
    """Return the parts of a cluster's address; None if `url` has another scheme.

    Raises ValueError with the broken rule, which never repeats the address.
    """
    if not url.startswith(CLUSTER_SCHEMES):
        return None
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    if parts.path.strip("/") not in ("", "0"):
        raise ValueError("must not name a database with +cluster://: a cluster has only one")
    credentials = f"{user}{at}".replace("{", "{{").replace("}", "}}")
    options = f"?{parts.query}".replace("{", "{{").replace("}", "}}") if parts.query else ""
    scheme = parts.scheme.removesuffix("+cluster")
    return ClusterAddress(
        servers=tuple(_host_and_port(one, _SERVER_PORT, "server") for one in hosts.split(",")),
        template=f"{scheme}://{credentials}{{}}/0{options}",
    )


def sentinel_address(url: str) -> SentinelAddress | None:
    """Return the parts of a sentinels' address; None if `url` has another scheme.

    Raises ValueError with the broken rule, which never repeats the address.
    """
    if not url.startswith(SENTINEL_SCHEMES):
        return None
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    name, _, database = parts.path.removeprefix("/").partition("/")
    if not _NAME.fullmatch(name):
        raise ValueError(
            "must end with the name of the primary, such as /mymaster, of letters, digits and ._-"
        )
    options = parse_qsl(parts.query, keep_blank_values=True)
    rest = urlencode([one for one in options if one[0] not in _SENTINEL_OPTIONS])
    scheme = parts.scheme.removesuffix("+sentinel")
    return SentinelAddress(
        sentinels=tuple(
            _host_and_port(one, _SENTINEL_PORT, "sentinel") for one in hosts.split(",")
        ),
        name=name,
        server_url=f"{scheme}://{user}{at}{name}/{database}{'?' if rest else ''}{rest}",
        credentials={
            option.removeprefix("sentinel_"): value
            for option, value in options
            if option in _SENTINEL_OPTIONS
        },
    )


def _host_and_port(text: str, default_port: int, kind: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.netloc != text:
        raise ValueError(f"must name each {kind} as host or host:port, with commas between them")
    return host, default_port if port is None else port
