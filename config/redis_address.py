"""The forms of REDIS_URL: one server, or the sentinels that know which server is the primary. Pure.

    redis+sentinel://[user:password@]host[:port],host[:port],.../name[/database][?options]

User, password and options are those of the server, and of TLS for both. The options
`sentinel_username` and `sentinel_password` are for the sentinels.
"""

import re
from typing import Final, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

SENTINEL_SCHEMES: Final = ("redis+sentinel://", "rediss+sentinel://")
_SENTINEL_PORT: Final = 26379
_OWN_OPTIONS: Final = ("sentinel_username", "sentinel_password")
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
"""The form of a primary's name that Redis allows."""


class SentinelAddress(NamedTuple):
    """The sentinels, the name of the primary there, and the URL of a server without its host.

    `credentials` has the options `username` and `password` of the sentinels, if they have any.
    """

    sentinels: tuple[tuple[str, int], ...]
    name: str
    server_url: str
    credentials: dict[str, str]


def sentinel_address(url: str) -> SentinelAddress | None:
    """Return the parts of a sentinels' address; None if `url` has another scheme.

    Raises ValueError with the rule that it breaks, which never repeats the address.
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
    rest = urlencode([one for one in options if one[0] not in _OWN_OPTIONS])
    scheme = parts.scheme.removesuffix("+sentinel")
    return SentinelAddress(
        sentinels=tuple(map(_host_and_port, hosts.split(","))),
        name=name,
        server_url=f"{scheme}://{user}{at}{name}/{database}{'?' if rest else ''}{rest}",
        credentials={
            option.removeprefix("sentinel_"): value
            for option, value in options
            if option in _OWN_OPTIONS
        },
    )


def _host_and_port(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.netloc != text:
        raise ValueError("must name each sentinel as host or host:port, with commas between them")
    return host, _SENTINEL_PORT if port is None else port
