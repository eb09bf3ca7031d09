"""Every environment variable of the service, once: name, type, default and meaning.

`read` turns an environment into `Settings` or raises `SettingsError` naming the variable and the
rule. Nothing else in the project reads the environment.
"""

import re
from collections.abc import Callable, Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import maxminddb
import msgspec
import pymongo.uri_parser
import redis.connection
from msgspec import Meta
from pymongo.errors import PyMongoError

_BASE_URL = re.compile(
    r"https?://(?:\[[0-9a-f:.]+\]|[a-z0-9_-][a-z0-9._-]*)(?::[0-9]{1,5})?/?",
    re.ASCII | re.IGNORECASE,
)
_HOPS = re.compile(r"[0-9]{1,2}")
_ADDRESS_AND_PORT = re.compile(r"(?:\[([^\]]*)\]|([0-9.]+)):([0-9]{1,5})")


class SettingsError(Exception):
    """A variable has a value that cannot be used. The message is one line, for the operator."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, rename=str.upper):
    """The configuration. A field `base_url` is the variable `BASE_URL`."""

    env: Annotated[
        Literal["development", "production"],
        Meta(description="production refuses the built-in stores (also when DYNO is set)"),
    ] = "development"
    host: Annotated[
        str,
        Meta(
            description="address to listen on; empty: 127.0.0.1 in development, "
            "every address in production"
        ),
    ] = ""
    port: Annotated[
        int, Meta(ge=0, le=65535, description="port to listen on; 0 takes a free one")
    ] = 8080
    base_url: Annotated[
        str,
        Meta(description="public address of short links; empty: http(s)://localhost:PORT"),
    ] = ""
    web_concurrency: Annotated[
        int,
        Meta(
            ge=1,
            le=256,
            description="processes that answer requests, on one port, and are counted as one by "
            "/metrics; of role all the first drains as well; more than one on Linux only",
        ),
    ] = 1
    tls_cert: Annotated[
        str,
        Meta(
            description="PEM file of a certificate and its chain, read again on SIGHUP: with "
            "TLS_KEY, requests are answered over TLS only; empty: without TLS"
        ),
    ] = ""
    tls_key: Annotated[str, Meta(description="PEM file of the certificate's private key")] = ""
    redis_url: Annotated[
        str, Meta(description="redis:// or rediss:// address; empty: built-in Redis")
    ] = ""
    mongodb_uri: Annotated[
        str, Meta(description="mongodb:// address of a replica set; empty: built-in MongoDB")
    ] = ""
    mongodb_database: Annotated[
        str,
        Meta(pattern=r"\A[A-Za-z0-9_-]{1,38}\Z", description="database name in MongoDB"),
    ] = "tracker"
    data_dir: Annotated[
        str, Meta(min_length=1, description="folder of the built-in stores and of the click spool")
    ] = ".data"
    spool_max_bytes: Annotated[
        int,
        Meta(
            ge=1,
            description="most that DATA_DIR's spool may hold of what waits for Redis, damaged "
            "files included; beyond it clicks and conversions are answered with 503",
        ),
    ] = 1024**3
    trusted_proxies: Annotated[
        str,
        Meta(
            description="who may name the client in X-Forwarded-For: a number of hops, or "
            "networks separated by commas; empty: nobody, the client is the peer"
        ),
    ] = ""
    country_header: Annotated[
        str,
        Meta(
            pattern=r"\A[A-Za-z0-9-]*\Z",
            description="header in which your edge names the visitor's country, such as "
            "CF-IPCountry: believed from everyone, so the edge has to set it always; "
            "empty: the address is looked up",
        ),
    ] = ""
    geoip_database: Annotated[
        str,
        Meta(
            description="file of countries by address in the MaxMind layout, such as "
            "GeoLite2-Country.mmdb, read again when another is renamed to its name; "
            "empty: countries are those that addresses are registered in"
        ),
    ] = ""
    rate_limit_ip_per_minute: Annotated[
        int, Meta(ge=0, description="API requests a minute for each IP address; 0: no limit")
    ] = 100
    rate_limit_account_per_hour: Annotated[
        int, Meta(ge=0, description="API requests an hour for each account; 0: no limit")
    ] = 1000
    dns_resolver: Annotated[
        str,
        Meta(
            description="DNS server that is asked about custom domains and receivers of webhooks: "
            "an IP address, or address:port, an IPv6 address in brackets then; empty: the system's"
        ),
    ] = ""
    webhook_allow_private: Annotated[
        bool,
        Meta(description="whether webhooks may point into private networks and at this machine"),
    ] = False
    click_retention_days: Annotated[
        int,
        Meta(
            ge=0,
            le=24_000,
            description="days after which a stored click is deleted; reports keep what it counted, "
            "but for those that filter one of country, device, browser, os by another; 0: never",
        ),
    ] = 0
    store_ip: Annotated[
        bool, Meta(description="whether stored clicks keep the visitor's IP address")
    ] = False
    link_cache_entries: Annotated[
        int, Meta(ge=1, description="links that one process keeps in memory")
    ] = 100_000
    access_log: Annotated[
        float,
        Meta(ge=0, le=1, description="share of the requests that have a line in the log; 0: none"),
    ] = 1.0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Meta(description="least level that is logged")
    ] = "info"
    log_format: Annotated[
        Literal["auto", "json", "text"],
        Meta(description="one JSON object a line, or text; auto: text on a terminal"),
    ] = "auto"

    @property
    def builtin_redis(self) -> bool:
        return not self.redis_url

    @property
    def builtin_mongodb(self) -> bool:
        return not self.mongodb_uri

    @property
    def listen_address(self) -> str:
        return self.host or ("127.0.0.1" if self.env == "development" else "0.0.0.0")  # noqa: S104

    @property
    def dns_address(self) -> tuple[str, int] | None:
        """(IP address, port) of `dns_resolver`; None: the system's."""
        return _dns_address(self.dns_resolver)

    @property
    def data_path(self) -> Path:
        return Path(self.data_dir).resolve()


def read(environment: Mapping[str, str]) -> Settings:
    """Settings from `environment`. Raises SettingsError naming the variable and the rule."""
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        text = environment.get(field.encode_name, "").strip()
        if not text:
            continue
        try:
            values[field.name] = msgspec.convert(text, field.type, strict=False)
        except msgspec.ValidationError:
            raise SettingsError(
                f"{field.encode_name}={text!r}: must be {_rule(field.type)}"
            ) from None
    if environment.get("DYNO"):
        values["env"] = "production"
    settings = Settings(**values)
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    if settings.base_url:
        _check_base_url(settings.base_url)
    _check_address(
        "REDIS_URL",
        settings.redis_url,
        dict.fromkeys(("redis://", "rediss://", "unix://"), redis.connection.parse_url),
    )
    _check_address(
        "MONGODB_URI",
        settings.mongodb_uri,
        # What the second stands for only its name server can tell.
        {"mongodb://": pymongo.uri_parser.parse_uri, "mongodb+srv://": urlsplit},
    )
    _check_trusted_proxies(settings.trusted_proxies)
    _check_dns_resolver(settings.dns_resolver)
    _check_geoip_database(settings.geoip_database)
    if bool(settings.tls_cert) != bool(settings.tls_key):
        missing_one = "TLS_KEY" if settings.tls_cert else "TLS_CERT"
        raise SettingsError(f"{missing_one}: must be set, for the other of the pair is")
    if settings.env == "production":
        for name, missing in (
            ("REDIS_URL", settings.builtin_redis),
            ("MONGODB_URI", settings.builtin_mongodb),
            ("BASE_URL", not settings.base_url),
        ):
            if missing:
                raise SettingsError(f"{name}: must be set when ENV=production")


def _check_base_url(text: str) -> None:
    try:
        usable = _BASE_URL.fullmatch(text) and urlsplit(text).port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsError(
            f"BASE_URL={text!r}: must be http(s)://host[:port] in ASCII and nothing more"
        )


def _check_address(name: str, text: str, parsers: Mapping[str, Callable[[str], object]]) -> None:
    """By scheme. The value is not repeated in the message: it may hold a password."""
    if not text:
        return
    parse = next((parsers[scheme] for scheme in parsers if text.startswith(scheme)), None)
    if parse is None:
        raise SettingsError(f"{name}: must start with {' or '.join(parsers)}")
    try:
        parse(text)
    except (ValueError, PyMongoError):
        raise SettingsError(f"{name}: is not a valid address") from None


def _check_trusted_proxies(text: str) -> None:
    if not text or _HOPS.fullmatch(text):
        return
    for network in text.split(","):
        try:
            ip_network(network.strip())
        except ValueError:
            raise SettingsError(
                f"TRUSTED_PROXIES={text!r}: must be a number of hops, or networks such as "
                "10.0.0.0/8 separated by commas"
            ) from None


def _check_dns_resolver(text: str) -> None:
    try:
        _dns_address(text)
    except ValueError:
        raise SettingsError(
            f"DNS_RESOLVER={text!r}: must be an IP address, or address:port such as 10.0.0.2:53 "
            "or [fd00::2]:53"
        ) from None


def _check_geoip_database(path: str) -> None:
    """Opened once to be sure; whoever looks up countries opens it again."""
    try:
        if path:
            maxminddb.open_database(path).close()
    except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
        reason = getattr(error, "strerror", None) or "not in the MaxMind layout"
        raise SettingsError(
            f"GEOIP_DATABASE={path!r}: must be a file that can be opened: {reason}"
        ) from None


def _dns_address(text: str) -> tuple[str, int] | None:
    """Raises ValueError."""
    if not text:
        return None
    match = _ADDRESS_AND_PORT.fullmatch(text)
    if match is None:
        return str(ip_address(text)), 53
    port = int(match[3])
    if not 1 <= port <= 65535:
        raise ValueError("port out of range")
    return str(IPv6Address(match[1]) if match[1] else IPv4Address(match[2])), port


def describe() -> str:
    """The table that `python run.py --help` prints: name, type, default, meaning."""
    lines = []
    for field in msgspec.structs.fields(Settings):
        default = str(field.default)
        if isinstance(field.default, bool):
            default = default.lower()
        shown = f" [{default}]" if default else ""
        lines.append(f"  {field.encode_name} ({_type_name(field.type)}){shown}")
        lines.append(f"      {_meaning(field.type)}")
    return "\n".join(lines)


def _type_name(annotated: Any) -> str:
    kind = annotated.__origin__
    if get_origin(kind) is Literal:
        return " or ".join(map(str, get_args(kind)))
    return {str: "text", int: "whole number", bool: "true or false", float: "number"}[kind]


def _rule(annotated: Any) -> str:
    meta = annotated.__metadata__[0]
    if meta.pattern:
        return f"of the form {meta.pattern[2:-2]}"
    least = "" if meta.ge is None else f" from {meta.ge}"
    most = "" if meta.le is None else f" to {meta.le}"
    return f"{_type_name(annotated)}{least}{most}"


def _meaning(annotated: Any) -> str:
    return str(annotated.__metadata__[0].description)
